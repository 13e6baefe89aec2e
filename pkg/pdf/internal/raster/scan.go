package raster

import (
	"math"

	"inkstream.dev/pkg/pdf/internal/grey"
	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// copyScanPixels takes the pixels of a page that is one image and nothing else straight from the decoder: a third of
// the time that drawing takes, and no pixel is interpolated. It reports false where drawing is called for.
func copyScanPixels(s Source, out []byte) (Raster, bool) {
	img, ok := soleImage(s)
	if !ok || s.Painted || img.Width*img.Height > len(out) {
		return Raster{}, false
	}
	turn, ok := imageOrientation(s.Page, img)
	if !ok {
		return Raster{}, false
	}
	width, height := s.Page.Width, s.Page.Height
	if turn.Transpose {
		width, height = height, width
	}
	across, down := float64(img.Width)*72/width, float64(img.Height)*72/height
	const square = 0.005
	if math.Abs(across/down-1) > square {
		return Raster{}, false // a fax: its pixels are no squares
	}
	bitmap, ok := img.DecodeVisible()
	if !ok {
		return Raster{}, false
	}
	defer bitmap.Close()
	if s.OnDecoded != nil {
		s.OnDecoded(img, bitmap) // before the next line, whose view of the pixels ends with a call into the module
	}
	src, ok := greyImage(bitmap)
	if !ok || src.Width != img.Width || src.Height != img.Height {
		return Raster{}, false
	}
	r := Raster{Text: grey.MeasureText(src, mapToImage(s.CountsAt, turn))}
	scale := shrinkFactor(r.Text, across)
	r.DPI = across * scale
	small := grey.Image{Pix: out, Width: scaleLength(src.Width, scale), Height: scaleLength(src.Height, scale)}
	small.Stride = small.Width
	r.Width, r.Height = small.Width, small.Height
	if turn == (grey.Orientation{}) {
		grey.ShrinkInto(small, src)
		return r, true
	}
	small.Pix = make([]byte, small.Width*small.Height)
	grey.ShrinkInto(small, src)
	if turn.Transpose {
		r.Width, r.Height = r.Height, r.Width
	}
	turn.ApplyInto(grey.Image{Pix: out, Width: r.Width, Height: r.Height, Stride: r.Width}, small)
	return r, true
}

// imageOrientation returns how the image is turned on the displayed page, if it fills the page to its edges.
func imageOrientation(p *pdfium.Page, img pdfium.Image) (grey.Orientation, bool) {
	const near = 1.5 // points
	b := img.Bounds
	if math.Abs(b.Left-p.Box.Left) > near || math.Abs(b.Right-p.Box.Right) > near ||
		math.Abs(b.Bottom-p.Box.Bottom) > near || math.Abs(b.Top-p.Box.Top) > near {
		return grey.Orientation{}, false
	}
	// The image fills the unit square, its first row on top.
	at := func(x, y float64) (float64, float64) { return p.UserToDisplay(img.Matrix.MapPoint(x, y)) }
	x0, y0 := at(0, 1)
	rightX, rightY := at(1, 1)
	downX, downY := at(0, 0)
	if math.Abs(rightX-x0) > math.Abs(rightY-y0) {
		return grey.Orientation{FlipX: rightX < x0, FlipY: downY < y0}, true
	}
	return grey.Orientation{Transpose: true, FlipX: downX < x0, FlipY: rightY < y0}, true
}

// mapToImage makes a function over the displayed page one over the image.
func mapToImage(count func(x, y float64) bool, t grey.Orientation) func(x, y float64) bool {
	if count == nil {
		return nil
	}
	return func(x, y float64) bool {
		if t.Transpose {
			x, y = y, x
		}
		if t.FlipX {
			x = 1 - x
		}
		if t.FlipY {
			y = 1 - y
		}
		return count(x, y)
	}
}

func greyImage(b *pdfium.Bitmap) (grey.Image, bool) {
	img := grey.Image{Pix: b.Pixels(), Width: b.Width, Height: b.Height, Stride: b.Stride}
	size := 1
	switch b.Format {
	case pdfium.FormatGray:
	case pdfium.FormatBGR:
		size = 3
	case pdfium.FormatBGRx:
		size = 4
	default:
		return img, false
	}
	if b.Stride < b.Width*size || len(img.Pix) < b.Stride*b.Height || !img.Valid() {
		return img, false
	}
	if size > 1 {
		img = grey.ImageFromBGR(img.Pix, b.Width, b.Height, b.Stride, size)
	}
	return img, true
}
