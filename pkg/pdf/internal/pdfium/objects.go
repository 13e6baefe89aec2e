package pdfium

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Image is an image object of a page.
type Image struct {
	// Bounds is where it is drawn, in user space.
	Bounds Rect
	// Matrix maps the unit square to where it is drawn.
	Matrix Matrix
	// Width and Height are its size in pixels.
	Width, Height int
	// TextsBefore counts the text objects that are painted before it, and may lie under it.
	TextsBefore int

	page   *Page
	handle uint64
}

// Objects is what is drawn on a page besides text.
type Objects struct {
	Images []Image
	// Rulings are thin rectangles and straight lines along the axes, in user space.
	Rulings []Rect
	// Texts, Paths and Shadings count the objects, Segments the path segments of paths that are no rulings.
	Texts, Paths, Shadings, Segments int
	// PathBounds encloses the paths.
	PathBounds Rect
	// TextPlaces is where text objects stand, as far as they were asked for.
	TextPlaces []TextPlace
	// Shapes are paths and shadings that are no rulings, as far as they were asked for.
	Shapes []Shape
	// Discs are paths as small and as high as wide as the bullets of lists that some programs draw.
	Discs []Rect
	// Marked is where marked content stands, by its identifier, if that was asked for. Content within forms has
	// identifiers of its own and is left out.
	Marked map[int]Rect
	// Cut says that the page has more objects than were looked at.
	Cut bool

	// flat are text objects that have no width, points those that have no height either.
	flat, points []uint64
}

// Shape is a path or shading that may be a part of a drawing.
type Shape struct {
	Bounds Rect
	// Strong says that it is no mere rectangle or line along an axis: what only drawings are made of.
	Strong   bool
	Segments int
}

// TextPlace is where a text object stands, and the size of its font, in user space.
type TextPlace struct {
	Rect
	Size float64
}

// ObjectLimits bound the walk over a page's objects. Texts, Shapes and Marked say how many of those are wanted.
type ObjectLimits struct{ Objects, Images, Rulings, Depth, Texts, Shapes, Marked int }

// ReadObjects walks the page's objects, into forms too.
func (p *Page) ReadObjects(limits ObjectLimits) Objects {
	w := objectWalker{in: p.in, page: p, limits: limits, unit: p.Unit, segments: limits.Rulings}
	w.out.PathBounds = Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	n := p.in.callInt(fnCountObjects, p.handle)
	for i := range max(0, n) {
		if !w.visitObject(p.in.callFunction(fnGetObject, p.handle, uint64(i))&math.MaxUint32, Identity, everywhere, 0) {
			break
		}
	}
	w.endDashes()
	return w.out
}

type objectWalker struct {
	in       *Instance
	page     *Page
	limits   ObjectLimits
	unit     float64 // of user space, in points
	seen     int
	segments int // path segments that may still be read
	looked   int // segments that were looked at for drawings
	dashes   dashedLine
	out      Objects

	clips        map[uint32]Rect // by the address of what objects share of them; see clipOf
	clipSegments int             // of the page's clipping paths that were read
}

const (
	objText    = 1
	objPath    = 2
	objImage   = 3
	objShading = 4
	objForm    = 5
)

// visitObject looks at one object, whose coordinates m maps to user space, where it is clipped, and reports whether the
// walk may go on.
func (w *objectWalker) visitObject(object uint64, m Matrix, clip Rect, depth int) bool {
	if w.seen++; w.seen > w.limits.Objects {
		w.out.Cut = true
		return false
	}
	if object == 0 {
		return true
	}
	if w.limits.Marked > 0 && depth == 0 {
		w.addMarkedContent(object)
	}
	switch w.in.callInt(fnObjType, object) {
	case objText:
		w.addText(object, m)
	case objPath:
		w.addPath(object, m, clip)
	case objImage:
		w.addImage(object, m)
	case objShading:
		w.out.Shadings++
		if r, ok := w.objectBounds(object, m); ok {
			w.addShape(r, true, 1)
		}
	case objForm:
		if depth >= w.limits.Depth {
			w.out.Cut = true
			return true
		}
		inner, clip := w.objectMatrix(object).Concatenate(m), clip.intersect(w.clipOf(object, m))
		n := w.in.callInt(fnFormCountObjects, object)
		for i := range max(0, n) {
			if !w.visitObject(w.in.callFunction(fnFormGetObject, object, uint64(i))&math.MaxUint32, inner, clip, depth+1) {
				return false
			}
		}
	}
	return true
}

