package pdfium

import (
	"math"
)

// Rect is a rectangle in the page's user space: x to the right, y up, unrotated.
type Rect struct{ Left, Bottom, Right, Top float64 }

// Empty reports whether the rectangle has no area or is no rectangle at all.
func (r Rect) Empty() bool { return !(r.Right > r.Left && r.Top > r.Bottom) }

// Finite reports whether every edge is a finite number of sensible size.
func (r Rect) Finite() bool {
	return finite(r.Left) && finite(r.Bottom) && finite(r.Right) && finite(r.Top)
}

// finite refuses NaN, infinities and what is out of any page's range.
func finite(v float64) bool { return math.Abs(v) < 1e7 }

// Matrix is an affine map: x' = A·x + C·y + E, y' = B·x + D·y + F.
type Matrix struct{ A, B, C, D, E, F float64 }

// Identity is the matrix that changes nothing.
var Identity = Matrix{A: 1, D: 1}

// Finite reports whether every coefficient is a finite number of sensible size.
func (m Matrix) Finite() bool {
	return finite(m.A) && finite(m.B) && finite(m.C) && finite(m.D) && finite(m.E) && finite(m.F)
}

// Then returns the map that applies m first and n after.
func (m Matrix) Then(n Matrix) Matrix {
	return Matrix{
		A: m.A*n.A + m.B*n.C, B: m.A*n.B + m.B*n.D,
		C: m.C*n.A + m.D*n.C, D: m.C*n.B + m.D*n.D,
		E: m.E*n.A + m.F*n.C + n.E, F: m.E*n.B + m.F*n.D + n.F,
	}
}

// Apply maps a point.
func (m Matrix) Apply(x, y float64) (float64, float64) {
	return m.A*x + m.C*y + m.E, m.B*x + m.D*y + m.F
}

