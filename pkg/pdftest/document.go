package pdftest

import (
	"fmt"
	"strings"
)

// pdfDocument is the frame of a PDF: catalogue, tree of pages, the two fonts.
type pdfDocument struct {
	w     *pdfWriter
	fonts string // the entries of the font dictionary that every page has
	pages []objectRef
	nodes []objectRef // the parent of each maxTreeChildren pages
	root  objectRef
}

// maxTreeChildren is how many children a node of the page tree has at most: a flat tree of thousands is legal but not
// what programs write.
const maxTreeChildren = 64

func newPDFDocument(w *pdfWriter) *pdfDocument {
	d := &pdfDocument{w: w}
	d.root = w.reserveObject()
	f1 := w.addObject("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	f2 := w.addObject("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
	d.fonts = fmt.Sprintf("/F1 %v /F2 %v", f1, f2)
	return d
}

// addPage adds a page whose dictionary has the given entries besides its type and its fonts.
func (d *pdfDocument) addPage(entries string) objectRef { return d.addPageWith(entries, "") }

// addPageWith adds a page with more resources than fonts.
func (d *pdfDocument) addPageWith(entries, resources string) objectRef {
	if len(d.pages)%maxTreeChildren == 0 {
		d.nodes = append(d.nodes, d.w.reserveObject())
	}
	r := d.w.addObject("<< /Type /Page /Parent %v /Resources << /Font << %s >> %s >> %s >>", d.nodes[len(d.nodes)-1],
		d.fonts, resources, entries)
	d.pages = append(d.pages, r)
	return r
}

// finishDocument writes the page tree, the catalogue with more entries if wanted, and the trailer.
func (d *pdfDocument) finishDocument(catalogue, trailer string) []byte {
	w := d.w
	tree := w.reserveObject()
	for i, node := range d.nodes {
		pages := d.pages[i*maxTreeChildren : min((i+1)*maxTreeChildren, len(d.pages))]
		w.writeObject(node, "<< /Type /Pages /Parent %v /Kids %s /Count %d >>", tree, formatRefs(pages), len(pages))
	}
	w.writeObject(tree, "<< /Type /Pages /Kids %s /Count %d >>", formatRefs(d.nodes), len(d.pages))
	w.writeObject(d.root, "<< /Type /Catalog /Pages %v %s >>", tree, catalogue)
	w.info = w.reserveObject()
	w.writeObject(w.info, "<< /Title %s /Author %s /Producer %s /CreationDate %s >>",
		w.formatString(w.info, "Quarterly review"),
		w.formatString(w.info, "The Records Office"), w.formatString(w.info, "pdftest"),
		w.formatString(w.info, "D:20260102030405Z"))
	if w.encryption != nil {
		trailer += fmt.Sprintf(" /Encrypt %v", w.addObject("%s", w.encryption.dictionary()))
	}
	return w.finishFile(d.root, trailer)
}

func formatRefs(list []objectRef) string {
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
