package layout

import (
	"math"
	"slices"
)

// findColumnsEnd returns the slab before which the columns that begin at slab first end, and narrows their gutters to
// what is common to all. The lines of the region are leading apart, if that is not 0.
func (m *bandMerger) findColumnsEnd(slabs []pageBand, first int, leading float64, gutters *[]span) int {
	rows := slabs[first].rows
	end := first + 1
	crossed := false
	for ; end < len(slabs); end++ {
		next := slabs[end]
		left := intersectSpans(*gutters, next.freeSpans, m.em)
		if crossed = len(left) == 0; crossed || rows <= 3 && m.beginsWiderColumns(slabs[end-1:], left) || rows >= 3 && m.isColumnHeading(slabs, end, *gutters) || (rows >= 5 || headsSmallerType(slabs[end:])) && m.isRuledHeading(slabs[first:end+1], left) ||
			rows >= 3 && m.beginsTableAcross(slabs[end-1:], left) && m.standsApart(slabs[max(first, end-usualSlabs):end+1]) {
			break
		}
		gap := m.pictures.roomBetween(slabs[end-1].y1, next.y0, left)
		own := innerSpans(next.freeSpans)
		limit := 1.6 * maxBandDistance
		switch {
		case len(own) > 0 && rows >= 3 && next.rows >= 3:
			limit = 8
		case len(own) > 0:
			limit = 2.5
		}
		if gap > max(limit*m.em, 1.3*leading) && (gap > maxColumnGap*m.em ||
			!m.headColumns(slabs[first:end], slabs[end:], left) && !m.goesOnInColumn(slabs[first:end], slabs[end:], left)) {
			break
		}
		if rows >= 3 && endsAtCommonGap(slabs[first:end], next, left, m.em) {
			break
		}
		*gutters = left
		rows += next.rows
	}
	if crossed && m.headsNextColumns(slabs[:end+1], first) {
		return end - 1
	}
	return m.findTableHead(slabs, first, end)
}

// headColumns reports whether the first slabs of columns are headings at the heads of all of them, with a picture
// below: the first line of each begins where the text of its column does, and the gutters go on through that.
func (m *bandMerger) headColumns(heads, below []pageBand, gutters []span) bool {
	const mostRows, most, near = 3, 24, 0.3 // rows of the heads; slabs looked at; ems
	inner := innerSpans(gutters)
	if len(inner) == 0 || len(heads) > mostRows || len(innerSpans(heads[0].freeSpans)) != len(inner) ||
		!m.pictures.haveOneIn(heads[len(heads)-1].y1, below[0].y0) {
		return false
	}
	// columnEdges returns where the text of each column begins in the slabs from the first on that keep the gutters.
	columnEdges := func(slabs []pageBand) []float64 {
		edges := slices.Repeat([]float64{math.Inf(1)}, len(inner)+1)
		for _, slab := range slabs {
			if len(intersectSpans(inner, slab.freeSpans, m.em)) < len(inner) {
				break
			}
			for _, s := range slab.segments {
				k := 0
				for k < len(inner) && s.x0 >= inner[k].to-1 {
					k++
				}
				edges[k] = min(edges[k], s.x0)
			}
		}
		return edges
	}
	of, text := columnEdges(heads), columnEdges(below[:min(most, len(below))])
	for k := range of {
		if math.IsInf(of[k], 1) || !(math.Abs(of[k]-text[k]) < near*m.em) {
			return false
		}
	}
	return true
}

// maxColumnGap is how much room, in ems, there may be within a column that goes on when the others have ended.
const maxColumnGap = 8.0

