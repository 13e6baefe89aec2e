package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minFrameHeight and minFrameWidth are, in ems, how large a frame is at least that text is read by itself in: a
	// smaller one is a field beside its label.
	minFrameHeight, minFrameWidth = 2.5, 6.0
	// minFrameLines is how many lines of text stand in it at least.
	minFrameLines = 2
	// maxFrameCells is how many frames may share their sides, maxFrames how many a page may have, and maxFrameDepth
	// how many may stand around one another.
	maxFrameCells, maxFrames, maxFrameDepth = 100, 300, 4
)

// findFrames returns the rectangles that lines are drawn around on all four sides and that are no table's, the largest
// first.
func findFrames(r rulingSet, tables []*table, em float64) []rect {
	var out []rect
	for _, m := range r.groupMeshes() {
		g := newOutline(m)
		if g == nil || len(g.right)*len(g.right[0]) > maxFrameCells {
			continue
		}
		for _, c := range g.buildTable().cells {
			if c.width() < minFrameWidth*em || c.height() < minFrameHeight*em || !m.enclose(c.rect) ||
				slices.ContainsFunc(tables, func(t *table) bool { return overlapShare(c.rect, t.rect) > 0.5 }) {
				continue
			}
			out = append(out, c.rect)
		}
	}
	slices.SortStableFunc(out, func(a, b rect) int { return cmp.Compare(b.width()*b.height(), a.width()*a.height()) })
	return out[:min(len(out), maxFrames)]
}

// newOutline is newLattice for lines that may make a single cell.
func newOutline(m rulingSet) *lattice {
	if g := newLattice(m); g != nil {
		return g
	}
	g := &lattice{xs: mergeEdges(m.down), ys: mergeEdges(m.across)}
	if len(g.xs) != 2 || len(g.ys) != 2 {
		return nil
	}
	g.right, g.below = [][]bool{{true}}, [][]bool{{true}}
	return g
}

// enclose reports whether lines run along all sides of a rectangle.
func (r rulingSet) enclose(c rect) bool {
	return coversStretch(r.across, c.y0, c.x0, c.x1) && coversStretch(r.across, c.y1, c.x0, c.x1) &&
		coversStretch(r.down, c.x0, c.y0, c.y1) && coversStretch(r.down, c.x1, c.y0, c.y1)
}

// overlapShare returns how much of a rectangle another covers.
func overlapShare(r, other rect) float64 {
	width, height := min(r.x1, other.x1)-max(r.x0, other.x0), min(r.y1, other.y1)-max(r.y0, other.y0)
	if width <= 0 || height <= 0 {
		return 0
	}
	return width * height / (r.width() * r.height())
}

// within returns the lines inside a rectangle, without those around it.
func (r rulingSet) within(area rect) rulingSet {
	const side = 2 * maxEdgeOffset
	keep := func(lines []ruling, at0, at1, from, to float64) []ruling {
		var out []ruling
		for _, l := range lines {
			if l.at > at0+side && l.at < at1-side && l.to > from && l.from < to {
				out = append(out, l)
			}
		}
		return out
	}
	return rulingSet{across: keep(r.across, area.y0, area.y1, area.x0, area.x1), down: keep(r.down, area.x0, area.x1, area.y0, area.y1)}
}

// textArea is a page, or what stands in a frame on it: what is arranged by itself.
type textArea struct {
	lines  []inputLine
	tables []*table
	frames []rect // the largest first
	r      rulingSet
	depth  int // of frames around it
}

// takeFrame takes what stands in the frame out of the area, and returns it; false, with the area as it was, if that is
// no text to be read by itself.
func (a *textArea) takeFrame(frame rect, t rotation) (textArea, bool) {
	in := textArea{depth: a.depth + 1}
	if words, all := countWordsWithin(a.lines, frame, t); words < minFrameLines || words == all && len(a.tables) == 0 {
		return in, false
	}
	var rest []inputLine
	for _, line := range a.lines {
		inside, outside := splitLineAt(line, frame, t)
		in.lines, rest = append(in.lines, inside...), append(rest, outside...)
	}
	var tables []*table
	for _, tab := range a.tables {
		if overlapShare(tab.rect, frame) > 0.5 {
			in.tables = append(in.tables, tab)
		} else {
			tables = append(tables, tab)
		}
	}
	if len(rest)+len(tables) == 0 || countLevels(in.lines, t)+len(in.tables) < minFrameLines {
		return in, false
	}
	a.lines, a.tables, in.r = rest, tables, a.r.within(frame)
	return in, true
}

// countWordsWithin returns how many of the words of lines stand in a frame, and how many there are.
func countWordsWithin(lines []inputLine, frame rect, t rotation) (inside, all int) {
	for _, line := range lines {
		all += len(line.words)
		for _, w := range line.words {
			if isWithin(w, frame, t) {
				inside++
			}
		}
	}
	return inside, all
}

// isWithin reports whether the middle of a word stands in a frame.
func isWithin(w *inkstreamv1.Word, frame rect, t rotation) bool {
	x, y := boxCenter(t.rotateRect(rectFromBox(w.GetBbox())))
	return x > frame.x0 && x < frame.x1 && y > frame.y0 && y < frame.y1
}

// splitLineAt parts a line into its words inside a frame and those outside.
func splitLineAt(line inputLine, frame rect, t rotation) (inside, outside []inputLine) {
	start, was := 0, false
	for i := 0; i <= len(line.words); i++ {
		now := i < len(line.words) && isWithin(line.words[i], frame, t)
		if i > 0 && (i == len(line.words) || now != was) {
			part := inputLine{line.words[start:i:i], line.angle}
			if was {
				inside = append(inside, part)
			} else {
				outside = append(outside, part)
			}
			start = i
		}
		was = now
	}
	return inside, outside
}

// countLevels returns how many of the lines stand below the one before.
func countLevels(lines []inputLine, t rotation) int {
	boxes := make([]rect, len(lines))
	for i, line := range lines {
		boxes[i] = t.rotateRect(boundingBox(line.words))
	}
	slices.SortFunc(boxes, func(a, b rect) int { return cmp.Compare(a.centerY(), b.centerY()) })
	n := 0
	for i, b := range boxes {
		if i == 0 || b.centerY()-boxes[i-1].centerY() > 0.4*b.height() {
			n++
		}
	}
	return n
}

// hasFrameBeside reports whether one side has a frame that stands level with something on the other side: what is in a
// frame is read by itself, and is no cell of a row.
func hasFrameBeside(left, right []segment) bool {
	return slices.ContainsFunc(left, func(s segment) bool { return s.isBesideFrame(right) })
}

// isBesideFrame reports whether a segment and one of the others stand level with each other, and one of them is a
// frame.
func (s *segment) isBesideFrame(others []segment) bool {
	return slices.ContainsFunc(others, func(o segment) bool {
		return (s.isFrame() || o.isFrame()) && min(s.y1, o.y1)-max(s.y0, o.y0) > 0.5*min(s.height(), o.height())
	})
}

// isFrame reports whether the segment stands for what is in a frame.
func (s *segment) isFrame() bool { return s.table != nil && s.table.framed != nil }

// segmentsBesideNoFrame returns the segments of one side that are no frames and stand level with none of the other
// side.
func segmentsBesideNoFrame(side, other []segment) []segment {
	return slices.DeleteFunc(slices.Clone(side), func(s segment) bool { return s.isFrame() || s.isBesideFrame(other) })
}
