package pdftest

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
)

// Stall is a way to keep an engine busy.
type Stall string

// The ways to stall.
const (
	// StallLoad makes reading the page endless: its content sets a colour millions of times that a long program has to work out. It takes
	// time only, not memory.
	StallLoad Stall = "load"
	// StallMemory makes reading the page endless and takes memory all the while: forms that show forms, ten times each, twenty levels
	// deep.
	StallMemory Stall = "memory"
	// StallRender makes drawing the page endless: the page reads at once, but each of its pixels takes a long program to colour.
	StallRender Stall = "render"
)

// Hang returns a file of three pages of which the second stalls any engine that does not watch the clock; the others are ordinary. The
// file itself is small.
func Hang(s Stall) File {
	w := newWriter()
	d := newDocument(w)
	words := newProse(81)
	f := File{Name: "hang-" + string(s) + ".pdf"}
	for n := 1; n <= 3; n++ {
		if n != 2 {
			sheet := compose(Report, n, 3, 11, a4Width, a4Height, helveticaWidth, words)
			d.page(fmt.Sprintf("%s /Contents %v", a4Boxes, w.stream("", sheet.content(0, 0, 0))))
			f.Pages = append(f.Pages, nativePage(sheet, n))
			continue
		}
		switch s {
		case StallRender:
			d.slowShading()
		case StallMemory:
			d.laughs(20, 10)
		default:
			d.slowColours()
		}
		f.Pages = append(f.Pages, Page{Kind: NativePage, Width: a4Width, Height: a4Height})
	}
	f.PDF = d.finish("", "")
	return f
}

// HangOnEvery returns a small file all of whose pages stall any engine that does not watch the clock: they share one content, that of StallLoad.
func HangOnEvery(pages int) File {
	w := newWriter()
	d := newDocument(w)
	f := File{Name: "hang-on-every.pdf"}
	space, content := d.slowContent()
	for range pages {
		d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), space)
		f.Pages = append(f.Pages, Page{Kind: NativePage, Width: a4Width, Height: a4Height})
	}
	f.PDF = d.finish("", "")
	return f
}

// slowProgram returns a calculation that takes n numbers from the stack to one between 0 and 1, at length.
func (d *document) slowProgram(n int) ref {
	domain := strings.TrimSuffix(strings.Repeat("0 1 ", n), " ")
	program := "{ " + strings.Repeat("add ", n-1) + strings.Repeat("sin 57 mul cos 31 mul ", 5000) + "sin abs }"
	return d.w.stream(fmt.Sprintf("/FunctionType 4 /Domain [%s] /Range [0 1]", domain), []byte(program))
}

// slowColours adds a page with slowContent.
func (d *document) slowColours() {
	space, content := d.slowContent()
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), space)
}

// slowContent adds content that changes its colour over and over; each change runs a long program. Pages that show it need the space.
func (d *document) slowContent() (space string, content ref) {
	space = fmt.Sprintf("/ColorSpace << /Slow [/Separation /Spot /DeviceGray %v] >>", d.slowProgram(1))
	program := "/Slow cs\n" + strings.Repeat(".3 scn .7 scn\n", 500_000) + "BT /F1 12 Tf 72 700 Td (This page takes for ever.) Tj ET\n"
	return space, d.w.stream("", []byte(program))
}

// laughs adds a page that shows a form, which shows another some times over, and so on: a billion laughs.
func (d *document) laughs(levels, times int) {
	form := d.w.stream("/Type /XObject /Subtype /Form /BBox [0 0 595 842]", []byte("0 0 m 1 1 l S\n"))
	for range levels {
		form = d.w.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << /L %v >> >>", form),
			[]byte(strings.Repeat("/L Do\n", times)))
	}
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.stream("", []byte("/L Do\n"))), fmt.Sprintf("/XObject << /L %v >>", form))
}

// slowShading adds a page with a line of text under a shading whose colour a long calculation gives, pixel by pixel, many times over.
func (d *document) slowShading() {
	shading := d.w.add("<< /ShadingType 1 /ColorSpace /DeviceGray /Domain [0 1 0 1] /Matrix [595 0 0 842 0 0] /Function %v >>", d.slowProgram(2))
	content := "BT /F1 12 Tf 72 700 Td (This page takes for ever.) Tj ET\n" + strings.Repeat("/S sh\n", 500)
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.stream("", []byte(content))), fmt.Sprintf("/Shading << /S %v >>", shading))
}

// Bomb returns a file of one page whose content unpacks to that many mebibytes of blanks: a thousand times its size, and a million times if
// it is packed twice.
func Bomb(mebibytes int, twice bool) File {
	data, filter := flateBomb(' ', mebibytes<<20), "/FlateDecode"
	name := fmt.Sprintf("bomb-%d.pdf", mebibytes)
	w := newWriter()
	if twice {
		var b bytes.Buffer
		z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
		z.Write(data)
		z.Close()
		data, filter = b.Bytes(), "[/FlateDecode /FlateDecode]"
		name = fmt.Sprintf("bomb-twice-%d.pdf", mebibytes)
	}
	d := newDocument(w)
	d.page(fmt.Sprintf("%s /Contents %v", a4Boxes, w.rawStream("/Filter "+filter, data)))
	return File{Name: name, PDF: d.finish("", "")}
}

// ImageBomb returns a file of one page that is an image of side by side pixels, a byte each, in a file of a thousandth of that.
func ImageBomb(side int) File {
	w := newWriter()
	d := newDocument(w)
	image := w.rawStream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8"+
		" /Filter /FlateDecode", side, side), flateBomb(0xcc, side*side))
	content := w.stream("", []byte("q 595 0 0 842 0 0 cm /Im1 Do Q\n"))
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), fmt.Sprintf("/XObject << /Im1 %v >>", image))
	return File{Name: fmt.Sprintf("image-bomb-%d.pdf", side), PDF: d.finish("", "")}
}

// flateBomb returns what zlib makes of one byte repeated size times, without going through them all: once the compressor's window is full
// of the byte, each further piece comes out the same.
func flateBomb(fill byte, size int) []byte {
	const piece = 1 << 20
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestCompression)
	data := bytes.Repeat([]byte{fill}, piece)
	add := func(n int) []byte {
		start := b.Len()
		z.Write(data[:n])
		z.Flush()
		return b.Bytes()[start:]
	}
	out := []byte{0x78, 0xda}
	if first := min(size, piece); first > 0 {
		out = append(out, add(first)...)
	}
	if size >= 2*piece {
		out = append(out, bytes.Repeat(add(piece), size/piece-1)...)
	}
	if rest := size % piece; size > piece && rest > 0 {
		out = append(out, add(rest)...)
	}
	start := b.Len()
	z.Close()
	out = append(out, b.Bytes()[start:]...)

	// Adler-32 of size equal bytes, in closed form.
	const mod = 65521
	n, f := uint64(size)%mod, uint64(fill)
	triangle := uint64(size) % (2 * mod) * ((uint64(size) + 1) % (2 * mod)) / 2 % mod
	low := (1 + n*f) % mod
	high := (n + f*triangle) % mod
	return binary.BigEndian.AppendUint32(out, uint32(high<<16|low))
}
