package layout

import (
	"cmp"
	"math"
	"slices"
)

// bandMerger puts the bands of a region together again that go together.
type bandMerger struct {
	em       float64
	across   rulingsAcross
	pictures pagePictures
}

// mergeBands puts slabs together again that go together: those that a common gutter runs through, and those that none
// does. In what it returns, free holds the gutters of the band; there are none in a band of plain lines.
//
// A slab with text on one side of the gutter only may be the end of a longer column, or a page number: it belongs to
// the columns if it is near.
func (m *bandMerger) mergeBands(slabs []pageBand) []pageBand {
	var out []pageBand
	leading := m.regularLeading(slabs)
	for i := 0; i < len(slabs); {
		end := i
		gutters := innerSpans(slabs[i].freeSpans)
		if n := m.countInOneColumn(slabs[i:]); n > 0 {
			end = i + n
			gutters = innerSpans(slabs[end].freeSpans)
			for _, slab := range slabs[i:end] {
				gutters = intersectSpans(gutters, slab.freeSpans, m.em)
			}
		} else if len(gutters) == 0 || m.beginsOneColumn(slabs[i:]) { // plain lines, up to the next slab that has columns
			for end = i + 1; end < len(slabs) && len(innerSpans(slabs[end].freeSpans)) == 0; end++ {
			}
			keep := end
			if end < len(slabs) {
				keep = m.findColumnHead(slabs, i, end)
			}
			if keep > i {
				out = append(out, joinBands(slabs[i:keep], nil))
			}
			if keep == end {
				i = end
				continue
			}
			// The slabs from keep on stand in one column of the band that begins at end.
			i, gutters = keep, innerSpans(slabs[end].freeSpans)
		}
		last := m.findColumnsEnd(slabs, end, leading, &gutters)
		if start := findColumnsStart(m, slabs, end, last, leading); start < last {
			gutters = innerSpans(slabs[end].freeSpans)
			last = m.findColumnsEnd(slabs[:start], end, leading, &gutters)
		}
		out = append(out, joinBands(slabs[i:last], gutters))
		i = last
	}
	return out
}

// beginsOneColumn reports whether the first of the slabs is a line in one of the columns that begin with the next: it
// has wide blanks of its own, as between a name and a price, and nothing in the other columns, whose text begins
// lower.
func (m *bandMerger) beginsOneColumn(slabs []pageBand) bool {
	if len(slabs) < 2 || slabs[0].rows > 1 || slabs[1].y0-slabs[0].y1 >= maxBandDistance*m.em {
		return false
	}
	own, next := slabs[0].freeSpans, innerSpans(slabs[1].freeSpans)
	return len(intersectSpans(innerSpans(own), next, m.em)) == 0 && len(intersectSpans(own, next, m.em)) > 0
}

// countInOneColumn returns how many of the first slabs stand in one of the columns that begin below them, as a table
// does at the head of a column next to a picture: the gutter of those columns runs on where the gutters of the first
// slab have ended. It returns 0 if they do not.
func (m *bandMerger) countInOneColumn(slabs []pageBand) int {
	const most, fewest = 24, 3 // slabs looked at; those in which the gutter runs on
	own, free := innerSpans(slabs[0].freeSpans), slabs[0].freeSpans
	if len(own) == 0 {
		return 0
	}
	var gutters []span
	n, beyond := 0, 0
	for i := 1; i < min(most, len(slabs)); i++ {
		if slabs[i].y0-slabs[i-1].y1 > maxLastColumnDistance*m.em {
			return 0
		}
		next, inner := slabs[i].freeSpans, innerSpans(slabs[i].freeSpans)
		own = intersectSpans(own, next, m.em)
		if n == 0 {
			if gutters = intersectSpans(inner, outerSpans(free), m.em); len(gutters) > 0 {
				n = i
			}
			free = intersectSpans(free, next, m.em)
			continue
		}
		if gutters = intersectSpans(gutters, next, m.em); len(gutters) == 0 {
			return 0
		}
		if len(own) == 0 && len(intersectSpans(gutters, inner, m.em)) > 0 && hasTextBeyond(slabs[i], gutters[0].from) {
			beyond++
		}
		if beyond == fewest {
			return n
		}
	}
	return 0
}

// findColumnHead returns from which slab on, of those from first to before end, the slabs belong to the columns that
// begin at end: they are near, and none crosses a gutter.
func (m *bandMerger) findColumnHead(slabs []pageBand, first, end int) int {
	gutters := innerSpans(slabs[end].freeSpans)
	keep := end
	for keep > first {
		limit := maxBandDistance
		if m.beginsLastColumn(slabs[first:keep], gutters[len(gutters)-1]) {
			limit = maxLastColumnDistance
		}
		if slabs[keep].y0-slabs[keep-1].y1 >= limit*m.em {
			break
		}
		left := intersectSpans(gutters, slabs[keep-1].freeSpans, m.em)
		if len(left) == 0 {
			break
		}
		gutters = left
		keep--
	}
	for keep > first && keep < end && m.endsAbove(slabs[keep-1:keep+2]) { // the last line of text above
		keep++
	}
	return keep
}

