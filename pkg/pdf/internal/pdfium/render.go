package pdfium

import "math"

// Bitmap formats as PDFium numbers them.
const (
	FormatGray = 1
	FormatBGR  = 2
	FormatBGRx = 3
	FormatBGRA = 4
)

// Bitmap is pixels in the module's memory.
type Bitmap struct {
	in     *Instance
	handle uint64
	// Width, Height and Stride are in pixels, pixels and bytes.
	Width, Height, Stride int
	// Format is one of the Format constants.
	Format int
}

// RenderGrey draws the page, rotated as displayed, in grey on white at a size in pixels. It reports false if there is
// no memory for it.
func (p *Page) RenderGrey(width, height int) (*Bitmap, bool) {
	const annotations, grayscale = 0x01, 0x08
	in := p.in
	handle := in.callFunction(fnBitmapCreateEx, uint64(width), uint64(height), FormatGray, 0, 0) & math.MaxUint32
	if handle == 0 {
		return nil, false
	}
	b := in.newBitmap(handle)
	in.callFunction(fnBitmapFillRect, handle, 0, 0, uint64(width), uint64(height), 0xffffffff)
	in.callFunction(fnRenderPageBitmap, handle, p.handle, 0, 0, uint64(width), uint64(height), 0, annotations|grayscale)
	return b, true
}

func (in *Instance) newBitmap(handle uint64) *Bitmap {
	return &Bitmap{
		in: in, handle: handle,
		Width:  in.callInt(fnBitmapWidth, handle),
		Height: in.callInt(fnBitmapHeight, handle),
		Stride: in.callInt(fnBitmapStride, handle),
		Format: in.callInt(fnBitmapFormat, handle),
	}
}

// Pixels is a view of the rows, valid until the next call into the module.
func (b *Bitmap) Pixels() []byte {
	if b.Width <= 0 || b.Height <= 0 || b.Stride <= 0 {
		return nil
	}
	p := b.in.callFunction(fnBitmapBuffer, b.handle) & math.MaxUint32
	return b.in.memoryView(p, b.Stride*b.Height)
}

// Close frees the bitmap.
func (b *Bitmap) Close() { b.in.callFunction(fnBitmapDestroy, b.handle) }
