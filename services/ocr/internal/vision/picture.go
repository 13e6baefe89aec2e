package vision

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/draw"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/services/ocr/recognise"
)

// readPicture reads a raster, turned clockwise to stand upright.
func readPicture(img recognise.Image, degrees int32) (*image.Gray, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	out := image.NewGray(image.Rect(0, 0, size.Width, size.Height))
	if _, err := io.ReadFull(io.NewSectionReader(img.File, size.Offset, int64(size.Pixels())), out.Pix); err != nil {
		return nil, fmt.Errorf("read raster: %w", err)
	}
	for ; degrees >= 90; degrees -= 90 {
		out = turnQuarter(out)
	}
	return out, nil
}

// turnQuarter turns a picture clockwise.
func turnQuarter(in *image.Gray) *image.Gray {
	width, height := in.Rect.Dx(), in.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, height, width))
	for y := range height {
		for x := range width {
			out.Pix[x*out.Stride+height-1-y] = in.Pix[y*in.Stride+x]
		}
	}
	return out
}

// encodePicture returns a picture as PNG whose longest side is no longer than that, with its size.
func encodePicture(in *image.Gray, longest int) ([]byte, image.Point, error) {
	width, height := in.Rect.Dx(), in.Rect.Dy()
	if side := max(width, height); side > longest {
		width, height = max(1, width*longest/side), max(1, height*longest/side)
		small := image.NewGray(image.Rect(0, 0, width, height))
		draw.ApproxBiLinear.Scale(small, small.Rect, in, in.Rect, draw.Src, nil)
		in = small
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, in); err != nil {
		return nil, image.Point{}, fmt.Errorf("encode picture: %w", err)
	}
	return out.Bytes(), image.Pt(width, height), nil
}

// turnBox turns a box on a page of that size clockwise.
func turnBox(b agree.Box, width, height float32, degrees int32) agree.Box {
	for ; degrees >= 90; degrees -= 90 {
		b = agree.Box{height - b[3], b[0], height - b[1], b[2]}
		width, height = height, width
	}
	return b
}

// inkShare is the share of dark pixels from which a place has ink.
const inkShare = 0.015

// ink tells where a picture is dark.
type ink struct {
	picture *image.Gray
	below   byte
	scale   float32 // pixels a point
}

func newInk(picture *image.Gray, dpi float32) *ink {
	var histogram [256]int
	step := max(1, len(picture.Pix)/200_000)
	n := 0
	for i := 0; i < len(picture.Pix); i += step {
		histogram[picture.Pix[i]]++
		n++
	}
	paper, seen := 255, 0
	for ; paper > 0 && seen < n/4; paper-- {
		seen += histogram[paper]
	}
	return &ink{picture: picture, below: byte(paper * 6 / 10), scale: dpi / 72}
}

// hasInk reports whether a box in points holds more than dirt.
func (k *ink) hasInk(b agree.Box) bool {
	r := k.pixelsOf(b, 0)
	dark := 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for _, v := range k.picture.Pix[y*k.picture.Stride+r.Min.X:][:r.Dx()] {
			if v < k.below {
				dark++
			}
		}
	}
	return r.Dx() > 0 && float64(dark) > inkShare*float64(r.Dx()*r.Dy())
}

func (k *ink) pixelsOf(b agree.Box, margin float32) image.Rectangle {
	return image.Rect(int((b[0]-margin)*k.scale), int((b[1]-margin)*k.scale), int((b[2]+margin)*k.scale),
		int((b[3]+margin)*k.scale)).Intersect(k.picture.Rect)
}

// unreadShare returns the share of the ink that lies in no box, in cells of a twelfth of an inch. Rules and the edges of
// scans are ink without words on most pages, so that a page of text alone has up to some 0.2.
func (k *ink) unreadShare(boxes []agree.Box) float64 {
	const points = 6
	columns, rows := int(float32(k.picture.Rect.Dx())/k.scale/points), int(float32(k.picture.Rect.Dy())/k.scale/points)
	read := make(map[[2]int]bool, len(boxes)*4)
	for _, b := range boxes {
		for y := int(b[1]/points) - 1; y <= int(b[3]/points)+1; y++ {
			for x := int(b[0]/points) - 1; x <= int(b[2]/points)+1; x++ {
				read[[2]int{x, y}] = true
			}
		}
	}
	all, unread := 0, 0
	for y := 1; y < rows-1; y++ {
		for x := 1; x < columns-1; x++ {
			at := agree.Box{float32(x) * points, float32(y) * points, float32(x+1) * points, float32(y+1) * points}
			if !k.hasInk(at) {
				continue
			}
			all++
			if !read[[2]int{x, y}] {
				unread++
			}
		}
	}
	if all < 20 {
		return 0
	}
	return float64(unread) / float64(all)
}

// writeCrop writes the place of a box, enlarged twice on white, into a file without a name.
func (k *ink) writeCrop(b agree.Box) (*os.File, error) {
	const enlarged, margin = 2, 40
	r := k.pixelsOf(b, 1.5)
	out := image.NewGray(image.Rect(0, 0, r.Dx()*enlarged+2*margin, r.Dy()*enlarged+2*margin))
	draw.Draw(out, out.Rect, image.NewUniform(color.Gray{Y: 255}), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(out, image.Rect(margin, margin, margin+r.Dx()*enlarged, margin+r.Dy()*enlarged), k.picture, r, draw.Src, nil)
	return recognise.WritePGM(out)
}
