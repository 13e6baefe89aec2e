package pdfium

import "math"

// Link is an area of a page that leads somewhere.
type Link struct {
	Bounds Rect
	URI    string
	Page   int // from 1; 0 for none
}

// maxLinks bounds the links of a page.
const maxLinks = 1000

// ReadLinks returns the page's links that lead outside by a URI or to a page of the document.
func (p *Page) ReadLinks() []Link {
	if !p.linksRead && !p.readOtherLinks() {
		p.links = p.readLinkAnnotations()
	}
	p.linksRead = true
	return p.links
}

// readOtherLinks reads the links by the document's other way, if it has one that is sure of them.
func (p *Page) readOtherLinks() (ok bool) {
	if p.doc.linkReader == nil {
		return false
	}
	annotations := max(0, p.in.callInt(fnAnnotCount, p.handle))
	if annotations > 0 {
		if p.links, ok = p.doc.linkReader(p.index, annotations); !ok {
			return false
		}
	}
	p.linksPassed = annotations
	return true
}

func (p *Page) readLinkAnnotations() []Link {
	in := p.in
	position, handle := in.scratch, in.scratch+4
	clear(in.memoryView(position, 8))
	var out []Link
	for len(out) < maxLinks && in.callBool(fnLinkEnumerate, p.handle, position, handle) {
		p.linksPassed++
		link := uint64(in.readUint32(4))
		next := in.readUint32(0) // the calls below use the scratch area as well
		l := Link{}
		if link != 0 && in.callBool(fnLinkAnnotRect, link, in.scratch+16) {
			var b [8]float64
			in.readFloats(b[:])
			l.Bounds = Rect{Left: b[4], Top: b[5], Right: b[6], Bottom: b[7]}
			l.URI, l.Page = p.linkTarget(link)
			if l.Bounds.IsFinite() && (l.URI != "" || l.Page > 0) {
				out = append(out, l)
			}
		}
		in.writeUint32(0, next)
	}
	return out
}

// linkTarget returns where a link leads. PDFium takes a page of another file for the page of this one that has its
// number or its name.
func (p *Page) linkTarget(link uint64) (uri string, page int) {
	const goToRemote, toURI, goToEmbedded = 2, 3, 5
	in := p.in
	action, kind := in.callFunction(fnLinkAction, link)&math.MaxUint32, 0
	if action != 0 {
		kind = in.callInt(fnActionType, action)
	}
	if kind == goToRemote || kind == goToEmbedded {
		return "", 0
	}
	if dest := p.doc.lookUpTarget(func() uint64 { return in.callFunction(fnLinkDest, p.doc.handle, link) }); dest != 0 {
		return "", max(0, in.callInt(fnDestPageIndex, p.doc.handle, dest)+1)
	}
	if kind == toURI {
		b, size := in.stringBuffer()
		uri = in.readByteString(in.callFunction(fnActionURI, p.doc.handle, action, b, size) & math.MaxUint32)
	}
	return uri, 0
}

// Element is an element of the structure tree that has something on the page.
type Element struct {
	Role, Language string
	Depth          int // from 1
	// Marks are the identifiers of its marked content on the page, its own only.
	Marks []int
}

// ReadElements returns the page's part of the structure tree in its order, cut at most elements and depth.
func (p *Page) ReadElements(most, depth int) []Element {
	in := p.in
	if p.origin != nil {
		p = p.origin // a copy has none of its own
	}
	tree := in.callFunction(fnStructTreeForPage, p.handle) & math.MaxUint32
	if tree == 0 {
		return nil
	}
	defer in.callFunction(fnStructTreeClose, tree)
	w := elementWalk{in: in, most: most, depth: depth}
	for i := range min(in.callInt(fnStructTreeCount, tree), most) {
		w.visitElement(in.callFunction(fnStructTreeChild, tree, uint64(i))&math.MaxUint32, 1)
	}
	return w.out
}

type elementWalk struct {
	in          *Instance
	most, depth int
	visits      int
	out         []Element
}

func (w *elementWalk) visitElement(e uint64, depth int) {
	const maxMarks = 10_000
	if w.visits++; e == 0 || depth > w.depth || w.visits > 4*w.most || len(w.out) >= w.most {
		return
	}
	in := w.in
	b, size := in.stringBuffer()
	out := Element{Role: in.readWideString(in.callFunction(fnStructType, e, b, size) & math.MaxUint32), Depth: depth}
	out.Language = in.readWideString(in.callFunction(fnStructLang, e, b, size) & math.MaxUint32)
	for i := range min(in.callInt(fnStructMarkCount, e), maxMarks) {
		if id := in.callInt(fnStructMark, e, uint64(i)); id >= 0 {
			out.Marks = append(out.Marks, id)
		}
	}
	w.out = append(w.out, out)
	for i := range min(in.callInt(fnStructCount, e), w.most) {
		w.visitElement(in.callFunction(fnStructChild, e, uint64(i))&math.MaxUint32, depth+1)
	}
}