func (w *objectWalker) objectMatrix(object uint64) Matrix {
	if !w.in.callBool(fnObjMatrix, object, w.in.scratch) {
		return Identity
	}
	var m [6]float64
	w.in.readFloats(m[:])
	return Matrix{m[0], m[1], m[2], m[3], m[4], m[5]}
}

func (w *objectWalker) objectBounds(object uint64, m Matrix) (Rect, bool) {
	s := w.in.scratch
	if !w.in.callBool(fnObjBounds, object, s, s+4, s+8, s+12) {
		return Rect{}, false
	}
	var b [4]float64 // left, bottom, right, top
	w.in.readFloats(b[:])
	r := m.MapRect(Rect{b[0], b[1], b[2], b[3]})
	return r, r.IsFinite()
}

func (w *objectWalker) addText(object uint64, m Matrix) {
	w.out.Texts++
	r, ok := w.objectBounds(object, Identity) // the text page measures forms in their own space too
	switch {
	case !ok:
		return
	case r.Right-r.Left >= minTextExtent:
	case r.Top-r.Bottom >= minTextExtent:
		w.out.flat = append(w.out.flat, object)
	default:
		w.out.points = append(w.out.points, object)
	}
	if len(w.out.TextPlaces) < w.limits.Texts {
		if r = m.MapRect(r); r.IsFinite() && !r.IsEmpty() {
			w.out.TextPlaces = append(w.out.TextPlaces, TextPlace{r, w.textFontSize(object, m)})
		}
	}
}

// minTextExtent is PDFium's: it leaves text objects that are narrower out of the text page.
const minTextExtent = 0.01

// WidenFlatText makes ReadText read text that PDFium would leave out of the text page for want of a width, which is
// how it gets rid of blanks. A width is made of outlines, and glyphs have none where a font is not embedded and the
// one that stands in for it lacks them: Japanese on a machine without Japanese fonts. So columns of vertical writing
// are lost, and characters that are set one by one.
//
// Text that has a height is taken for no blank. What has neither width nor height most often is one. That is looked
// into only where it is half of the page's texts, in fonts that are not embedded: there a few are tried. The objects
// are those of this page since it was loaded.
func (p *Page) WidenFlatText(o Objects) {
	w := textWidener{in: p.in, page: p.handle}
	for _, object := range o.flat {
		w.widen(object)
	}
	if len(o.points) == 0 || 2*len(o.points) < o.Texts {
		return
	}
	points := slices.DeleteFunc(slices.Clone(o.points), func(object uint64) bool {
		font := p.in.callFunction(fnTextObjFont, object) & math.MaxUint32
		return font == 0 || p.in.callBool(fnFontEmbedded, font)
	})
	if 2*len(points) < o.Texts || !w.hasPrintable(points) {
		return
	}
	for _, object := range points {
		w.widen(object)
	}
}

// textWidener gives text objects of a page a width.
type textWidener struct {
	in   *Instance
	page uint64
}

// hasPrintable reports whether some of the text objects are more than blanks once they have a width. It leaves
// them as it found them.
func (w textWidener) hasPrintable(objects []uint64) bool {
	const tries = 16
	step := (len(objects) + tries - 1) / tries
	for i := 0; i < len(objects); i += step {
		w.widen(objects[i])
	}
	found := false
	if page := w.in.callFunction(fnTextLoadPage, w.page) & math.MaxUint32; page != 0 {
		for i := 0; i < len(objects) && !found; i += step {
			buffer, size := w.in.stringBuffer()
			text := w.in.readWideString(w.in.callFunction(fnTextObjText, objects[i], page, buffer, size) & math.MaxUint32)
			found = strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && unicode.IsPrint(r) })
		}
		w.in.callFunction(fnTextClosePage, page)
	}
	for i := 0; i < len(objects); i += step {
		w.remeasure(objects[i])
	}
	return found
}

// widen gives a text object a width, and changes neither where it stands nor how it is painted: what is painted
// with strokes reaches as far as they do, so it is measured as if it were.
func (w textWidener) widen(object uint64) {
	const stroke, lastMode, enough, mostDashes = 1, 7, 0.1, 32
	in := w.in
	if m := (&objectWalker{in: in}).objectMatrix(object); m.A*m.D == m.B*m.C {
		return // squeezed to a line: it is invisible
	}
	mode := in.callInt(fnTextObjRenderMode, object)
	if mode < 0 || mode > lastMode || !in.callBool(fnObjStrokeWidth, object, in.scratch) {
		return
	}
	width := in.readUint32(0)
	thin := !(math.Float32frombits(width) >= enough)
	if thin && in.callInt(fnObjDashCount, object) > mostDashes {
		return // to set a width copies the object's dashes for good, and a file has as many objects and dashes as it likes
	}
	in.callFunction(fnTextObjSetMode, object, stroke)
	if thin {
		in.callFunction(fnObjSetStrokeWidth, object, uint64(math.Float32bits(1)))
	}
	w.remeasure(object)
	if thin {
		in.callFunction(fnObjSetStrokeWidth, object, uint64(width))
	}
	in.callFunction(fnTextObjSetMode, object, uint64(mode))
}

