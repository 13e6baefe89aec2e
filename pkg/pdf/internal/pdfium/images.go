package pdfium

import (
	"encoding/binary"
	"math"
)

// maxFilters bounds the filters of an image that are looked at; there is rarely a second one.
const maxFilters = 4

// Filters returns the names of the filters that pack the image, outermost first.
func (img Image) Filters() []string {
	in := img.page.in
	n := min(in.callInt(fnImageFilterCount, img.handle), maxFilters)
	out := make([]string, 0, max(0, n))
	for i := range n {
		b, size := in.stringBuffer()
		out = append(out, in.readByteString(in.callFunction(fnImageFilter, img.handle, uint64(i), b,
			size)&math.MaxUint32))
	}
	return out
}

// Data is bytes in the module's memory.
type Data struct {
	in      *Instance
	pointer uint64
	size    int
}

// Bytes is a view, valid until the next call into the module.
func (d Data) Bytes() []byte { return d.in.memoryView(d.pointer, d.size) }

// Close frees the bytes.
func (d Data) Close() { d.in.freeMemory(d.pointer) }

// StoredBytes returns the bytes of the image's stream as they are in the document, but decrypted; unwrapped removes
// the filters before that which packs the pixels. It reports false for more than limit bytes, and where there is no
// memory.
func (img Image) StoredBytes(unwrapped bool, limit int64) (Data, bool) {
	in := img.page.in
	fn := fnImageDataRaw
	if unwrapped {
		fn = fnImageDataDecoded
	}
	n := in.callFunction(fn, img.handle, 0, 0) & math.MaxUint32
	if n == 0 || int64(n) > limit {
		return Data{}, false
	}
	d := Data{in: in, pointer: in.allocate(int(n)), size: int(n)}
	if d.pointer == 0 {
		return Data{}, false
	}
	if got := in.callFunction(fn, img.handle, d.pointer, n) & math.MaxUint32; got != n {
		d.Close()
		return Data{}, false
	}
	return d, true
}

// ImagePixelFormat describe how an image's pixels are stored.
type ImagePixelFormat struct {
	Bits int
	// ColourSpace is as PDFium numbers them; 0 is unknown, as for stencil masks.
	ColourSpace int
}

// PixelFormat returns how the image's pixels are stored.
func (img Image) PixelFormat() (ImagePixelFormat, bool) {
	in := img.page.in
	// FPDF_IMAGEOBJ_METADATA: width, height, horizontal and vertical dpi, bits per pixel, colour space, marked content.
	const bitsOffset, colourSpaceOffset = 16, 20
	if !in.callBool(fnImageMetadata, img.handle, img.page.handle, in.scratch) {
		return ImagePixelFormat{}, false
	}
	return ImagePixelFormat{Bits: int(int32(in.readUint32(bitsOffset))),
		ColourSpace: int(int32(in.readUint32(colourSpaceOffset)))}, true
}

// Decode decodes the image at its own resolution, without its masks.
func (img Image) Decode() (*Bitmap, bool) {
	in := img.page.in
	handle := in.callFunction(fnImageBitmap, img.handle) & math.MaxUint32
	if handle == 0 {
		return nil, false
	}
	return in.newBitmap(handle), true
}

// DecodeVisible decodes the image at its own resolution, upright in its own space. It reports false where PDFium
// cannot, and where the pixels alone are not what is painted: stencil masks, which have no colours, and transparent
// images.
func (img Image) DecodeVisible() (*Bitmap, bool) {
	in := img.page.in
	if in.callBool(fnObjHasTransparency, img.handle) {
		return nil, false
	}
	// FPDF_IMAGEOBJ_METADATA: width, height, horizontal and vertical dpi, bits per pixel, colour space, marked content.
	const colourSpaceOffset, unknown = 20, 0
	if !in.callBool(fnImageMetadata, img.handle, img.page.handle, in.scratch) ||
		in.readUint32(colourSpaceOffset) == unknown {
		return nil, false
	}
	handle := in.callFunction(fnImageBitmap, img.handle) & math.MaxUint32
	if handle == 0 {
		return nil, false
	}
	return in.newBitmap(handle), true
}

// RenderRegion draws a part of the page in colour on white. The region is as displayed, in points from the top left.
func (p *Page) RenderRegion(left, top, width, height, dpi float64) (*Bitmap, bool) {
	const annotations = 0x01
	in, scale := p.in, dpi/72
	w, h := int(math.Ceil(width*scale)), int(math.Ceil(height*scale))
	left, top, scale = left*scale, top*scale, scale*p.Unit // in pixels, and pixels a unit
	if w <= 0 || h <= 0 {
		return nil, false
	}
	handle := in.callFunction(fnBitmapCreateEx, uint64(w), uint64(h), FormatBGRx, 0, 0) & math.MaxUint32
	if handle == 0 {
		return nil, false
	}
	in.callFunction(fnBitmapFillRect, handle, 0, 0, uint64(w), uint64(h), 0xffffffff)
	b := in.memoryView(in.scratch, 40) // FS_MATRIX, then FS_RECTF: left, top, right, bottom
	for i, v := range [10]float64{scale, 0, 0, scale, -left, -top, 0, 0, float64(w), float64(h)} {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(v)))
	}
	in.callFunction(fnRenderWithMatrix, handle, p.handle, in.scratch, in.scratch+24, annotations)
	return in.newBitmap(handle), true
}