// Bounds returns the upright rectangle around the image of r.
func (m Matrix) Bounds(r Rect) Rect {
	if m == Identity {
		return r
	}
	out := Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range [4][2]float64{{r.Left, r.Bottom}, {r.Right, r.Bottom}, {r.Left, r.Top}, {r.Right, r.Top}} {
		x, y := m.Apply(p[0], p[1])
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
	// Unit is how many points a unit of user space measures: 1 unless SetUnit said otherwise.
	Unit float64

	// apart is the document that a copy of the page is alone in, and origin the page that it was made of; 0 and nil for what is no copy.
	apart  uint64
	origin *Page

	links       []Link
	linksRead   bool
	linksPassed int // link annotations that were looked at for links
}

// LoadPage loads page index (from 0) and parses its content. It reports false if the page cannot be loaded.
func (d *Document) LoadPage(index int) (*Page, bool) {
	p := &Page{in: d.in, doc: d, index: index, Unit: 1}
	return p, p.load(d.handle, index)
}

// load loads page index of a document, and reports whether it could.
func (p *Page) load(document uint64, index int) bool {
	if p.handle = p.in.call(fnLoadPage, document, uint64(index)) & math.MaxUint32; p.handle == 0 {
		return false
	}
	p.Turns = p.in.callInt(fnPageRotation, p.handle) & 3
	if p.in.callBool(fnPageBoundingBox, p.handle, p.in.scratch) {
		var b [4]float64 // FS_RECTF: left, top, right, bottom
		p.in.float32s(b[:])
		p.Box = Rect{Left: b[0], Top: b[1], Right: b[2], Bottom: b[3]}
	}
	p.Width, p.Height = p.Box.Right-p.Box.Left, p.Box.Top-p.Box.Bottom
	if p.Turns&1 == 1 {
		p.Width, p.Height = p.Height, p.Width
	}
	return true
}

// SetUnit makes known how many points a unit of user space measures, which PDFium does not apply. It must come before anything is read of the
// page. A unit that makes a page larger or smaller than any that can be meant is not believed.
func (p *Page) SetUnit(points float64) {
	if width, height := points*p.Width, points*p.Height; p.Unit == 1 && Plausible(width, height) {
		p.Unit, p.Width, p.Height = points, width, height
	}
}

// Plausible reports whether a page may be of a size in points: from a point to 350 metres.
func Plausible(width, height float64) bool {
	const least, most = 1, 1e6
	return math.Min(width, height) >= least && math.Max(width, height) <= most
}

// Sound reports whether the page's size is usable.
func (p *Page) Sound() bool {
	return p.Box.Finite() && p.Width > 0.01 && p.Height > 0.01
}

// Close unloads the page.
func (p *Page) Close() {
	if p.handle != 0 {
		p.in.call(fnClosePage, p.handle)
		p.handle = 0
	}
	if p.apart != 0 {
		p.in.call(fnCloseDocument, p.apart)
		p.apart = 0
		p.origin.Close()
	}
}

// Display maps a point of user space to points from the top left of the page as displayed, y down.
func (p *Page) Display(x, y float64) (float64, float64) {
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

// Annotated reports whether annotations are drawn over the page.
func (p *Page) Annotated() bool { return p.in.callInt(fnAnnotCount, p.handle) > 0 }

// Flatten draws the page's form fields, stamps, free text and the pictures of its films and models into its content, so that they are read like
// the rest of the page, and loads it again. It does nothing for pages without such annotations. bare says of page index, from 0, that its resources
// are those of a node above it. Only the document in memory changes; the page's links, which go with the annotations there, are kept.
func (p *Page) Flatten(bare func(index int) bool) (*Page, bool) {
	const flattenForDisplay, flattened = 0, 1
	if !p.hasShownAnnotations() {
		return p, true
	}
	q := p
	if bare(p.index) {
		q = p.copied()
	}
	q.keepBox()
	if q.in.callInt(fnPageFlatten, q.handle, flattenForDisplay) != flattened {
		return q, true
	}
	q.in.call(fnClosePage, q.handle)
	q.links, q.linksRead = p.links, true
	if q.apart != 0 {
		if q.load(q.apart, 0) {
			return q, true
		}
	} else if q.load(q.doc.handle, q.index) {
		return q, true
	}
	q.Close()
	return nil, false
}

// copied returns a copy of the page that has everything of its own, in a document to itself; where PDFium makes none the page itself. PDFium flattens
// a page without resources of its own as if it had none at all, and then its pictures and fonts are gone.
func (p *Page) copied() *Page {
	in := p.in
	q := &Page{in: in, doc: p.doc, index: p.index, Unit: p.Unit, origin: p, apart: in.call(fnNewDocument) & math.MaxUint32}
	if q.apart == 0 {
		return p
	}
	in.setUint32(0, uint32(p.index)) //nolint:gosec // PDFium's own numbers are as large
	if !in.callBool(fnImportPages, q.apart, p.doc.handle, in.scratch, 1, 0) || !q.load(q.apart, 0) {
		in.call(fnCloseDocument, q.apart)
		return p
	}
	return q
}

// keepBox puts what is displayed of the page down as its own boxes. Flattening makes one of those two that the page has itself the other as well, of
// one that has none a letter, and draws nothing beyond the third.
func (p *Page) keepBox() {
	edge := func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
	for _, set := range []function{fnPageSetMediaBox, fnPageSetCropBox, fnPageSetArtBox} {
		p.in.call(set, p.handle, edge(p.Box.Left), edge(p.Box.Bottom), edge(p.Box.Right), edge(p.Box.Top))
	}
}

// hasShownAnnotations looks for annotations whose look is part of the page's text and pictures. Pages with many annotations and no form have links, mostly
// nothing else.
func (p *Page) hasShownAnnotations() bool {
	const freeText, stamp, movie, widget, screen, watermark, model, richMedia = 3, 13, 19, 20, 21, 24, 25, 26
	n, most := p.in.callInt(fnAnnotCount, p.handle), 24
	if n <= 0 {
		return false
	}
	if p.Links(); p.linksPassed >= n {
		return false
	}
	if p.doc.FormType() != 0 {
		most = 500
	}
	for i := range min(n, most) {
		a := p.in.call(fnGetAnnot, p.handle, uint64(i)) & math.MaxUint32
		if a == 0 {
			continue
		}
		subtype := p.in.callInt(fnAnnotSubtype, a)
		p.in.call(fnCloseAnnot, a)
		switch subtype {
		case freeText, stamp, movie, widget, screen, watermark, model, richMedia:
			return true
		}
	}
	return false
}
