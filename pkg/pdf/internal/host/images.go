package host

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/picture"
	"inkstream.dev/pkg/pdf/internal/triage"
	"inkstream.dev/pkg/pdf/internal/wire"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxDecoded bounds the pixels of an image that is decoded for being kept: 600 dpi on a page of A3.
	maxDecoded = 70_000_000
	// drawingDPI is the resolution that drawings are kept at.
	drawingDPI = 150
	// encodedBytes bounds the encoded images that are remembered while a document is open: a logo stands on every page.
	encodedBytes = 16 << 20
	// defaultImageBytes bounds the images of a page where the request does not.
	defaultImageBytes = 64 << 20
)

// The kinds of images, as Image in page.proto says.
const (
	embedded = "embedded"
	drawing  = "drawing"
)

// encodedImage is an image that was encoded before.
type encodedImage struct{ data []byte }

// imageCache remembers what was encoded since the document was opened.
type imageCache struct {
	seed  maphash.Seed
	known map[uint64]encodedImage
	bytes int
}

func (e *imageCache) addImage(key uint64, v encodedImage) {
	if e.known == nil || e.bytes+len(v.data) > encodedBytes {
		e.known, e.bytes = map[uint64]encodedImage{}, 0
	}
	e.known[key] = v
	e.bytes += len(v.data)
}

// imageKey tells images apart by what is stored of them. Two images may share a stream and differ in colours; that is
// a part of it.
func (e *imageCache) imageKey(img pdfium.Image, stored pdfium.ImagePixelFormat, packed []byte) uint64 {
	if e.seed == (maphash.Seed{}) {
		e.seed = maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(e.seed)
	var head [32]byte
	for i, v := range [4]int{img.Width, img.Height, stored.Bits, stored.ColourSpace} {
		binary.LittleEndian.PutUint64(head[8*i:], uint64(v))
	}
	_, _ = h.Write(head[:])
	_, _ = h.Write(packed)
	return h.Sum64()
}

// imageWriter puts the images of a page into the shared memory.
type imageWriter struct {
	*pageReader
	imageCache *imageCache
	png        *picture.Encoder
	buffer     *fixedBuffer
	out        []wire.Image
	truncated  bool
}

// writeImages writes the page's images behind the first used bytes of the shared memory, as they are in the document
// where that is a format of files, else as PNG.
func (h *Host) writeImages(s *pageReader, req wire.Request, kind triage.Kind, used int) []wire.Image {
	limit := req.ImageBytes
	if limit <= 0 {
		limit = defaultImageBytes
	}
	room := h.scratch[min(used, len(h.scratch)):]
	k := imageWriter{pageReader: s, imageCache: &h.imageCache, png: &h.png,
		buffer: &fixedBuffer{buf: room[:min(int64(len(room)), limit)]}}
	for i, img := range s.objects.Images {
		k.writeEmbedded(i, img)
	}
	if kind == triage.Native || kind == triage.Mixed || kind.HasLayer() {
		for _, d := range s.findDrawings() {
			k.writeDrawing(d)
		}
	}
	if k.truncated {
		s.out.Notes = append(s.out.Notes, "images cut: the page has too many, or too large ones")
	}
	for i := range k.out {
		k.out[i].Offset += int64(used)
	}
	h.used = max(h.used, used+k.buffer.length)
	return k.out
}

// appendImage notes what was written to the room since it held from bytes.
func (k *imageWriter) appendImage(index, from int, ext string) {
	k.out = append(k.out, wire.Image{Index: index, Offset: int64(from), Size: int64(k.buffer.length - from), Ext: ext})
}

// writeEmbedded keeps image i of the page.
func (k *imageWriter) writeEmbedded(i int, img pdfium.Image) {
	filters := img.Filters()
	format := filterExtensions[lastFilter(filters)]
	if format != "" && k.writeStored(i, img, len(filters) > 1, sniffExtension) {
		return
	}
	kept := k.writeDecoded(i, img, format != "")
	if !kept && format != "" { // too damaged to be known or decoded, it is still what the document has there
		kept = k.writeStored(i, img, len(filters) > 1, func([]byte) string { return format })
	}
	k.truncated = k.truncated || !kept && isTooLarge(img)
}

// isTooLarge reports whether an image cannot be decoded for its size.
func isTooLarge(img pdfium.Image) bool {
	return img.Width <= 0 || img.Height <= 0 || img.Width > maxDecoded/img.Height
}

// writeStored keeps an image as it is in the document, if there is an extension for it.
func (k *imageWriter) writeStored(i int, img pdfium.Image, unwrapped bool, extension func([]byte) string) bool {
	d, ok := img.StoredBytes(unwrapped, int64(len(k.buffer.buf)-k.buffer.length))
	if !ok {
		return false
	}
	defer d.Close()
	b := d.Bytes()
	ext := extension(b)
	if ext == "" {
		return false
	}
	from := k.buffer.length
	_, _ = k.buffer.Write(b) // Packed was given the room as its limit
	k.appendImage(i, from, ext)
	return true
}

func lastFilter(filters []string) string {
	if len(filters) == 0 {
		return ""
	}
	return filters[len(filters)-1]
}

// filterExtensions are the extensions of what filters unpack, where that is a file of its own.
var filterExtensions = map[string]string{"DCTDecode": "jpg", "DCT": "jpg", "JPXDecode": "jp2"}

// sniffExtension knows the formats of files that PDFs hold, by their first bytes.
func sniffExtension(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xD8}):
		return "jpg"
	case bytes.HasPrefix(b, []byte("\x00\x00\x00\x0CjP  ")):
		return "jp2"
	case bytes.HasPrefix(b, []byte{0xFF, 0x4F, 0xFF, 0x51}):
		return "j2k"
	}
	return ""
}