// goesOnInColumn reports whether what stands below columns, with room above it, is the rest of the column left of their
// last gutter, which a heading parts or a formula: it keeps clear of the column on the right, and some of its lines, or
// of those above since the column on the right has ended, are as wide as that column.
func (m *bandMerger) goesOnInColumn(columns, below []pageBand, gutters []span) bool {
	const fewest, narrowest, slack, most = 3, 8.0, 0.3, 64 // lines as wide as the column; ems; slabs looked at
	columns = columns[max(0, len(columns)-most):]
	inner := innerSpans(gutters)
	if len(inner) == 0 {
		return false
	}
	edge := inner[len(inner)-1].from + 1
	column := span{math.Inf(1), math.Inf(-1)}
	wide := 0
	count := func(slab pageBand) {
		x0, x1 := slab.leftEdge(), slab.rightEdge()
		if math.Abs(x0-column.from) < slack*m.em && math.Abs(x1-column.to) < slack*m.em {
			wide += slab.rows
		}
	}
	for _, slab := range columns {
		for _, s := range slab.segments {
			if s.x1 <= edge {
				column = span{min(column.from, s.x0), max(column.to, s.x1)}
			}
		}
	}
	if len(inner) > 1 {
		column.from = inner[len(inner)-2].to
	}
	if column.to-column.from < narrowest*m.em {
		return false
	}
	for i := len(columns) - 1; i >= 0 && columns[i].rightEdge() <= edge; i-- {
		count(columns[i])
	}
	if below[0].rightEdge() > edge {
		return false
	}
	last := below[0].y0
	for _, slab := range below {
		if wide >= fewest || slab.rightEdge() > edge || slab.y0-last > maxColumnGap*m.em {
			break
		}
		count(slab)
		last = slab.y1
	}
	return wide >= fewest
}

// beginsWiderColumns reports whether the second of the slabs begins columns with a gutter that is many times as wide
// as what the first leaves free of it, and stands nearer to those below: the first is a few words in line, one of
// which begins at no column.
func (m *bandMerger) beginsWiderColumns(slabs []pageBand, left []span) bool {
	const fewest, most, below, wider, nearer, apart = 3, 6, 50, 2, 0.4, 3.0 // slabs, times, ems, ems
	if len(slabs) < fewest || slabs[1].y0-slabs[0].y1 < slabs[2].y0-slabs[1].y1+nearer*m.em {
		return false
	}
	own, edge := innerSpans(slabs[1].freeSpans), slabs[1].leftEdge()
	for _, next := range slabs[2:min(most, len(slabs))] {
		own, edge = intersectSpans(own, next.freeSpans, m.em), min(edge, next.leftEdge())
	}
	if widestSpan(own) <= wider*widestSpan(intersectSpans(own, left, m.em)) {
		return false
	}
	return slices.ContainsFunc(slabs[0].segments, func(s segment) bool {
		beginsBelow := func(slab pageBand) bool {
			return slices.ContainsFunc(slab.segments, func(o segment) bool { return math.Abs(s.x0-o.x0) < m.em })
		}
		return s.x0 > edge+apart*m.em && !slices.ContainsFunc(own, func(g span) bool { return math.Abs(s.x0-g.to) < apart*m.em }) &&
			!slices.ContainsFunc(slabs[1:min(below, len(slabs))], beginsBelow)
	})
}

// widestSpan returns the width of the widest of the spans; 0 of none.
func widestSpan(spans []span) float64 {
	width := 0.0
	for _, s := range spans {
		width = max(width, s.to-s.from)
	}
	return width
}

// headsNextColumns reports whether the slab before the last heads the columns that begin with the last, and is no end
// of those that begin at slab first: it stands nearer to the last than to the slab before it, and has a gutter in
// common with it.
func (m *bandMerger) headsNextColumns(slabs []pageBand, first int) bool {
	const nearer = 0.4 // ems
	k := len(slabs) - 2
	if k <= first || slabs[k].y0-slabs[k-1].y1 < slabs[k+1].y0-slabs[k].y1+nearer*m.em {
		return false
	}
	return len(intersectSpans(innerSpans(slabs[k].freeSpans), innerSpans(slabs[k+1].freeSpans), m.em)) > 0
}

