package pdftest

import (
	"fmt"
	"strings"
)

// document is the frame of a PDF: catalogue, tree of pages, the two fonts.
type document struct {
	w     *writer
	fonts string // the entries of the font dictionary that every page has
	pages []ref
	nodes []ref // the parent of each fanOut pages
	root  ref
}

// fanOut is how many children a node of the page tree has at most: a flat tree of thousands is legal but not what programs write.
const fanOut = 64

func newDocument(w *writer) *document {
	d := &document{w: w}
	d.root = w.alloc()
	f1 := w.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	f2 := w.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
	d.fonts = fmt.Sprintf("/F1 %v /F2 %v", f1, f2)
	return d
}

// page adds a page whose dictionary has the given entries besides its type and its fonts.
func (d *document) page(entries string) ref { return d.pageWith(entries, "") }

// pageWith adds a page with more resources than fonts.
func (d *document) pageWith(entries, resources string) ref {
	if len(d.pages)%fanOut == 0 {
		d.nodes = append(d.nodes, d.w.alloc())
	}
	r := d.w.add("<< /Type /Page /Parent %v /Resources << /Font << %s >> %s >> %s >>", d.nodes[len(d.nodes)-1], d.fonts, resources, entries)
	d.pages = append(d.pages, r)
	return r
}

// finish writes the page tree, the catalogue with more entries if wanted, and the trailer.
func (d *document) finish(catalogue, trailer string) []byte {
	w := d.w
	tree := w.alloc()
	for i, node := range d.nodes {
		pages := d.pages[i*fanOut : min((i+1)*fanOut, len(d.pages))]
		w.set(node, "<< /Type /Pages /Parent %v /Kids %s /Count %d >>", tree, refs(pages), len(pages))
	}
	w.set(tree, "<< /Type /Pages /Kids %s /Count %d >>", refs(d.nodes), len(d.pages))
	w.set(d.root, "<< /Type /Catalog /Pages %v %s >>", tree, catalogue)
	w.info = w.alloc()
	w.set(w.info, "<< /Title %s /Author %s /Producer %s /CreationDate %s >>", w.text(w.info, "Quarterly review"),
		w.text(w.info, "The Records Office"), w.text(w.info, "pdftest"), w.text(w.info, "D:20260102030405Z"))
	if w.lock != nil {
		trailer += fmt.Sprintf(" /Encrypt %v", w.add("%s", w.lock.dict()))
	}
	return w.finish(d.root, trailer)
}

func refs(list []ref) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, r := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(r.String())
	}
	b.WriteByte(']')
	return b.String()
}