// remeasure makes PDFium compute again where an object lies, as it does when one is moved: here, by nothing.
func (w textWidener) remeasure(object uint64) {
	for i, v := range [...]float32{1, 0, 0, 1, 0, 0} {
		w.in.writeUint32(4*i, math.Float32bits(v))
	}
	w.in.callFunction(fnObjTransform, object, w.in.scratch)
}

// textFontSize returns the size of a text object's font; 0 if that is not known.
func (w *objectWalker) textFontSize(object uint64, m Matrix) float64 {
	if !w.in.callBool(fnTextObjFontSize, object, w.in.scratch) {
		return 0
	}
	var size [1]float64
	w.in.readFloats(size[:])
	upright := w.objectMatrix(object).Concatenate(m)
	if s := math.Abs(size[0]) * math.Hypot(upright.C, upright.D); s < math.MaxFloat32 { // false for NaN as well
		return s
	}
	return 0
}

func (w *objectWalker) addImage(object uint64, m Matrix) {
	if len(w.out.Images) >= w.limits.Images {
		w.out.Cut = true
		return
	}
	r, ok := w.objectBounds(object, m)
	if !ok || r.IsEmpty() {
		return
	}
	img := Image{Bounds: r, Matrix: w.objectMatrix(object).Concatenate(m), TextsBefore: w.out.Texts, page: w.page, handle: object}
	if s := w.in.scratch; w.in.callBool(fnImagePixelSize, object, s, s+4) {
		img.Width, img.Height = int(int32(w.in.readUint32(0))), int(int32(w.in.readUint32(4)))
	}
	w.out.Images = append(w.out.Images, img)
}

// What counts as a disc: between these sides, in points, of about as many segments as a circle has; so many are kept.
const (
	minDiscSide, maxDiscSide         = 1.5, 9
	minDiscSegments, maxDiscSegments = 4, 64
	maxDiscs                         = 500
)

// isDisc reports whether a path of n segments is as small as a bullet, and as high as wide.
func (w *objectWalker) isDisc(r Rect, n int) bool {
	const even = 1.2
	width, height := (r.Right-r.Left)*w.unit, (r.Top-r.Bottom)*w.unit
	return n >= minDiscSegments && n <= maxDiscSegments && min(width, height) >= minDiscSide &&
		max(width, height) <= min(maxDiscSide, even*min(width, height))
}

// What counts as a ruling: at most this thick, at least this long, in points.
const (
	rulingThickness = 3
	rulingLength    = 8
)

func (w *objectWalker) addPath(object uint64, m Matrix, clip Rect) {
	w.out.Paths++
	r, ok := w.objectBounds(object, m)
	if !ok || r.Right < r.Left || r.Top < r.Bottom {
		return
	}
	clip = clip.intersect(w.clipOf(object, m))
	clip = clip.widenedBy(rulingThickness / w.unit) // what lies along its edge stays as it is
	if r = r.intersect(clip); r.Right < r.Left || r.Top < r.Bottom {
		return // nothing of it is seen
	}
	b := &w.out.PathBounds
	b.Left, b.Bottom = math.Min(b.Left, r.Left), math.Min(b.Bottom, r.Bottom)
	b.Right, b.Top = math.Max(b.Right, r.Right), math.Max(b.Top, r.Top)
	if w.isRuling(r) {
		w.addRuling(r)
		return
	}
	if w.addDash(r) {
		return
	}
	n := w.in.callInt(fnPathCountSegments, object)
	w.out.Segments += max(0, n)
	if w.isDisc(r, n) && len(w.out.Discs) < maxDiscs {
		w.out.Discs = append(w.out.Discs, r)
	}
	if len(w.out.Shapes) < w.limits.Shapes {
		w.addShape(r, w.isDrawing(object, n, r), n)
	}
	const mostSegments = 400 // a grid drawn as one path; beyond that it is a drawing
	if n < 2 || n > mostSegments || w.segments < n {
		return
	}
	s := w.in.scratch
	if !w.in.callBool(fnPathDrawMode, object, s, s+4) || w.in.readUint32(4) == 0 {
		return // not stroked: an area, whose edges are no lines
	}
	w.segments -= n
	w.addStraightEdges(object, w.objectMatrix(object).Concatenate(m), clip, n)
}

