package pdftest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// DamagedFiles returns one file of each kind of damage. Pages are filled in where a reader that repairs what it can
// should find them all; where there are none, any precise answer will do, as long as there is one.
func DamagedFiles() []File {
	whole := BornDigitalWith(BornDigitalOptions{Pages: 3, Seed: 70})
	zero := bytes.Clone(whole.PDF)
	clear(zero[len(zero)/3 : len(zero)*2/3])
	return []File{
		TruncateFile(whole, 0.95),
		TruncateFile(whole, 0.5),
		TruncateFile(whole, 0.01),
		WithoutXref(whole),
		WithBadStartxref(whole),
		WithoutHeader(whole),
		WithJunkBefore(whole),
		WithLoopingPages(),
		WithoutCatalogue(),
		WithoutPages(),
		{Name: "zeroed-middle.pdf", PDF: zero},
		FlipBits(whole, 71, 40),
		FlipBits(whole, 72, 2000),
	}
}

// TruncateFile returns the first part of a file, as a broken upload leaves it. The page tree and the cross-reference
// table, which stand at the end, are lost even if the share is near 1: the content of the pages is there, but nothing
// says in which order.
func TruncateFile(f File, share float64) File {
	return File{Name: fmt.Sprintf("truncated-%d-percent.pdf", int(share*100)), PDF: f.PDF[:int(float64(len(f.PDF))*share)]}
}

// WithoutXref returns the file less its cross-reference table: the objects are all there, the trailer too.
func WithoutXref(f File) File {
	at := bytes.LastIndex(f.PDF, []byte("\nxref\n"))
	trailer := bytes.LastIndex(f.PDF, []byte("\ntrailer\n"))
	return File{Name: "without-xref.pdf", PDF: slices.Concat(f.PDF[:at], f.PDF[trailer:]), Pages: f.Pages}
}

// WithBadStartxref returns the file with a pointer to its cross-reference table that leads nowhere.
func WithBadStartxref(f File) File {
	at := bytes.LastIndex(f.PDF, []byte("startxref\n"))
	return File{Name: "bad-startxref.pdf", PDF: slices.Concat(f.PDF[:at], []byte("startxref\n99999999\n%%EOF\n")),
		Pages: f.Pages}
}

// WithoutHeader returns the file less its first line, so that nothing says that it is a PDF, and every offset is wrong.
func WithoutHeader(f File) File {
	return File{Name: "without-header.pdf", PDF: bytes.Clone(f.PDF[bytes.IndexByte(f.PDF, '\n')+1:])}
}

// WithJunkBefore returns the file behind a few lines of something else, as mail gateways and print servers make it.
func WithJunkBefore(f File) File {
	junk := "\x1b%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=PDF\r\n" + strings.Repeat("#", 200) + "\r\n"
	return File{Name: "junk-before.pdf", PDF: slices.Concat([]byte(junk), f.PDF), Pages: f.Pages}
}

// FlipBits returns the file with n bits turned over, at places that the seed determines. The first eight bytes stay.
func FlipBits(f File, seed uint64, n int) File {
	out := bytes.Clone(f.PDF)
	rng := rand.New(rand.NewPCG(seed, 7))
	for range n {
		out[8+rng.IntN(len(out)-8)] ^= 1 << rng.IntN(8)
	}
	return File{Name: fmt.Sprintf("bit-flips-%d-%d.pdf", n, seed), PDF: out}
}

// WithoutPages returns a sound file that has a page tree without pages.
func WithoutPages() File {
	return File{Name: "no-pages.pdf", PDF: newPDFDocument(newPDFWriter()).finishDocument("", "")}
}

