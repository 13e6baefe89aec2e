package pdftest

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// ScanOptions says what a scanned page looks like. The zero value is a clean page at 300 dpi.
type ScanOptions struct {
	Pages  int        // 1 if 0
	Seed   uint64     // files of different seeds have different text and noise
	Design PageDesign // Report if empty
	DPI    float64
	Size   float64 // of body text in points; 11 if 0

	Paper   uint8   // grey of the paper; 0 means white (255)
	Ink     uint8   // grey of the ink; 0 is black
	Noise   float64 // standard deviation of the grey values, 0 to 255
	Specks  float64 // share of pixels that are dust, 0 to 1; 0.0005 is a dirty glass
	Skew    float64 // degrees clockwise that the sheet lies askew
	Blur    bool    // softens the edges as a lens does
	Shade   float64 // how much darker one side is, 0 to 1
	Bitonal bool    // black and white only, as a fax
	Turn    int     // degrees clockwise that the sheet lies on the glass: 0, 90, 180 or 270
	Rotate  int     // the page's /Rotate; a scanner that knows how the sheet lay sets it to 360-Turn
	JPEG    int     // quality of the image's JPEG compression; 0 means lossless
}

// DirtyScanOptions returns options for a page as office scanners make it: grey paper, noise, dust, a little skew, JPEG.
func DirtyScanOptions() ScanOptions {
	return ScanOptions{Paper: 235, Ink: 30, Noise: 8, Specks: 0.0002, Skew: 0.7, Blur: true, Shade: 0.08, JPEG: 85}
}

func (o ScanOptions) withDefaults() ScanOptions {
	o.Pages = max(o.Pages, 1)
	if o.Design == "" {
		o.Design = Report
	}
	if o.DPI == 0 {
		o.DPI = 300
	}
	if o.Size == 0 {
		o.Size = 11
	}
	if o.Paper == 0 {
		o.Paper = 255
	}
	return o
}

// DrawScanPage draws page n of a scan of A4 paper, and returns the image and the text on it.
func DrawScanPage(o ScanOptions, n int) (*image.Gray, string) {
	img, s := drawScanSheet(o.withDefaults(), n)
	return img, s.truth.String()
}

func drawScanSheet(o ScanOptions, n int) (*image.Gray, *typesetPage) {
	p := newTextRenderer(o.DPI)
	s := composePage(o.Design, n, o.Pages, o.Size, a4Width, a4Height, p.textWidth,
		newProseGenerator(o.Seed*1000+uint64(n)+41))
	img := p.drawSheet(s, o.Paper, o.Ink)
	degradeImage(img, o, rand.New(rand.NewPCG(o.Seed, uint64(n))))
	return turnImage(img, o.Turn), s
}

// EncodePGM returns an image in the binary format that recognisers read.
func EncodePGM(img *image.Gray) []byte {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := fmt.Appendf(make([]byte, 0, w*h+32), "P5\n%d %d\n255\n", w, h)
	for y := range h {
		out = append(out, img.Pix[y*img.Stride:y*img.Stride+w]...)
	}
	return out
}

// outlineFonts holds the two fonts that rasters are drawn with. They are in the module, as Go source: no file of the
// machine is needed.
var outlineFonts = sync.OnceValue(func() [2]*opentype.Font {
	var out [2]*opentype.Font
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			panic(err) // the bytes are part of the program
		}
		out[i] = f
	}
	return out
})

// The loops over pixels are of no interest to the race detector, for no other goroutine has the image yet; and with
// it they take most of a test's time.

// textRenderer draws and measures text at one resolution.
type textRenderer struct {
	dpi   float64
	faces map[sizedFace]font.Face
}

type sizedFace struct {
	face face
	size float64
}

func newTextRenderer(dpi float64) *textRenderer {
	return &textRenderer{dpi: dpi, faces: map[sizedFace]font.Face{}}
}

func (p *textRenderer) fontFace(f face, size float64) font.Face {
	key := sizedFace{f, size}
	if face, ok := p.faces[key]; ok {
		return face
	}
	face, err := opentype.NewFace(outlineFonts()[f],
		&opentype.FaceOptions{Size: size, DPI: p.dpi, Hinting: font.HintingNone})
	if err != nil {
		panic(err) // only nonsense options fail
	}
	p.faces[key] = face
	return face
}

// textWidth returns the width of s in points.
func (p *textRenderer) textWidth(f face, size float64, s string) float64 {
	return float64(font.MeasureString(p.fontFace(f, size), s)) / 64 * 72 / p.dpi
}

// drawSheet returns the sheet as pixels.
//
//go:norace
func (p *textRenderer) drawSheet(s *typesetPage, paper, ink uint8) *image.Gray {
	scale := p.dpi / 72
	img := image.NewGray(image.Rect(0, 0, int(math.Round(s.w*scale)), int(math.Round(s.h*scale))))
	for i := range img.Pix {
		img.Pix[i] = paper
	}
	for _, r := range s.rules {
		p.drawRule(img, r, ink)
	}
	for _, r := range s.runs {
		p.drawText(img, r, ink)
	}
	return img
}

//go:norace
func (p *textRenderer) drawRule(img *image.Gray, r box, ink uint8) {
	scale := p.dpi / 72
	x0, y0 := int(r.x*scale), int(r.y*scale)
	x1, y1 := max(int((r.x+r.w)*scale), x0+1), max(int((r.y+r.h)*scale), y0+1)
	area := image.Rect(x0, y0, x1, y1).Intersect(img.Rect)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			img.Pix[y*img.Stride+x] = ink
		}
	}
}

