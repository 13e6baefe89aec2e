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
	// StallLoad makes reading the page endless: its content sets a colour millions of times that a long program has to
	// work out. It takes time only, not memory.
	StallLoad Stall = "load"
	// StallMemory makes reading the page endless and takes memory all the while: forms that show forms, ten times each,
	// twenty levels deep.
	StallMemory Stall = "memory"
	// StallRender makes drawing the page endless: the page reads at once, but each of its pixels takes a long program to
	// colour.
	StallRender Stall = "render"
)

// HangingFile returns a file of three pages of which the second stalls any engine that does not watch the clock; the
// others are ordinary. The file itself is small.
func HangingFile(s Stall) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	words := newProseGenerator(81)
	f := File{Name: "hang-" + string(s) + ".pdf"}
	for n := 1; n <= 3; n++ {
		if n != 2 {
			sheet := composePage(Report, n, 3, 11, a4Width, a4Height, helveticaWidth, words)
			d.addPage(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addStream("", sheet.drawOperators(0, 0, 0))))
			f.Pages = append(f.Pages, describeNativePage(sheet, n))
			continue
		}
		switch s {
		case StallRender:
			d.addSlowShading()
		case StallMemory:
			d.addNestedForms(20, 10)
		default:
			d.addSlowColourPage()
		}
		f.Pages = append(f.Pages, Page{Kind: NativePage, Width: a4Width, Height: a4Height})
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// HangOnEveryPage returns a small file all of whose pages stall any engine that does not watch the clock: they share
// one content, that of StallLoad.
func HangOnEveryPage(pages int) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	f := File{Name: "hang-on-every.pdf"}
	space, content := d.addSlowContent()
	for range pages {
		d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), space)
		f.Pages = append(f.Pages, Page{Kind: NativePage, Width: a4Width, Height: a4Height})
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// addSlowFunction returns a calculation that takes n numbers from the stack to one between 0 and 1, at length.
func (d *pdfDocument) addSlowFunction(n int) objectRef {
	domain := strings.TrimSuffix(strings.Repeat("0 1 ", n), " ")
	program := "{ " + strings.Repeat("add ", n-1) + strings.Repeat("sin 57 mul cos 31 mul ", 5000) + "sin abs }"
	return d.w.addStream(fmt.Sprintf("/FunctionType 4 /Domain [%s] /Range [0 1]", domain), []byte(program))
}

// addSlowColourPage adds a page with addSlowContent.
func (d *pdfDocument) addSlowColourPage() {
	space, content := d.addSlowContent()
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), space)
}

// addSlowContent adds content that changes its colour over and over; each change runs a long program. Pages that show
// it need the space.
func (d *pdfDocument) addSlowContent() (space string, content objectRef) {
	space = fmt.Sprintf("/ColorSpace << /Slow [/Separation /Spot /DeviceGray %v] >>", d.addSlowFunction(1))
	program := "/Slow cs\n" + strings.Repeat(".3 scn .7 scn\n", 500_000) +
		"BT /F1 12 Tf 72 700 Td (This page takes for ever.) Tj ET\n"
	return space, d.w.addStream("", []byte(program))
}

// addNestedForms adds a page that shows a form, which shows another some times over, and so on: a billion laughs.
func (d *pdfDocument) addNestedForms(levels, times int) {
	form := d.w.addStream("/Type /XObject /Subtype /Form /BBox [0 0 595 842]", []byte("0 0 m 1 1 l S\n"))
	for range levels {
		form = d.w.addStream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << /L %v >> >>", form),
			[]byte(strings.Repeat("/L Do\n", times)))
	}
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.addStream("", []byte("/L Do\n"))),
		fmt.Sprintf("/XObject << /L %v >>", form))
}

// addSlowShading adds a page with a line of text under a shading whose colour a long calculation gives, pixel by
// pixel, many times over.
func (d *pdfDocument) addSlowShading() {
	shading := d.w.addObject("<< /ShadingType 1 /ColorSpace /DeviceGray /Domain [0 1 0 1] /Matrix [595 0 0 842 0 0] /Function %v >>", d.addSlowFunction(2))
	content := "BT /F1 12 Tf 72 700 Td (This page takes for ever.) Tj ET\n" + strings.Repeat("/S sh\n", 500)
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.addStream("", []byte(content))),
		fmt.Sprintf("/Shading << /S %v >>", shading))
}

// ContentBomb returns a file of one page whose content unpacks to that many mebibytes of blanks: a thousand times its
// size, and a million times if it is packed twice.
func ContentBomb(mebibytes int, twice bool) File {
	data, filter := flateBomb(' ', mebibytes<<20), "/FlateDecode"
	name := fmt.Sprintf("bomb-%d.pdf", mebibytes)
	w := newPDFWriter()
	if twice {
		var b bytes.Buffer
		z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
		z.Write(data)
		z.Close()
		data, filter = b.Bytes(), "[/FlateDecode /FlateDecode]"
		name = fmt.Sprintf("bomb-twice-%d.pdf", mebibytes)
	}
	d := newPDFDocument(w)
	d.addPage(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addRawStream("/Filter "+filter, data)))
	return File{Name: name, PDF: d.finishDocument("", "")}
}

// ImageBomb returns a file of one page that is an image of side by side pixels, a byte each, in a file of a
// thousandth of that.
func ImageBomb(side int) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	image := w.addRawStream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8"+
		" /Filter /FlateDecode", side, side), flateBomb(0xcc, side*side))
	content := w.addStream("", []byte("q 595 0 0 842 0 0 cm /Im1 Do Q\n"))
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), fmt.Sprintf("/XObject << /Im1 %v >>", image))
	return File{Name: fmt.Sprintf("image-bomb-%d.pdf", side), PDF: d.finishDocument("", "")}
}

// flateBomb returns what zlib makes of one byte repeated size times, without going through them all: once the
// compressor's window is full of the byte, each further piece comes out the same.
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