// endsAbove reports whether the second of three slabs is the end of what the first holds: it stands nearer to that
// than to the third.
func (m *bandMerger) endsAbove(slabs []pageBand) bool {
	const nearer = 0.4 // ems
	return slabs[2].y0-slabs[1].y1 > slabs[1].y0-slabs[0].y1+nearer*m.em
}

// maxBandDistance is how far apart, in ems, slabs may be when only one of them has text on both sides of the gutter;
// maxLastColumnDistance where that which has not stands in the last column, as a heading beside a drawing does.
const maxBandDistance, maxLastColumnDistance = 1.1, 2.5

// beginsLastColumn reports whether the lines of the last slab begin where those of the column right of a gutter do, or
// are set in from there and go on from such lines, as those of a heading do behind its number.
func (m *bandMerger) beginsLastColumn(slabs []pageBand, gutter span) bool {
	slab, above := slabs[len(slabs)-1], slabs[:len(slabs)-1]
	begins := func(s segment) bool { return math.Abs(s.x0-gutter.to) <= m.em }
	inside := func(s segment) bool { return s.x0 >= gutter.to-m.em }
	switch {
	case allSegments(slab, begins):
		return true
	case len(above) == 0 || !allSegments(slab, inside):
		return false
	}
	return slab.y0-above[len(above)-1].y1 < maxBandDistance*m.em && m.beginsLastColumn(above, gutter)
}

func allSegments(slab pageBand, have func(segment) bool) bool {
	return !slices.ContainsFunc(slab.segments, func(s segment) bool { return !have(s) })
}

// mergePageBands is mergeBands for a whole page: what runs across all of its columns without reaching over a gutter is
// a band of its own.
func (m *bandMerger) mergePageBands(slabs []pageBand) []pageBand {
	if len(slabs) < 2 {
		return m.mergeBands(slabs)
	}
	x0, x1 := slabs[0].segments[0].x0, slabs[0].segments[0].x1
	for _, slab := range slabs {
		for _, s := range slab.segments {
			x0, x1 = min(x0, s.x0), max(x1, s.x1)
		}
	}
	var out []pageBand
	if i := m.findRule(slabs, x0, x1); i > 0 {
		return append(m.mergePageBands(slabs[:i]), m.mergePageBands(slabs[i:])...)
	}
	start, ruled := 0, ruledBands{m.em, m.across}
	for i := 0; i < len(slabs); i++ {
		slab := slabs[i]
		if n := max(ruled.countTable(slabs, i), ruled.countFigureRows(slabs, i, x0, x1)); n > 0 {
			if i > start {
				out = append(out, m.mergeBands(slabs[start:i])...)
			}
			out = append(out, joinBands(slabs[i:i+n], nil))
			start, i = i+n, i+n-1
			continue
		}
		if !(i == 0 && m.isRunningHead(slab, slabs[1:], x0, x1)) && !areColumnNumbers(slab, i) &&
			!(i+1 < len(slabs) && m.isBetweenRules(slabs[max(0, i-1)], slab, slabs[i+1], x0, x1)) && !m.isCentredInGutter(slabs, i, x0, x1) {
			continue
		}
		if i > start {
			out = append(out, m.mergeBands(slabs[start:i])...)
		}
		out = append(out, joinBands(slabs[i:i+1], nil))
		start = i + 1
	}
	if start < len(slabs) {
		out = append(out, m.mergeBands(slabs[start:])...)
	}
	return out
}

// findRule returns the first slab below a rule that runs across the whole text, with several rows on either side up to
// the next such rule; 0 if there is none. Columns are not read on through it.
func (m *bandMerger) findRule(slabs []pageBand, x0, x1 float64) int {
	const fewest = 5 // rows: a table's head has fewer
	rows, at := 0, 0
	for i, slab := range slabs {
		if i > 0 && m.isWhole(m.across.longestBetween(slabs[i-1].y1-0.3*m.em, slab.y0+0.3*m.em), x0, x1) {
			if rows >= fewest {
				if at > 0 {
					return at
				}
				at = i
			} else {
				at = 0
			}
			rows = 0
		}
		rows += slab.rows
	}
	if rows < fewest {
		return 0
	}
	return at
}

// isWhole reports whether a line runs across the whole text.
func (m *bandMerger) isWhole(r ruling, x0, x1 float64) bool {
	return r.from < x0+m.em && r.to > x1-m.em
}