// WithLoopingPages returns a file whose page tree leads back to itself.
func WithLoopingPages() File {
	w := newPDFWriter()
	root, tree, node := w.reserveObject(), w.reserveObject(), w.reserveObject()
	w.writeObject(root, "<< /Type /Catalog /Pages %v >>", tree)
	w.writeObject(tree, "<< /Type /Pages /Kids [%v %v] /Count 1000000 >>", node, tree)
	w.writeObject(node, "<< /Type /Pages /Parent %v /Kids [%v %v] /Count 500000 >>", tree, tree, node)
	return File{Name: "looping-pages.pdf", PDF: w.finishFile(root, "")}
}

// WithoutCatalogue returns a file whose trailer names an object that is not there.
func WithoutCatalogue() File {
	w := newPDFWriter()
	w.addObject("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	return File{Name: "without-catalogue.pdf", PDF: w.finishFile(99, "")}
}

// NotPDFFiles returns files that are no PDFs, whatever their names say.
func NotPDFFiles() []File {
	rng := rand.New(rand.NewPCG(73, 7))
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return []File{
		{Name: "empty.pdf", PDF: nil},
		{Name: "one-byte.pdf", PDF: []byte("%")},
		{Name: "header-only.pdf", PDF: []byte("%PDF-1.7\n")},
		{Name: "plain-text.pdf", PDF: []byte(newProseGenerator(74).makeParagraph(40))},
		{Name: "web-page.pdf",
			PDF: []byte("<!DOCTYPE html><html><head><title>Not found</title></head><body><h1>404</h1></body></html>\n")},
		{Name: "archive.pdf", PDF: append([]byte("PK\x03\x04\x14\x00\x00\x00\x08\x00"), noise[:2000]...)},
		{Name: "picture.pdf", PDF: append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), noise[:2000]...)},
		{Name: "noise.pdf", PDF: noise},
		{Name: "nul-bytes.pdf", PDF: make([]byte, 4096)},
	}
}

// AbsurdPageBoxes returns files of one page whose size no paper has: none, nothing, negative, endless, not a number.
// Each shows a line of text where a reader that falls back on a sensible size would find it.
func AbsurdPageBoxes() []File {
	boxes := []struct{ name, box string }{
		{"missing", ""},
		{"zero", "/MediaBox [0 0 0 0]"},
		{"reversed", "/MediaBox [595 842 0 0]"},
		{"negative", "/MediaBox [-595 -842 0 0]"},
		{"short", "/MediaBox [0 0 595]"},
		{"words", "/MediaBox [0 0 NaN Infinity]"},
		{"string", "/MediaBox (0 0 595 842)"},
		{"overflow", "/MediaBox [0 0 1" + strings.Repeat("0", 60) + " 1" + strings.Repeat("0", 60) + "]"},
		{"huge", "/MediaBox [0 0 200000 200000]"},
		{"endless", "/MediaBox [0 0 2000000000 842]"},
		{"thin", "/MediaBox [0 0 0.4 842]"},
		{"speck", "/MediaBox [0 0 0.001 0.001]"},
		{"far-away", "/MediaBox [1000000000 1000000000 1000000595 1000000842]"},
		{"crop-outside", "/MediaBox [0 0 595 842] /CropBox [5000 5000 5595 5842]"},
		{"crop-zero", "/MediaBox [0 0 595 842] /CropBox [100 100 100 100]"},
		{"unit-huge", "/MediaBox [0 0 595 842] /UserUnit 100000"},
		{"unit-negative", "/MediaBox [0 0 595 842] /UserUnit -3"},
		{"rotate-45", "/MediaBox [0 0 595 842] /Rotate 45"},
		{"rotate-huge", "/MediaBox [0 0 595 842] /Rotate 2147483647"},
	}
	files := make([]File, len(boxes))
	for i, b := range boxes {
		w := newPDFWriter()
		d := newPDFDocument(w)
		content := w.addStream("", []byte("BT /F1 12 Tf 72 700 Td (The page has an absurd size.) Tj ET\n"))
		d.addPage(fmt.Sprintf("%s /Contents %v", b.box, content))
		files[i] = File{Name: "box-" + b.name + ".pdf", PDF: d.finishDocument("", "")}
	}
	return files
}
