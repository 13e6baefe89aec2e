package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// ruling is a straight line that runs across the page (at is its y) or down it (at is its x).
type ruling struct{ at, from, to float64 }

// rulingSet are the lines drawn on a page, each put together of its pieces.
type rulingSet struct {
	across rulingsAcross
	down   []ruling // from left to right
}

const (
	// maxRulingOffset is how far apart, in points, two pieces of one line may lie: the edges of neighbouring cells are
	// drawn twice.
	maxRulingOffset = 1.6
	// maxEdgeOffset is how far apart lines may lie that stand for one edge of a table.
	maxEdgeOffset = 3.2
	// maxRulings bounds the lines that are looked at. A page with more is a drawing, or graph paper.
	maxRulings = 1500
)

// collectRulings returns the lines of a page as they lie when text of that angle stands upright.
func collectRulings(rulings []*inkstreamv1.Ruling, t rotation) rulingSet {
	var out rulingSet
	if len(rulings) > 20*maxRulings {
		return out
	}
	for _, r := range rulings {
		if !isValidBox(r.GetBbox()) {
			continue
		}
		box := t.rotateRect(rectFromBox(r.GetBbox()))
		if box.width() >= box.height() {
			out.across = append(out.across, ruling{box.centerY(), box.x0, box.x1})
		} else {
			out.down = append(out.down, ruling{(box.x0 + box.x1) / 2, box.y0, box.y1})
		}
	}
	out.across, out.down = mergeRulings(out.across), mergeRulings(out.down)
	if len(out.across) > maxRulings || len(out.down) > maxRulings {
		return rulingSet{}
	}
	return out
}

// mergeRulings puts the pieces of lines together.
func mergeRulings(pieces []ruling) []ruling {
	if len(pieces) < 2 {
		return pieces
	}
	slices.SortFunc(pieces, func(a, b ruling) int { return cmp.Compare(a.at, b.at) })
	out := make([]ruling, 0, len(pieces))
	for i := 0; i < len(pieces); {
		end := i + 1
		for end < len(pieces) && pieces[end].at-pieces[end-1].at <= maxRulingOffset &&
			pieces[end].at-pieces[i].at <= 2*maxRulingOffset {
			end++
		}
		line := pieces[i:end]
		slices.SortFunc(line, func(a, b ruling) int { return cmp.Compare(a.from, b.from) })
		cur := line[0]
		for _, r := range line[1:] {
			if r.from > cur.to+maxEdgeOffset {
				out = append(out, cur)
				cur = r
				continue
			}
			cur.to = max(cur.to, r.to)
		}
		out = append(out, cur)
		i = end
	}
	return out
}

// groupMeshes groups lines that cross or touch one another, each group with lines in both directions.
func (r rulingSet) groupMeshes() []rulingSet {
	n := len(r.across)
	parent := make([]int, n+len(r.down))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for j, d := range r.down {
		// The lines across are sorted by place, near enough: mergeRulings keeps them so within maxRulingOffset.
		first, _ := slices.BinarySearchFunc(r.across, d.from-2*maxEdgeOffset,
			func(a ruling, y float64) int { return cmp.Compare(a.at, y) })
		for i := first; i < n && r.across[i].at <= d.to+2*maxEdgeOffset; i++ {
			a := r.across[i]
			if d.at >= a.from-maxEdgeOffset && d.at <= a.to+maxEdgeOffset && a.at >= d.from-maxEdgeOffset &&
				a.at <= d.to+maxEdgeOffset {
				parent[find(n+j)] = find(i)
			}
		}
	}
	groups := map[int]*rulingSet{}
	var order []int
	group := func(root int) *rulingSet {
		if groups[root] == nil {
			groups[root] = &rulingSet{}
			order = append(order, root)
		}
		return groups[root]
	}
	for i, a := range r.across {
		g := group(find(i))
		g.across = append(g.across, a)
	}
	for j, d := range r.down {
		g := group(find(n + j))
		g.down = append(g.down, d)
	}
	var out []rulingSet
	for _, root := range order {
		if g := groups[root]; len(g.across) >= 2 && len(g.down) >= 1 {
			out = append(out, *g)
		}
	}
	return out
}

// mergeEdges returns the places of lines, those that stand for one edge taken together.
func mergeEdges(lines []ruling) []float64 {
	at := make([]float64, len(lines))
	for i, l := range lines {
		at[i] = l.at
	}
	slices.Sort(at)
	var out []float64
	for i := 0; i < len(at); {
		end, sum := i+1, at[i]
		for end < len(at) && at[end]-at[i] <= maxEdgeOffset {
			sum += at[end]
			end++
		}
		out = append(out, sum/float64(end-i))
		i = end
	}
	return out
}