// isRunningHead reports whether the first line of a page is a running head with a page number: the number stands at
// one edge of the text, and what stands in another column does not begin where the lines of that column begin.
func (m *bandMerger) isRunningHead(slab pageBand, below []pageBand, x0, x1 float64) bool {
	const most, lines, near, indent = 3, 4, 1.0, 3.0 // segments, slabs, and ems
	gutters := innerSpans(intersectSpans(slab.freeSpans, below[0].freeSpans, m.em))
	// Beside a picture at the top of the last column, the gutter shows only where that column's text begins.
	for i := 1; i < len(below) && len(gutters) > 0 && !reachesBeyond(below[i-1], gutters[len(gutters)-1].from); i++ {
		gutters = intersectSpans(gutters, below[i].freeSpans, m.em)
	}
	for _, next := range below[1:min(len(below), lines)] { // the blanks of one line are none
		if common := intersectSpans(gutters, next.freeSpans, m.em); len(common) > 0 {
			gutters = common
		}
	}
	if slab.rows > 1 || len(slab.segments) < 2 || len(slab.segments) > most || len(gutters) == 0 {
		return false
	}
	segments := slices.SortedFunc(slices.Values(slab.segments), func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	first, last := segments[0], segments[len(segments)-1]
	if isPageNumber(first) == isPageNumber(last) || first.x0 > x0+near*m.em || last.x1 < x1-near*m.em {
		return false
	}
	return last.x0 > gutters[len(gutters)-1].to+indent*m.em
}

// areColumnNumbers reports whether a slab at the top of a page holds the numbers of its columns and nothing else, as
// patents count them.
func areColumnNumbers(slab pageBand, at int) bool {
	const nearTop = 2 // slabs
	if at > nearTop || len(slab.segments) < 2 {
		return false
	}
	segments := slices.SortedFunc(slices.Values(slab.segments), func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	for i, s := range segments {
		if !isPageNumber(s) || i > 0 && !countsOn(segments[i-1].words[0].GetText(), s.words[0].GetText()) {
			return false
		}
	}
	return true
}

// reachesBeyond reports whether text of a slab ends right of a place.
func reachesBeyond(slab pageBand, x float64) bool {
	return slices.ContainsFunc(slab.segments, func(s segment) bool { return s.x1 > x })
}

// hasTextBeyond reports whether a slab has text right of a place that is no figure.
func hasTextBeyond(slab pageBand, x float64) bool {
	return slices.ContainsFunc(slab.segments, func(s segment) bool {
		return s.x0 > x && !isNumeric(segmentsText([]segment{s}))
	})
}

// isPageNumber reports whether a segment is nothing but a page number.
func isPageNumber(s segment) bool {
	if s.table != nil || len(s.words) != 1 {
		return false
	}
	_, is := ParsePageNumber(s.words[0].GetText())
	return is
}

// isBetweenRules reports whether a slab is a line between two rules that run across the whole text, as the date and
// the price under a newspaper's name are.
func (m *bandMerger) isBetweenRules(above, slab, below pageBand, x0, x1 float64) bool {
	if slab.rows > 1 || slab.segments[0].table != nil {
		return false
	}
	over := m.across.longestBetween(max(min(above.y1, slab.y0)-0.3*m.em, slab.y0-2*m.em), slab.y0+0.3*m.em)
	under := m.across.longestBetween(slab.y1-0.3*m.em, min(below.y0+0.3*m.em, slab.y1+2*m.em))
	return m.isWhole(over, x0, x1) && m.isWhole(under, x0, x1)
}

// isCentredInGutter reports whether slab i is a line in the middle of the text that stands between what is left and
// right above it, and below: it parts columns or rows as a line across all of them does, and is no column of its own.
func (m *bandMerger) isCentredInGutter(slabs []pageBand, i int, x0, x1 float64) bool {
	const most = 6 // slabs away
	s := slabs[i].segments[0]
	if len(slabs[i].segments) > 1 || s.table != nil || math.Abs(s.x0+s.x1-x0-x1) > m.em {
		return false
	}
	// isBetween reports whether the line would stand free in the gutter of a slab.
	isBetween := func(slab pageBand) bool {
		return slices.ContainsFunc(innerSpans(slab.freeSpans), func(g span) bool { return g.from < s.x0-m.em && g.to > s.x1+m.em })
	}
	hasGutters := func(slab pageBand) bool { return len(innerSpans(slab.freeSpans)) > 0 }
	above, below := slices.Clone(slabs[max(0, i-most):i]), slabs[i+1:min(len(slabs), i+1+most)]
	slices.Reverse(above)
	a, b := slices.IndexFunc(above, hasGutters), slices.IndexFunc(below, hasGutters)
	return a >= 0 && b >= 0 && isBetween(above[a]) && isBetween(below[b])
}

// joinBands makes one band of neighbouring slabs.
func joinBands(slabs []pageBand, gutters []span) pageBand {
	band := pageBand{y0: slabs[0].y0, y1: slabs[0].y1, freeSpans: gutters}
	n := 0
	for _, s := range slabs {
		n += len(s.segments)
		band.rows += s.rows
		band.y1 = max(band.y1, s.y1)
	}
	// Slabs are neighbours in one array, and so are their segments.
	band.segments = slabs[0].segments[:n:n]
	return band
}