// regularLeading returns the room between the lines of a region that are set apart evenly, as those of a transcript
// are; 0 if there are no such lines.
func (m *bandMerger) regularLeading(slabs []pageBand) float64 {
	const (
		fewest, slack, share = 6, 0.2, 0.7 // gaps, how far they are from their median as a part of it, and how many of them are no farther
		widest               = 8.0         // ems
	)
	var gaps []float64
	for i := 1; i < len(slabs); i++ {
		if slabs[i].rows == 1 && slabs[i-1].rows == 1 {
			gaps = append(gaps, slabs[i].y0-slabs[i-1].y1)
		}
	}
	usual, even := median(gaps), 0
	for _, gap := range gaps {
		if gap > (1-slack)*usual && gap < (1+slack)*usual {
			even++
		}
	}
	if len(gaps) < fewest || float64(even) < share*float64(len(gaps)) || usual > widest*m.em {
		return 0
	}
	return usual
}

// isColumnHeading reports whether slab i begins a new set of columns below those that end above it, although it does
// not reach across: it is a heading, and all columns break off for it and begin again after it.
func (m *bandMerger) isColumnHeading(slabs []pageBand, i int, gutters []span) bool {
	// The last column may end a few lines above the others.
	above := i - 1
	for above > max(0, i-4) && len(innerSpans(slabs[above].freeSpans)) == 0 {
		above--
	}
	if len(innerSpans(slabs[above].freeSpans)) == 0 || slabs[i].y0-slabs[i-1].y1 < 0.6*m.em || m.pictures.hasOneBeside(slabs[i], gutters[0]) {
		return false
	}
	for end := i; end < min(i+3, len(slabs)); end++ {
		if len(innerSpans(slabs[end].freeSpans)) > 0 {
			return end > i && len(intersectSpans(gutters, innerSpans(slabs[end].freeSpans), m.em)) > 0
		}
		for _, s := range slabs[end].segments {
			if s.size < 1.12*m.em || s.x0 > gutters[0].from {
				return false
			}
		}
	}
	return false
}

// isRuledHeading reports whether the last of the slabs begins a new set of columns because a rule parts it from the
// columns above all along them, and what stands below the rule on both sides of a gutter is larger than they are: the
// headings of articles side by side, as newspapers part them.
func (m *bandMerger) isRuledHeading(slabs []pageBand, gutters []span) bool {
	const larger = 1.15
	above, slab := slabs[len(slabs)-2], slabs[len(slabs)-1]
	rule := m.across.longestBetween(above.y1-0.3*m.em, slab.y0+0.3*m.em)
	if rule.to <= rule.from {
		return false
	}
	isHeading := func(s segment) bool { return s.size >= larger*m.em && s.table == nil }
	if !slices.ContainsFunc(innerSpans(gutters), func(g span) bool {
		return slices.ContainsFunc(slab.segments, func(s segment) bool { return isHeading(s) && s.x1 <= g.from }) &&
			slices.ContainsFunc(slab.segments, func(s segment) bool { return isHeading(s) && s.x0 >= g.to })
	}) {
		return false
	}
	for _, band := range slabs {
		for _, s := range band.segments {
			if s.x0 < rule.from-m.em || s.x1 > rule.to+m.em {
				return false
			}
		}
	}
	return true
}

// findTableHead returns the slab at which a table begins whose first rows, above slab end, do not reach over the
// gutter of the columns above them, as the heads of its columns below two addresses side by side may not: they have
// more parts than what is above, and more room than lines usually have sets them apart from it. It returns end where
// there is none.
func (m *bandMerger) findTableHead(slabs []pageBand, first, end int) int {
	const rows, parts, apart, near = 4, 4, 0.5, 2.2 // rows at most; parts of the head at least; ems of room above it and below its rows
	const more = 0.2                                // ems of room above it than above the line before
	for k := end - 1; k > first && k >= end-rows; k-- {
		if k+1 < end && slabs[k+1].y0-slabs[k].y1 > near*m.em {
			break
		}
		n := m.countParts(slabs[k])
		if n < parts || n <= m.countParts(slabs[k-1])+1 || slabs[k].y0-slabs[k-1].y1 <= apart*m.em {
			continue
		}
		if k-1 > first && m.isHeadingApart(slabs[k-2], slabs[k-1]) {
			return k - 1
		}
		if k-1 == first || slabs[k].y0-slabs[k-1].y1 > slabs[k-1].y0-slabs[k-2].y1+more*m.em {
			return k
		}
	}
	return end
}

