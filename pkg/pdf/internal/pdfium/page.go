package pdfium

import (
	"math"
)

// Rect is a rectangle in the page's user space: x to the right, y up, unrotated.
type Rect struct{ Left, Bottom, Right, Top float64 }

// IsEmpty reports whether the rectangle has no area or is no rectangle at all.
func (r Rect) IsEmpty() bool { return !(r.Right > r.Left && r.Top > r.Bottom) }

// IsFinite reports whether every edge is a finite number of sensible size.
func (r Rect) IsFinite() bool {
	return isFinite(r.Left) && isFinite(r.Bottom) && isFinite(r.Right) && isFinite(r.Top)
}

// isFinite refuses NaN, infinities and what is out of any page's range.
func isFinite(v float64) bool { return math.Abs(v) < 1e7 }

// Matrix is an affine map: x' = A·x + C·y + E, y' = B·x + D·y + F.
type Matrix struct{ A, B, C, D, E, F float64 }

// Identity is the matrix that changes nothing.
var Identity = Matrix{A: 1, D: 1}

// IsFinite reports whether every coefficient is a finite number of sensible size.
func (m Matrix) IsFinite() bool {
	return isFinite(m.A) && isFinite(m.B) && isFinite(m.C) && isFinite(m.D) && isFinite(m.E) && isFinite(m.F)
}

// Concatenate returns the map that applies m first and n after.
func (m Matrix) Concatenate(n Matrix) Matrix {
	return Matrix{
		A: m.A*n.A + m.B*n.C, B: m.A*n.B + m.B*n.D,
		C: m.C*n.A + m.D*n.C, D: m.C*n.B + m.D*n.D,
		E: m.E*n.A + m.F*n.C + n.E, F: m.E*n.B + m.F*n.D + n.F,
	}
}

// MapPoint maps a point.
func (m Matrix) MapPoint(x, y float64) (float64, float64) {
	return m.A*x + m.C*y + m.E, m.B*x + m.D*y + m.F
}

// MapRect returns the upright rectangle around the image of r.
func (m Matrix) MapRect(r Rect) Rect {
	if m == Identity {
		return r
	}
	out := Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range [4][2]float64{{r.Left, r.Bottom}, {r.Right, r.Bottom}, {r.Left, r.Top}, {r.Right, r.Top}} {
		x, y := m.MapPoint(p[0], p[1])
		out.Left, out.Right = math.Min(out.Left, x), math.Max(out.Right, x)
		out.Bottom, out.Top = math.Min(out.Bottom, y), math.Max(out.Top, y)
	}
	return out
}

// Page is a loaded page.
type Page struct {
	in     *Instance
	doc    *Document
	handle uint64
	index  int // from 0
	// Box is what is displayed of user space: the crop box within the media box.
	Box Rect
	// Turns is how many quarter turns clockwise the page is displayed.
	Turns int
	// Width and Height are the size as displayed, in points.
	Width, Height float64
	// Unit is how many points a unit of user space measures: 1 unless SetUserUnit said otherwise.
	Unit float64

	// copyHandle is the document that a copy of the page is alone in, and origin the page that it was made of; 0 and nil
	// for what is no copy.
	copyHandle uint64
	origin     *Page

	links       []Link
	linksRead   bool
	linksPassed int // link annotations that were looked at for links
}

// LoadPage loads page index (from 0) and parses its content. It reports false if the page cannot be loaded.
func (d *Document) LoadPage(index int) (*Page, bool) {
	p := &Page{in: d.in, doc: d, index: index, Unit: 1}
	return p, p.loadFrom(d.handle, index)
}

// loadFrom loads page index of a document, and reports whether it could.
func (p *Page) loadFrom(document uint64, index int) bool {
	if p.handle = p.in.callFunction(fnLoadPage, document, uint64(index)) & math.MaxUint32; p.handle == 0 {
		return false
	}
	p.Turns = p.in.callInt(fnPageRotation, p.handle) & 3
	if p.in.callBool(fnPageBoundingBox, p.handle, p.in.scratch) {
		var b [4]float64 // FS_RECTF: left, top, right, bottom
		p.in.readFloats(b[:])
		p.Box = Rect{Left: b[0], Top: b[1], Right: b[2], Bottom: b[3]}
	}
	p.Width, p.Height = p.Box.Right-p.Box.Left, p.Box.Top-p.Box.Bottom
	if p.Turns&1 == 1 {
		p.Width, p.Height = p.Height, p.Width
	}
	return true
}

// SetUserUnit makes known how many points a unit of user space measures, which PDFium does not apply. It must come
// before anything is read of the page. A unit that makes a page larger or smaller than any that can be meant is not
// believed.
func (p *Page) SetUserUnit(points float64) {
	if width, height := points*p.Width, points*p.Height; p.Unit == 1 && IsPlausibleSize(width, height) {
		p.Unit, p.Width, p.Height = points, width, height
	}
}

// IsPlausibleSize reports whether a page may be of a size in points: from a point to 350 metres.
func IsPlausibleSize(width, height float64) bool {
	const least, most = 1, 1e6
	return math.Min(width, height) >= least && math.Max(width, height) <= most
}

