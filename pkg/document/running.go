package document

import (
	"math"
	"slices"

	"inkstream.dev/pkg/layout"
)

// place is where a running line may stand: at an edge, at a height in points.
type place struct {
	top bool
	y   int
}

// runningKey is a text at an edge.
type runningKey struct {
	top bool
	key uint64
}

// sameHeight is how far apart, in points, a running line may stand on different pages.
const sameHeight = 6

// runningLines finds running heads, feet and page numbers: lines at the edge of the page that come again on other pages at the same height, but
// for the numbers in them; and numbers there that count with the pages. Only what has nothing but such lines between itself and the edge counts.
func (p *Plan) runningLines(pages []*Evidence) {
	heights := map[runningKey][]float32{}
	offsets := map[place]map[int]int{}
	for _, e := range pages {
		for _, l := range e.Edges {
			k := runningKey{l.Top, l.Key}
			heights[k] = append(heights[k], fromEdge(e, l))
			if l.Bare && l.Value > 0 {
				at := placeOf(e, l)
				if offsets[at] == nil {
					offsets[at] = map[int]int{}
				}
				offsets[at][l.Value-e.Number]++
			}
		}
	}
	for _, h := range heights {
		slices.Sort(h)
	}
	usual := usualPlaces(pages, heights)
	for _, e := range pages {
		plan := p.pages[e.Number]
		for _, top := range []bool{true, false} {
			lines := edge(e, top)
			for i, l := range lines {
				number := l.Bare && counts(offsets, placeOf(e, l), l.Value-e.Number, len(pages))
				if !number && !repeats(heights[runningKey{top, l.Key}], fromEdge(e, l), len(pages)) && !(i == 0 && usual[placeOf(e, l)] && l.Words <= 12) {
					break
				}
				plan.take(e, l, number)
			}
		}
	}
	for _, e := range pages {
		p.pages[e.Number].gather(e)
	}
}

// edge returns the lines at one edge of a page, the outermost first.
func edge(e *Evidence, top bool) []EdgeLine {
	var out []EdgeLine
	for _, l := range e.Edges {
		if l.Top == top {
			out = append(out, l)
		}
	}
	if !top {
		slices.Reverse(out)
	}
	return out
}

// fromEdge returns how far a line is from its edge of the page.
func fromEdge(e *Evidence, l EdgeLine) float32 {
	if l.Top {
		return l.Y
	}
	return e.Height - l.Y
}

func placeOf(e *Evidence, l EdgeLine) place {
	return place{l.Top, int(math.Round(float64(fromEdge(e, l)) / sameHeight))}
}

// repeats reports whether a text stands often enough at about the same height: on three pages, or on all of two.
func repeats(heights []float32, at float32, pages int) bool {
	n := 0
	for _, h := range heights {
		if h > at+sameHeight {
			break
		}
		if h >= at-sameHeight {
			n++
		}
	}
	return n >= 3 || n == 2 && pages <= 4
}

// counts reports whether numbers at a place count with the pages: most of them are the page's number plus the same.
func counts(offsets map[place]map[int]int, at place, offset, pages int) bool {
	same := 0
	for d := -1; d <= 1; d++ {
		same += offsets[place{at.top, at.y + d}][offset]
	}
	return same >= 3 || same >= 2 && pages <= 6 || pages == 1
}

// usualPlaces returns the places where most pages have a running line: another text there, such as the name of a short chapter, is one too.
func usualPlaces(pages []*Evidence, heights map[runningKey][]float32) map[place]bool {
	count := map[place]int{}
	for _, e := range pages {
		seen := map[place]bool{}
		for _, l := range e.Edges {
			if at := placeOf(e, l); !seen[at] && repeats(heights[runningKey{l.Top, l.Key}], fromEdge(e, l), len(pages)) {
				seen[at] = true
				count[at]++
			}
		}
	}
	out := map[place]bool{}
	for at, n := range count {
		if n >= 3 && 2*n >= len(pages) {
			out[at] = true
		}
	}
	return out
}

// take decides that a line is a running head or foot, or a page number.
func (p *pagePlan) take(e *Evidence, l EdgeLine, number bool) {
	kind := layout.Footer
	switch {
	case number:
		kind = layout.PageNumber
	case l.Top:
		kind = layout.Header
	}
	if l.Block < len(e.Blocks) {
		p.lines = append(p.lines, linePlan{l.Block, l.Line, typeIndex(kind)})
	}
}

// gather decides about whole blocks whose lines are all taken.
func (p *pagePlan) gather(e *Evidence) {
	taken := map[int]int{}
	kinds := map[int]byte{}
	for _, l := range p.lines {
		taken[l.block]++
		if kinds[l.block] == 0 || types[l.kind] != layout.PageNumber {
			kinds[l.block] = l.kind
		}
	}
	p.lines = slices.DeleteFunc(p.lines, func(l linePlan) bool {
		if taken[l.block] < e.Blocks[l.block].Lines {
			return false
		}
		p.blocks[l.block] = blockPlan{kind: kinds[l.block]}
		return true
	})
}
