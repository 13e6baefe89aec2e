// Package raster makes the grey image of a page that goes to the recogniser: at the page image's own resolution where
// there is one, and no larger than the recogniser needs.
package raster

import (
	"errors"
	"fmt"
	"math"

	"inkstream.dev/pkg/pdf/internal/grey"
	"inkstream.dev/pkg/pdf/internal/pdfium"
)

const (
	// defaultDPI is the resolution of pages that do not bring their own.
	defaultDPI = 300
	// maxDPI is the resolution beyond which no page is drawn: scans of small print are no finer.
	maxDPI = 450
	// minDPI is the resolution below which no page is shrunk, however large its letters look: in scripts whose letters
	// join, or fill a square, what is measured is not the height of small letters.
	minDPI = 180
	// maxSide is the longest side in pixels that recognisers take (tesseract's is 32,767).
	maxSide = 30_000
)

// Raster describes the image that DrawPage wrote.
type Raster struct {
	Width, Height int
	DPI           float64
	// Text is what was measured on the page before it was shrunk.
	Text  grey.TextSize
	Notes []string
}

// ErrMemory says that the engine could not hold the page's image.
var ErrMemory = errors.New("no memory for the page's image")

// Source is a page to make a raster of.
type Source struct {
	Page    *pdfium.Page
	Objects pdfium.Objects
	// Painted says that more is painted than the objects tell: visible text, annotations.
	Painted bool
	// CountsAt says where on the page letters count, in shares of its width and height; nil is everywhere.
	CountsAt func(x, y float64) bool
	// OnDecoded, if set, is shown the pixels of the page's one image where they are what the raster is made of.
	OnDecoded func(img pdfium.Image, b *pdfium.Bitmap)
}

// DrawPage draws the page and writes its pixels, row by row without padding, to out, which bounds their number.
func DrawPage(s Source, out []byte) (Raster, error) {
	if r, ok := copyScanPixels(s, out); ok {
		return r, nil
	}
	p := s.Page
	var r Raster
	dpi := chooseDPI(s)
	if most := math.Min(math.Sqrt(float64(len(out))*72*72/(p.Width*p.Height)),
		maxSide*72/math.Max(p.Width, p.Height)); dpi > most {
		r.Notes = append(r.Notes, fmt.Sprintf("raster reduced to %.0f dpi for its size", most))
		dpi = most
	}
	width, height := pointsToPixels(p.Width, dpi), pointsToPixels(p.Height, dpi)
	for width*height > len(out) { // rounding up, or one side of less than a pixel
		width, height = max(1, width*99/100), max(1, height*99/100)
	}
	bitmap, ok := p.RenderGrey(width, height)
	if !ok {
		return r, ErrMemory
	}
	defer bitmap.Close()
	img := grey.Image{Pix: bitmap.Pixels(), Width: bitmap.Width, Height: bitmap.Height, Stride: bitmap.Stride}
	if !img.Valid() {
		return r, ErrMemory
	}
	r.Text = grey.MeasureText(img, s.CountsAt)
	scale := shrinkFactor(r.Text, dpi)
	r.Width, r.Height, r.DPI = scaleLength(width, scale), scaleLength(height, scale), dpi*scale
	grey.ShrinkInto(grey.Image{Pix: out, Width: r.Width, Height: r.Height, Stride: r.Width}, img)
	return r, nil
}

func scaleLength(n int, scale float64) int { return max(1, int(float64(n)*scale+0.5)) }

func pointsToPixels(points, dpi float64) int { return max(1, int(points*dpi/72+0.5)) }

// chooseDPI is that of the page's image if the page is nothing but one, else defaultDPI.
func chooseDPI(s Source) float64 {
	img, ok := soleImage(s)
	if !ok {
		return defaultDPI
	}
	width, height := s.Page.Unit*(img.Bounds.Right-img.Bounds.Left), s.Page.Unit*(img.Bounds.Top-img.Bounds.Bottom)
	across, down := float64(img.Width), float64(img.Height)
	if math.Abs(img.Matrix.A) < math.Abs(img.Matrix.B) {
		across, down = down, across
	}
	own := math.Min(math.Max(across*72/width, down*72/height), maxDPI)
	if s.Painted {
		return math.Max(own, defaultDPI) // what is painted over the image has no resolution
	}
	return own
}

// soleImage returns the image that covers the page, if there is one and no other object is painted. One of so few
// pixels that recognition takes no raster of its resolution is a background, not a scan.
func soleImage(s Source) (pdfium.Image, bool) {
	const covers, coarsest = 0.9, 10.0 / 72 // pixels a point
	o, p := s.Objects, s.Page
	if len(o.Images) != 1 || o.Paths > 0 || o.Shadings > 0 || o.Cut {
		return pdfium.Image{}, false
	}
	img := o.Images[0]
	width := p.Unit * (math.Min(img.Bounds.Right, p.Box.Right) - math.Max(img.Bounds.Left, p.Box.Left))
	height := p.Unit * (math.Min(img.Bounds.Top, p.Box.Top) - math.Max(img.Bounds.Bottom, p.Box.Bottom))
	return img, isAxisAligned(img.Matrix) && img.Width > 0 && img.Height > 0 && width > 0 && height > 0 &&
		width*height >= covers*p.Width*p.Height && float64(img.Width*img.Height) >= coarsest*coarsest*width*height
}

// isAxisAligned reports whether a matrix keeps edges along the axes.
func isAxisAligned(m pdfium.Matrix) bool {
	const straight = 1e-3
	upright := math.Max(math.Abs(m.B), math.Abs(m.C)) <= straight*math.Min(math.Abs(m.A), math.Abs(m.D))
	sideways := math.Max(math.Abs(m.A), math.Abs(m.D)) <= straight*math.Min(math.Abs(m.B), math.Abs(m.C))
	return upright || sideways
}

const (
	// targetXHeight is the height of small letters, in pixels, that pages are shrunk to.
	//
	// Measured with tesseract 5.3.0 (eng, one thread) on those of 45 scans of the corpus (UNLV, old books, forms,
	// receipts, tables) whose letters are larger: mean character error rate and CPU seconds in all, at 300 dpi and
	// shrunk.
	//
	//	to 20 pixels   18 scans   .0382 .0437   28.2 24.9
	//	to 18          26         .0288 .0327   43.6 37.1
	//	to 16          32         .0412 .0402   50.9 42.2
	//	to 14          32         .0412 .0409   50.9 40.1
	//
	// The differences in errors are single receipts and tables that fall this way or that, see cleanContrast. Enlarging
	// small letters was measured too: to 20 or 26 pixels it took 1.3 times as long and added errors.
	targetXHeight = 16
	// minShrinkGain is how much larger letters have to be than wanted: shrinking a little costs more than it saves.
	minShrinkGain = 1.15
	// cleanContrast is the contrast of a scan whose letters can be told from its noise. Poorer ones (receipts
	// photographed in grey, 95 to 147) read worse when they are shrunk by what was measured on them.
	cleanContrast = 150
)

// shrinkFactor returns the factor by which to reduce an image of that text.
func shrinkFactor(t grey.TextSize, dpi float64) float64 {
	if t.XHeight == 0 || t.Contrast < cleanContrast {
		return math.Min(1, defaultDPI/dpi)
	}
	if t.XHeight < targetXHeight*minShrinkGain {
		return 1
	}
	return math.Min(1, math.Max(targetXHeight/t.XHeight, minDPI/dpi))
}