// drawText draws one run. It blends the glyph masks itself: image/draw has no fast way onto a grey image, and takes
// ten times as long.
func (p *textRenderer) drawText(img *image.Gray, r textRun, ink uint8) {
	scale := p.dpi / 72
	dot := fixed.Point26_6{X: fixed.Int26_6(r.x * scale * 64), Y: fixed.Int26_6(r.y * scale * 64)}
	face := p.fontFace(r.face, r.size)
	last := rune(-1)
	for _, c := range r.text {
		if last >= 0 {
			dot.X += face.Kern(last, c)
		}
		dr, mask, at, advance, ok := face.Glyph(dot, c)
		if alpha, isAlpha := mask.(*image.Alpha); ok && isAlpha {
			blendMask(img, dr, alpha, at, ink)
		}
		dot.X += advance
		last = c
	}
}

//go:norace
func blendMask(img *image.Gray, dr image.Rectangle, mask *image.Alpha, at image.Point, ink uint8) {
	clipped := dr.Intersect(img.Rect)
	for y := clipped.Min.Y; y < clipped.Max.Y; y++ {
		for x := clipped.Min.X; x < clipped.Max.X; x++ {
			a := uint32(mask.AlphaAt(at.X+x-dr.Min.X, at.Y+y-dr.Min.Y).A)
			if a == 0 {
				continue
			}
			i := y*img.Stride + x
			img.Pix[i] = uint8((uint32(img.Pix[i])*(255-a) + uint32(ink)*a) / 255)
		}
	}
}

// degradeImage does to a clean page what paper, glass and sensor do.
//
//go:norace
func degradeImage(img *image.Gray, o ScanOptions, rng *rand.Rand) {
	if o.Skew != 0 {
		skewImage(img, o.Skew, o.Paper)
	}
	if o.Blur {
		blurImage(img)
	}
	w := img.Rect.Dx()
	// The sum of two bytes less their mean stands for a normal distribution; its standard deviation is 104.
	noise := int(o.Noise * 256 / 104)
	speck := uint32(o.Specks * math.MaxUint32)
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride : y*img.Stride+w]
		for x := range row {
			v := int(row[x])
			if o.Shade > 0 {
				v -= int(o.Shade * float64(v) * float64(x) / float64(w))
			}
			if noise > 0 {
				r := rng.Uint32()
				v += (int(r&0xff) + int(r>>8&0xff) - 255) * noise >> 8
			}
			if speck > 0 && rng.Uint32() < speck {
				v = 255 - v
			}
			if o.Bitonal {
				v = (v >> 7) * 255
			}
			row[x] = uint8(min(max(v, 0), 255))
		}
	}
}

// skewImage turns the image clockwise by a few degrees about its middle.
//
//go:norace
func skewImage(img *image.Gray, degrees float64, paper uint8) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	src := append([]uint8(nil), img.Pix...)
	const one = 1 << 16
	dx, dy := int(cos*one), int(-sin*one)
	for y := range h {
		fy := float64(y) - float64(h)/2
		sx := int((-cos*float64(w)/2 + sin*fy + float64(w)/2) * one)
		sy := int((sin*float64(w)/2 + cos*fy + float64(h)/2) * one)
		for x := range w {
			ix, iy := sx>>16, sy>>16
			v := int(paper)
			if ix >= 0 && iy >= 0 && ix+1 < w && iy+1 < h {
				ax, ay := sx&(one-1)>>8, sy&(one-1)>>8
				i := iy*w + ix
				top := int(src[i])*(256-ax) + int(src[i+1])*ax
				low := int(src[i+w])*(256-ax) + int(src[i+w+1])*ax
				v = (top*(256-ay) + low*ay) >> 16
			}
			img.Pix[y*img.Stride+x] = uint8(v)
			sx += dx
			sy += dy
		}
	}
}

// blurImage blurs with the 3 by 3 kernel 1 2 1.
//
//go:norace
func blurImage(img *image.Gray) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	line := make([]int, w)
	src := append([]uint8(nil), img.Pix...)
	for y := 1; y < h-1; y++ {
		up, mid, low := src[(y-1)*w:y*w], src[y*w:(y+1)*w], src[(y+1)*w:(y+2)*w]
		for x := range line {
			line[x] = int(up[x]) + 2*int(mid[x]) + int(low[x])
		}
		for x := 1; x < w-1; x++ {
			img.Pix[y*img.Stride+x] = uint8((line[x-1] + 2*line[x] + line[x+1]) / 16)
		}
	}
}

// turnImage turns an image clockwise by a multiple of 90 degrees.
//
//go:norace
func turnImage(img *image.Gray, degrees int) *image.Gray {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	var out *image.Gray
	switch (degrees%360 + 360) % 360 {
	case 90:
		out = image.NewGray(image.Rect(0, 0, h, w))
		for y := range h {
			for x := range w {
				out.Pix[x*out.Stride+h-1-y] = img.Pix[y*img.Stride+x]
			}
		}
	case 180:
		out = image.NewGray(image.Rect(0, 0, w, h))
		for i := range img.Pix {
			out.Pix[len(img.Pix)-1-i] = img.Pix[i]
		}
	case 270:
		out = image.NewGray(image.Rect(0, 0, h, w))
		for y := range h {
			for x := range w {
				out.Pix[(w-1-x)*out.Stride+y] = img.Pix[y*img.Stride+x]
			}
		}
	default:
		return img
	}
	return out
}