// HasUsableSize reports whether the page's size is usable.
func (p *Page) HasUsableSize() bool {
	return p.Box.IsFinite() && p.Width > 0.01 && p.Height > 0.01
}

// Close unloads the page.
func (p *Page) Close() {
	if p.handle != 0 {
		p.in.callFunction(fnClosePage, p.handle)
		p.handle = 0
	}
	if p.copyHandle != 0 {
		p.in.callFunction(fnCloseDocument, p.copyHandle)
		p.copyHandle = 0
		p.origin.Close()
	}
}

// UserToDisplay maps a point of user space to points from the top left of the page as displayed, y down.
func (p *Page) UserToDisplay(x, y float64) (float64, float64) {
	switch p.Turns {
	case 1:
		return p.Unit * (y - p.Box.Bottom), p.Unit * (x - p.Box.Left)
	case 2:
		return p.Unit * (p.Box.Right - x), p.Unit * (y - p.Box.Bottom)
	case 3:
		return p.Unit * (p.Box.Top - y), p.Unit * (p.Box.Right - x)
	default:
		return p.Unit * (x - p.Box.Left), p.Unit * (p.Box.Top - y)
	}
}

// HasAnnotations reports whether annotations are drawn over the page.
func (p *Page) HasAnnotations() bool { return p.in.callInt(fnAnnotCount, p.handle) > 0 }

// FlattenAnnotations draws the page's form fields, stamps, free text and the pictures of its films and models into
// its content, so that they are read like the rest of the page, and loads it again. It does nothing for pages without
// such annotations. bare says of page index, from 0, that its resources are those of a node above it. Only the
// document in memory changes; the page's links, which go with the annotations there, are kept.
func (p *Page) FlattenAnnotations(bare func(index int) bool) (*Page, bool) {
	const flattenForDisplay, flattened = 0, 1
	if !p.hasShownAnnotations() {
		return p, true
	}
	q := p
	if bare(p.index) {
		q = p.copyToOwnDocument()
	}
	q.setPageBoxes()
	if q.in.callInt(fnPageFlatten, q.handle, flattenForDisplay) != flattened {
		return q, true
	}
	q.in.callFunction(fnClosePage, q.handle)
	q.links, q.linksRead = p.links, true
	if q.copyHandle != 0 {
		if q.loadFrom(q.copyHandle, 0) {
			return q, true
		}
	} else if q.loadFrom(q.doc.handle, q.index) {
		return q, true
	}
	q.Close()
	return nil, false
}

// copyToOwnDocument returns a copy of the page that has everything of its own, in a document to itself; where PDFium
// makes none the page itself. PDFium flattens a page without resources of its own as if it had none at all, and then
// its pictures and fonts are gone.
func (p *Page) copyToOwnDocument() *Page {
	in := p.in
	q := &Page{in: in, doc: p.doc, index: p.index, Unit: p.Unit, origin: p,
		copyHandle: in.callFunction(fnNewDocument) & math.MaxUint32}
	if q.copyHandle == 0 {
		return p
	}
	in.writeUint32(0, uint32(p.index)) //nolint:gosec // PDFium's own numbers are as large
	if !in.callBool(fnImportPages, q.copyHandle, p.doc.handle, in.scratch, 1, 0) || !q.loadFrom(q.copyHandle, 0) {
		in.callFunction(fnCloseDocument, q.copyHandle)
		return p
	}
	return q
}

// setPageBoxes puts what is displayed of the page down as its own boxes. Flattening makes one of those two that the
// page has itself the other as well, of one that has none a letter, and draws nothing beyond the third.
func (p *Page) setPageBoxes() {
	edge := func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
	for _, set := range []function{fnPageSetMediaBox, fnPageSetCropBox, fnPageSetArtBox} {
		p.in.callFunction(set, p.handle, edge(p.Box.Left), edge(p.Box.Bottom), edge(p.Box.Right), edge(p.Box.Top))
	}
}

// hasShownAnnotations looks for annotations whose look is part of the page's text and pictures. Pages with many
// annotations and no form have links, mostly nothing else.
func (p *Page) hasShownAnnotations() bool {
	const freeText, stamp, movie, widget, screen, watermark, model, richMedia = 3, 13, 19, 20, 21, 24, 25, 26
	n, most := p.in.callInt(fnAnnotCount, p.handle), 24
	if n <= 0 {
		return false
	}
	if p.ReadLinks(); p.linksPassed >= n {
		return false
	}
	if p.doc.FormType() != 0 {
		most = 500
	}
	for i := range min(n, most) {
		a := p.in.callFunction(fnGetAnnot, p.handle, uint64(i)) & math.MaxUint32
		if a == 0 {
			continue
		}
		subtype := p.in.callInt(fnAnnotSubtype, a)
		p.in.callFunction(fnCloseAnnot, a)
		switch subtype {
		case freeText, stamp, movie, widget, screen, watermark, model, richMedia:
			return true
		}
	}
	return false
}
