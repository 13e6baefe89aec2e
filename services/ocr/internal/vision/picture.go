package vision

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"math"
	"math/bits"
	"os"

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

// widthOf returns how wide the ink within a box is, in points: the sum of the columns that have more than dirt.
func (k *ink) widthOf(b agree.Box) float32 {
	r := k.pixelsOf(b, 0)
	columns := 0
	for x := r.Min.X; x < r.Max.X; x++ {
		dark := 0
		for y := r.Min.Y; y < r.Max.Y; y++ {
			if k.picture.Pix[y*k.picture.Stride+x] < k.below {
				dark++
			}
		}
		if float64(dark) > minColumnInk*float64(r.Dy()) {
			columns++
		}
	}
	return float32(columns) / k.scale
}

// minColumnInk is the share of a column's pixels that must be dark: the strokes of letters are some tenth of a line high.
const minColumnInk = 0.08

// findInked returns which cells of a size in points hold more than dirt, row by row, and how many there are in a row. Those
// at the edges hold none.
func (k *ink) findInked(points float32) (inked []bool, columns int) {
	columns = int(float32(k.picture.Rect.Dx()) / k.scale / points)
	rows := int(float32(k.picture.Rect.Dy()) / k.scale / points)
	side := k.scale * points
	cellOf := make([]int, k.picture.Rect.Dx()) // of each column of pixels; those beyond the last cell have one of their own
	for x := range cellOf {
		cellOf[x] = min(int(float32(x)/side), columns)
	}
	dark := make([]int32, columns+1)
	inked = make([]bool, columns*rows)
	for y := range rows {
		clear(dark)
		for py := k.firstLine(y, side); py < k.firstLine(y+1, side); py++ {
			countDark(dark, cellOf, k.picture.Pix[py*k.picture.Stride:][:len(cellOf)], k.below)
		}
		for x := 1; x < columns-1 && y > 0 && y < rows-1; x++ {
			inked[y*columns+x] = float32(dark[x]) > inkShare*side*side
		}
	}
	return inked, columns
}

// firstLine returns the first line of pixels in a row of cells.
func (k *ink) firstLine(row int, side float32) int {
	return min(int(math.Ceil(float64(float32(row)*side))), k.picture.Rect.Dy())
}

// countDark counts the pixels of a line that are below a value, in their cells. Eight are looked at together: most of a
// page is paper. The race detector, which would look at each pixel, leaves it out.
//
//go:norace
func countDark(dark []int32, cellOf []int, line []byte, below byte) {
	x := 0
	for ; x+8 <= len(line); x += 8 {
		marks := markDark(binary.LittleEndian.Uint64(line[x:]), below)
		switch {
		case marks == 0:
		case cellOf[x] == cellOf[x+7]:
			dark[cellOf[x]] += int32(bits.OnesCount64(marks))
		default:
			for ; marks != 0; marks &= marks - 1 {
				dark[cellOf[x+bits.TrailingZeros64(marks)/8]]++
			}
		}
	}
	for ; x < len(line); x++ {
		if line[x] < below {
			dark[cellOf[x]]++
		}
	}
}

// markDark returns the high bit of each of eight pixels that is below a value.
func markDark(pixels uint64, below byte) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	// The high bit of each byte says whether its other bits are at least those of the value.
	reached := pixels&^high + ones*uint64(0x80-below&0x7f)
	if below < 0x80 {
		return ^(reached | pixels) & high
	}
	return ^(reached & pixels) & high
}

func (k *ink) pixelsOf(b agree.Box, margin float32) image.Rectangle {
	return image.Rect(int((b[0]-margin)*k.scale), int((b[1]-margin)*k.scale), int((b[2]+margin)*k.scale),
		int((b[3]+margin)*k.scale)).Intersect(k.picture.Rect)
}

// unreadShare returns the share of the ink that lies in no box, in cells of a twelfth of an inch. Rules and the edges of
// scans are ink without words on most pages, so that a page of text alone has up to some 0.2.
func (k *ink) unreadShare(boxes []agree.Box) float64 {
	const points = 6
	inked, columns := k.findInked(points)
	read := make(map[[2]int]bool, len(boxes)*4)
	for _, b := range boxes {
		for y := int(b[1]/points) - 1; y <= int(b[3]/points)+1; y++ {
			for x := int(b[0]/points) - 1; x <= int(b[2]/points)+1; x++ {
				read[[2]int{x, y}] = true
			}
		}
	}
	all, unread := 0, 0
	for i, is := range inked {
		if !is {
			continue
		}
		all++
		if !read[[2]int{i % columns, i / columns}] {
			unread++
		}
	}
	if all < 20 {
		return 0
	}
	return float64(unread) / float64(all)
}

// Parts of the page that are read again are enlarged so many times, on that many pixels of white. Rasters have 300 dpi and
// rarely more, so that what is enlarged stays within what engines take.
const enlarged, cropWhite = 2, 40

// crop says where a part of the page lies in the picture of it that is read again, in points.
type crop struct {
	x, y float32 // of the picture's corner on the page
	step float32 // from one copy to the next
}

// copyAt returns which copy of the part a place of the picture lies in.
func (c crop) copyAt(x float32, copies int) int { return max(0, min(copies-1, int(x/c.step))) }

// writeCrop writes a part of the page, enlarged and so many times in a row, into a file without a name. The words in it
// that are given are left out.
func (k *ink) writeCrop(b agree.Box, without []agree.Word, copies int) (*os.File, crop, error) {
	r := k.pixelsOf(b, 1.5)
	part := cutPicture(k.picture, r)
	white := image.NewUniform(color.Gray{Y: 255})
	for _, w := range without {
		if over := k.pixelsOf(w.Box, 0.5).Intersect(r); !over.Empty() {
			draw.Draw(part, over.Sub(r.Min), white, image.Point{}, draw.Src)
		}
	}
	part = doublePicture(part)
	width, height := part.Rect.Dx(), part.Rect.Dy()
	step := width + cropWhite
	out := image.NewGray(image.Rect(0, 0, copies*step+cropWhite, height+2*cropWhite))
	draw.Draw(out, out.Rect, white, image.Point{}, draw.Src)
	for n := range copies {
		at := image.Rect(0, 0, width, height).Add(image.Pt(cropWhite+n*step, cropWhite))
		draw.Draw(out, at, part, image.Point{}, draw.Src)
	}
	edge := float32(cropWhite) / enlarged
	f, err := recognise.WritePGM(out)
	return f, crop{x: (float32(r.Min.X) - edge) / k.scale, y: (float32(r.Min.Y) - edge) / k.scale,
		step: float32(step) / enlarged / k.scale}, err
}