// addStraightEdges adds the straight segments of a stroked path that run along an axis, as far as they are seen.
func (w *objectWalker) addStraightEdges(object uint64, m Matrix, clip Rect, n int) {
	const lineTo, moveTo = 0, 2
	s := w.in.scratch
	var x, y, startX, startY float64
	for i := range n {
		segment := w.in.callFunction(fnPathGetSegment, object, uint64(i)) & math.MaxUint32
		if segment == 0 || !w.in.callBool(fnSegmentPoint, segment, s, s+4) {
			return
		}
		var p [2]float64
		w.in.readFloats(p[:])
		px, py := m.MapPoint(p[0], p[1])
		kind := w.in.callInt(fnSegmentType, segment)
		if kind == lineTo {
			w.addEdge(Rect{math.Min(x, px), math.Min(y, py), math.Max(x, px), math.Max(y, py)}, clip)
		}
		if kind == moveTo {
			startX, startY = px, py
		}
		x, y = px, py
	}
	if n > 2 { // a rectangle's last edge is the closing one where the path does not draw it
		w.addEdge(Rect{math.Min(x, startX), math.Min(y, startY), math.Max(x, startX), math.Max(y, startY)}, clip)
	}
}

func (w *objectWalker) addEdge(r, clip Rect) {
	if r = r.intersect(clip); r.IsFinite() && r.Right >= r.Left && r.Top >= r.Bottom && w.isRuling(r) {
		w.addRuling(r)
	}
}

func (w *objectWalker) addShape(r Rect, strong bool, segments int) {
	if len(w.out.Shapes) < w.limits.Shapes {
		w.out.Shapes = append(w.out.Shapes, Shape{Bounds: r, Strong: strong, Segments: segments})
	}
}

// isDrawing reports whether a path has a curve or a slanted line in it. Only the first segments are looked at, and no
// more than a budget for the page.
func (w *objectWalker) isDrawing(object uint64, n int, r Rect) bool {
	const slant, budget, most = 1.5, 6000, 48
	if math.Min(r.Right-r.Left, r.Top-r.Bottom) <= slant || w.looked > budget {
		return false
	}
	const lineTo, bezierTo = 0, 1
	s := w.in.scratch
	var x, y float64
	for i := range min(n, most) {
		w.looked++
		segment := w.in.callFunction(fnPathGetSegment, object, uint64(i)) & math.MaxUint32
		if segment == 0 || !w.in.callBool(fnSegmentPoint, segment, s, s+4) {
			return false
		}
		var p [2]float64
		w.in.readFloats(p[:])
		switch w.in.callInt(fnSegmentType, segment) {
		case bezierTo:
			return true
		case lineTo:
			if math.Abs(p[0]-x) > slant && math.Abs(p[1]-y) > slant {
				return true
			}
		}
		x, y = p[0], p[1]
	}
	return false
}

// addMarkedContent adds an object to the place of the marked content that it belongs to.
func (w *objectWalker) addMarkedContent(object uint64) {
	id := w.in.callInt(fnObjMark, object)
	if id < 0 || (len(w.out.Marked) >= w.limits.Marked && w.out.Marked[id] == Rect{}) {
		return
	}
	r, ok := w.objectBounds(object, Identity)
	if !ok || r.Right < r.Left || r.Top < r.Bottom {
		return
	}
	if w.out.Marked == nil {
		w.out.Marked = map[int]Rect{}
	}
	if have, ok := w.out.Marked[id]; ok {
		r = Rect{math.Min(r.Left, have.Left), math.Min(r.Bottom, have.Bottom), math.Max(r.Right, have.Right),
			math.Max(r.Top, have.Top)}
	}
	w.out.Marked[id] = r
}

func (w *objectWalker) isRuling(r Rect) bool {
	width, height := w.unit*(r.Right-r.Left), w.unit*(r.Top-r.Bottom)
	return math.Min(width, height) <= rulingThickness && math.Max(width, height) >= rulingLength
}

func (w *objectWalker) addRuling(r Rect) {
	if len(w.out.Rulings) < w.limits.Rulings {
		w.out.Rulings = append(w.out.Rulings, r)
	}
}