// isHeadingApart reports whether a slab is one piece of text in larger type, with room above it.
func (m *bandMerger) isHeadingApart(above, slab pageBand) bool {
	const larger, apart = 1.1, 0.5 // times, ems
	return len(slab.segments) == 1 && slab.segments[0].table == nil && slab.segments[0].size >= larger*m.em &&
		slab.y0-above.y1 > apart*m.em
}

// countParts returns how many parts of a word or two a slab has that stand apart; 0 where others have more words, or
// are figures, or most begin with a small letter, as in a line of text that is justified by wide blanks.
func (m *bandMerger) countParts(slab pageBand) int {
	const apart, words = 0.6, 2 // ems, of a part
	parts, small := 0, 0
	for _, s := range slab.segments {
		n, right := 0, math.Inf(-1)
		for _, w := range s.words {
			box := rectFromBox(w.GetBbox())
			if n++; box.x0-right > apart*m.em {
				parts, n = parts+1, 1
				if startsLower(w.GetText()) {
					small++
				}
			}
			if right = box.x1; n > words || isNumeric(w.GetText()) {
				return 0
			}
		}
	}
	if 2*small > parts {
		return 0
	}
	return parts
}

// usualSlabs is how many slabs tell the usual room between the rows of columns.
const usualSlabs = 16

// standsApart reports whether the last of the slabs has more room above it than those before usually have: rows of the
// shorter of two tables side by side have not, and no more have the rest of the longer one's.
func (m *bandMerger) standsApart(slabs []pageBand) bool {
	const more = 0.2 // ems
	gaps := make([]float64, 0, len(slabs))
	for i := 1; i < len(slabs); i++ {
		gaps = append(gaps, slabs[i].y0-slabs[i-1].y1)
	}
	last := len(gaps) - 1
	return gaps[last] > median(gaps[:last])+more*m.em
}

// beginsTableAcross reports whether the rows of a table begin below the first of the slabs, set apart from it, that
// has the gutter of the columns above between its labels and its figures: each of several slabs is a row of one short
// label left of the gutter and of figures on its right.
func (m *bandMerger) beginsTableAcross(slabs []pageBand, gutters []span) bool {
	const fewest, apart, figures, filled = 4, 0.6, 0.7, 0.75 // rows, ems, shares of what stands on the right and of the width on the left
	inner := innerSpans(gutters)
	if len(inner) == 0 || len(slabs) <= fewest || slabs[1].y0-slabs[0].y1 < apart*m.em {
		return false
	}
	gutter, numbers, others, beside, widest := inner[0], 0, 0, 0, 0.0 // beside: rows with text on the right, as of tables side by side
	for _, slab := range slabs[1 : fewest+1] {
		labels, before := 0, others
		for _, s := range slab.segments {
			switch {
			case s.table != nil:
				return false
			case s.x1 <= gutter.from+1:
				labels, widest = labels+1, max(widest, s.x1-slab.leftEdge())
			case isNumeric(segmentsText([]segment{s})):
				numbers++
			default:
				others++
			}
		}
		if labels != 1 || len(slab.segments) < 3 || slab.rows != 1 {
			return false
		}
		if others > before {
			beside++
		}
	}
	left := slabs[0].leftEdge()
	return 2*beside < fewest && widest < filled*(gutter.from-left) && float64(numbers) >= figures*float64(numbers+others)
}