// writeDecoded keeps an image as PNG, if it can be decoded. photo says that it is packed as photographs are.
func (k *imageWriter) writeDecoded(i int, img pdfium.Image, photo bool) bool {
	if isTooLarge(img) {
		return false
	}
	stored, ok := img.PixelFormat()
	if !ok {
		return false
	}
	const unknown, stencilBits = 0, 1
	if stored.ColourSpace == unknown && stored.Bits <= stencilBits {
		k.pageImage(i).Mask = !photo // a damaged photograph is no mask
		return false
	}
	key := uint64(0)
	if d, ok := img.StoredBytes(false, int64(maxDecoded)); ok {
		key = k.imageCache.imageKey(img, stored, d.Bytes())
		d.Close()
	}
	from := k.buffer.length
	if known, ok := k.imageCache.known[key]; ok && key != 0 {
		if _, err := k.buffer.Write(known.data); err != nil {
			k.truncated = true
			return false
		}
		k.appendImage(i, from, "png")
		return true
	}
	kept := k.decodeToPNG(img)
	if kept {
		k.appendImage(i, from, "png")
		if key != 0 && k.buffer.length-from <= encodedBytes/4 {
			k.imageCache.addImage(key, encodedImage{data: bytes.Clone(k.buffer.buf[from:k.buffer.length])})
		}
	}
	return kept
}

// decodeToPNG writes an image to the room as PNG. Decoding a scan takes as long as everything else, so it is done
// once for the raster and for this.
func (k *imageWriter) decodeToPNG(img pdfium.Image) bool {
	if k.early != nil { // the page's only image
		_, err := k.buffer.Write(k.early)
		k.truncated = k.truncated || err != nil
		return err == nil
	}
	bitmap, ok := img.Decode()
	if !ok {
		return false
	}
	defer bitmap.Close()
	return k.encodePNG(bitmap)
}

// encodeEarlyPNG returns a bitmap as PNG, valid until the next page, and nil if it is none that can be encoded.
func (h *Host) encodeEarlyPNG(b *pdfium.Bitmap) []byte {
	m, ok := bitmapPixels(b)
	if !ok {
		return nil
	}
	h.early.Reset()
	if err := h.png.Encode(&h.early, m); err != nil {
		return nil
	}
	return h.early.Bytes()
}

// bitmapPixels returns a view of a bitmap's pixels, valid until the next call into the module.
func bitmapPixels(b *pdfium.Bitmap) (picture.Image, bool) {
	m := picture.Image{Pix: b.Pixels(), Width: b.Width, Height: b.Height, Stride: b.Stride}
	switch b.Format {
	case pdfium.FormatGray:
		m.Channels = 1
	case pdfium.FormatBGR:
		m.Channels = 3
	case pdfium.FormatBGRx, pdfium.FormatBGRA:
		m.Channels = 4
	}
	return m, m.Channels > 0
}

// pageImage is the entry of image i in the page's list.
func (k *imageWriter) pageImage(i int) *inkstreamv1.Image { return k.pageReader.out.GetImages()[i] }

// encodePNG writes a bitmap as PNG to the room, or nothing.
func (k *imageWriter) encodePNG(b *pdfium.Bitmap) bool {
	m, ok := bitmapPixels(b)
	if !ok {
		return false
	}
	from := k.buffer.length
	if err := k.png.Encode(k.buffer, m); err != nil {
		k.buffer.length = from
		k.truncated = k.truncated || k.buffer.full
		return false
	}
	return true
}

// writeDrawing adds a figure composed of lines and shapes to the page's images, and keeps a raster of it.
func (k *imageWriter) writeDrawing(d area) {
	bitmap, ok := k.page.RenderRegion(d.x0, d.y0, d.x1-d.x0, d.y1-d.y0,
		math.Min(drawingDPI, 72*3000/math.Max(d.x1-d.x0, d.y1-d.y0)))
	if !ok {
		return
	}
	defer bitmap.Close()
	from := k.buffer.length
	if !k.encodePNG(bitmap) {
		return
	}
	page := k.pageReader.out
	k.appendImage(len(page.GetImages()), from, "png")
	page.Images = append(page.Images, &inkstreamv1.Image{
		Bbox:  []float32{float32(d.x0), float32(d.y0), float32(d.x1), float32(d.y1)},
		Width: int32(bitmap.Width), Height: int32(bitmap.Height), Kind: drawing,
	})
}
