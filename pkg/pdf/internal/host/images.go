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

// encoded is an image that was encoded before.
type encoded struct{ data []byte }

// encodings remembers what was encoded since the document was opened.
type encodings struct {
	seed  maphash.Seed
	known map[uint64]encoded
	bytes int
}

func (e *encodings) add(key uint64, v encoded) {
	if e.known == nil || e.bytes+len(v.data) > encodedBytes {
		e.known, e.bytes = map[uint64]encoded{}, 0
	}
	e.known[key] = v
	e.bytes += len(v.data)
}

// key tells images apart by what is stored of them. Two images may share a stream and differ in colours; that is a part of it.
func (e *encodings) key(img pdfium.Image, stored pdfium.Pixels, packed []byte) uint64 {
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

// keeper puts the images of a page into the shared memory.
type keeper struct {
	*reading
	encodings *encodings
	png       *picture.Encoder
	room      *region
	out       []wire.Image
	cut       bool
}

// keep writes the page's images behind the first used bytes of the shared memory, as they are in the document where that is a format of
// files, else as PNG.
func (h *Host) keep(s *reading, req wire.Request, kind triage.Kind, used int) []wire.Image {
	limit := req.ImageBytes
	if limit <= 0 {
		limit = defaultImageBytes
	}
	room := h.scratch[min(used, len(h.scratch)):]
	k := keeper{reading: s, encodings: &h.encodings, png: &h.png, room: &region{buf: room[:min(int64(len(room)), limit)]}}
	for i, img := range s.objects.Images {
		k.embedded(i, img)
	}
	if kind == triage.Native || kind == triage.Mixed {
		for _, d := range s.drawings() {
			k.drawing(d)
		}
	}
	if k.cut {
		s.out.Notes = append(s.out.Notes, "images cut: the page has too many, or too large ones")
	}
	for i := range k.out {
		k.out[i].Offset += int64(used)
	}
	h.used = max(h.used, used+k.room.n)
	return k.out
}

// store notes what was written to the room since it held from bytes.
func (k *keeper) store(index, from int, ext string) {
	k.out = append(k.out, wire.Image{Index: index, Offset: int64(from), Size: int64(k.room.n - from), Ext: ext})
}

// embedded keeps image i of the page.
func (k *keeper) embedded(i int, img pdfium.Image) {
	filters := k.page.Filters(img)
	format := formats[lastFilter(filters)]
	if format != "" && k.asItIs(i, img, len(filters) > 1, extension) {
		return
	}
	kept := k.decoded(i, img, format != "")
	if !kept && format != "" { // too damaged to be known or decoded, it is still what the document has there
		kept = k.asItIs(i, img, len(filters) > 1, func([]byte) string { return format })
	}
	k.cut = k.cut || !kept && tooLarge(img)
}

// tooLarge reports whether an image cannot be decoded for its size.
func tooLarge(img pdfium.Image) bool {
	return img.Width <= 0 || img.Height <= 0 || img.Width > maxDecoded/img.Height
}

// asItIs keeps an image as it is in the document, if there is an extension for it.
func (k *keeper) asItIs(i int, img pdfium.Image, unwrapped bool, extension func([]byte) string) bool {
	d, ok := k.page.Packed(img, unwrapped, int64(len(k.room.buf)-k.room.n))
	if !ok {
		return false
	}
	defer d.Close()
	b := d.Bytes()
	ext := extension(b)
	if ext == "" {
		return false
	}
	from := k.room.n
	_, _ = k.room.Write(b) // Packed was given the room as its limit
	k.store(i, from, ext)
	return true
}

func lastFilter(filters []string) string {
	if len(filters) == 0 {
		return ""
	}
	return filters[len(filters)-1]
}

// formats are the extensions of what filters unpack, where that is a file of its own.
var formats = map[string]string{"DCTDecode": "jpg", "DCT": "jpg", "JPXDecode": "jp2"}

// extension knows the formats of files that PDFs hold, by their first bytes.
func extension(b []byte) string {
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

// decoded keeps an image as PNG, if it can be decoded. photo says that it is packed as photographs are.
func (k *keeper) decoded(i int, img pdfium.Image, photo bool) bool {
	if tooLarge(img) {
		return false
	}
	stored, ok := k.page.Stored(img)
	if !ok {
		return false
	}
	const unknown, stencilBits = 0, 1
	if stored.ColourSpace == unknown && stored.Bits <= stencilBits {
		k.image(i).Mask = !photo // a damaged photograph is no mask
		return false
	}
	key := uint64(0)
	if d, ok := k.page.Packed(img, false, int64(maxDecoded)); ok {
		key = k.encodings.key(img, stored, d.Bytes())
		d.Close()
	}
	from := k.room.n
	if known, ok := k.encodings.known[key]; ok && key != 0 {
		if _, err := k.room.Write(known.data); err != nil {
			k.cut = true
			return false
		}
		k.store(i, from, "png")
		return true
	}
	kept := k.decode(img)
	if kept {
		k.store(i, from, "png")
		if key != 0 && k.room.n-from <= encodedBytes/4 {
			k.encodings.add(key, encoded{data: bytes.Clone(k.room.buf[from:k.room.n])})
		}
	}
	return kept
}

// decode writes an image to the room as PNG. Decoding a scan takes as long as everything else, so it is done once for the raster and for this.
func (k *keeper) decode(img pdfium.Image) bool {
	if k.early != nil { // the page's only image
		_, err := k.room.Write(k.early)
		k.cut = k.cut || err != nil
		return err == nil
	}
	bitmap, ok := k.page.Decoded(img)
	if !ok {
		return false
	}
	defer bitmap.Close()
	return k.encode(bitmap)
}

// earlyPNG returns a bitmap as PNG, valid until the next page, and nil if it is none that can be encoded.
func (h *Host) earlyPNG(b *pdfium.Bitmap) []byte {
	m, ok := pixels(b)
	if !ok {
		return nil
	}
	h.early.Reset()
	if err := h.png.Encode(&h.early, m); err != nil {
		return nil
	}
	return h.early.Bytes()
}

// pixels returns a view of a bitmap's pixels, valid until the next call into the module.
func pixels(b *pdfium.Bitmap) (picture.Image, bool) {
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

// image is the entry of image i in the page's list.
func (k *keeper) image(i int) *inkstreamv1.Image { return k.reading.out.GetImages()[i] }

// encode writes a bitmap as PNG to the room, or nothing.
func (k *keeper) encode(b *pdfium.Bitmap) bool {
	m, ok := pixels(b)
	if !ok {
		return false
	}
	from := k.room.n
	if err := k.png.Encode(k.room, m); err != nil {
		k.room.n = from
		k.cut = k.cut || k.room.full
		return false
	}
	return true
}

// drawing adds a figure composed of lines and shapes to the page's images, and keeps a raster of it.
func (k *keeper) drawing(d area) {
	bitmap, ok := k.page.RenderRegion(d.x0, d.y0, d.x1-d.x0, d.y1-d.y0, math.Min(drawingDPI, 72*3000/math.Max(d.x1-d.x0, d.y1-d.y0)))
	if !ok {
		return
	}
	defer bitmap.Close()
	from := k.room.n
	if !k.encode(bitmap) {
		return
	}
	page := k.reading.out
	k.store(len(page.GetImages()), from, "png")
	page.Images = append(page.Images, &inkstreamv1.Image{
		Bbox:  []float32{float32(d.x0), float32(d.y0), float32(d.x1), float32(d.y1)},
		Width: int32(bitmap.Width), Height: int32(bitmap.Height), Kind: drawing,
	})
}