// coversStretch reports whether the lines near a place cover most of a stretch.
func coversStretch(lines []ruling, at, from, to float64) bool {
	first, _ := slices.BinarySearchFunc(lines, at-maxEdgeOffset-maxRulingOffset,
		func(l ruling, v float64) int { return cmp.Compare(l.at, v) })
	covered := 0.0
	for _, l := range lines[max(0, first-4):] {
		if l.at > at+maxEdgeOffset+2*maxRulingOffset {
			break
		}
		if l.at >= at-maxEdgeOffset && l.at <= at+maxEdgeOffset {
			covered = max(covered, min(l.to, to)-max(l.from, from))
		}
	}
	return covered >= 0.6*(to-from)
}

// rulingsAcross are the lines drawn across a page, from top to bottom.
type rulingsAcross []ruling

// hasBetween reports whether a line runs between two rows, along most of their width.
func (l rulingsAcross) hasBetween(y0, y1, x0, x1 float64) bool {
	for _, r := range l[l.indexAt(y0-1.5):] {
		if r.at > y1+1.5 {
			return false
		}
		if min(r.to, x1)-max(r.from, x0) >= 0.6*(x1-x0) {
			return true
		}
	}
	return false
}

// encloseTable reports whether lines are drawn around an area as typographers draw them around a table: three of one
// length, above its head, below that and below its last row. The head is the beginning of the area where it stands
// below the area's first line (1), and not part of it where it stands above that (-1).
func (l rulingsAcross) encloseTable(area rect, head int, em float64) bool {
	const slack, near, highest = 0.3, 1.5, 6.0 // ems: of the lines' ends, from rows to lines, of the head
	off := slack * em
	hasLike := func(line ruling, top, bottom float64) bool {
		return slices.ContainsFunc(l[l.indexAt(top):], func(r ruling) bool {
			return r.at < bottom && math.Abs(r.from-line.from) < off && math.Abs(r.to-line.to) < off
		})
	}
	for _, line := range l[l.indexAt(area.y0-near*em):] {
		if line.at > area.y0+off {
			break
		}
		top, bottom := line.at+off, min(line.at+highest*em, area.y1)
		if head < 0 {
			top, bottom = line.at-highest*em, line.at-off
		}
		if line.from < area.x0+off && line.to > area.x1-off && hasLike(line, top, bottom) &&
			hasLike(line, area.y1-off, area.y1+near*em) {
			return true
		}
	}
	return false
}

// longestBetween returns the longest line between two heights; one of no length if there is none.
func (l rulingsAcross) longestBetween(top, bottom float64) (longest ruling) {
	for _, r := range l[l.indexAt(top):] {
		if r.at > bottom {
			break
		}
		if r.to-r.from > longest.to-longest.from {
			longest = r
		}
	}
	return longest
}

// extentBetween returns from where to where lines run between two heights, together; nothing if there is none.
func (l rulingsAcross) extentBetween(top, bottom float64) (extent span) {
	for i, r := range l[l.indexAt(top):] {
		if r.at > bottom {
			break
		}
		if i == 0 {
			extent = span{r.from, r.to}
		}
		extent = span{min(extent.from, r.from), max(extent.to, r.to)}
	}
	return extent
}

// indexAt returns the place of the first line that is no higher than y.
func (l rulingsAcross) indexAt(y float64) int {
	i, _ := slices.BinarySearchFunc(l, y, func(r ruling, y float64) int { return cmp.Compare(r.at, y) })
	return i
}

// enclose reports whether lines run above and below an area.
func (l rulingsAcross) enclose(area rect, em float64) bool {
	return l.hasBetween(area.y0-1.5*em, area.y0+0.5*em, area.x0, area.x1) &&
		l.hasBetween(area.y1-0.5*em, area.y1+1.5*em, area.x0, area.x1)
}

// countWithin counts the lines that are drawn across most of an area.
func (l rulingsAcross) countWithin(area rect, em float64) float64 {
	n := 0.0
	for _, r := range l {
		if r.at > area.y0-em && r.at < area.y1+em && min(r.to, area.x1)-max(r.from, area.x0) >= 0.6*area.width() {
			n++
		}
	}
	return n
}

// breakAt reports whether the lines of an area end left of a gap and begin again right of it, at several heights, and
// none runs on.
func (l rulingsAcross) breakAt(area rect, gap span, em float64) bool {
	const fewest = 2
	var ends, begins []float64
	for _, r := range l {
		if r.at < area.y0-em || r.at > area.y1+em || r.to < area.x0 || r.from > area.x1 {
			continue
		}
		switch middle := (gap.from + gap.to) / 2; {
		case r.from < gap.from && r.to > gap.to:
			return false
		case r.to < middle || r.to < gap.to && r.from < gap.from:
			ends = append(ends, r.at)
		default:
			begins = append(begins, r.at)
		}
	}
	pairs := 0
	for _, y := range ends {
		if slices.ContainsFunc(begins, func(other float64) bool { return math.Abs(other-y) < 1 }) {
			pairs++
		}
	}
	return pairs >= fewest
}
