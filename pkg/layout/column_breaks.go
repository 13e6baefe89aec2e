package layout

import (
	"math"
	"slices"
)

// endsAtCommonGap reports whether columns end above a slab that has headings in all of them, with more room above it
// than lines have: a sentence goes on from the foot of one column, above the room, to the head of the next.
func endsAtCommonGap(columns []pageBand, slab pageBand, gutters []span, em float64) bool {
	const room, larger, most = 1.0, 1.08, 64 // ems; times the text's type; slabs looked at
	inner := innerSpans(gutters)
	if slab.y0-columns[len(columns)-1].y1 < room*em || len(inner) == 0 || len(innerSpans(slab.freeSpans)) < len(inner) || len(columns) > most {
		return false
	}
	for _, s := range slab.segments {
		if s.table != nil || s.size < larger*em {
			return false
		}
	}
	for k, g := range inner {
		left, right := span{math.Inf(-1), g.from}, span{g.to, math.Inf(1)}
		if k > 0 {
			left.from = inner[k-1].to
		}
		if k+1 < len(inner) {
			right.to = inner[k+1].from
		}
		foot, head := findOuterSegments(columns, left)
		if _, next := findOuterSegments(columns, right); foot != nil && head != nil && next != nil && isCutOff(foot) && startsLower(next.words[0].GetText()) {
			return true
		}
	}
	return false
}

// headsSmallerType reports whether all that stands in the second of the slabs is set in smaller type than the first:
// that is a heading, and no row among others.
func headsSmallerType(slabs []pageBand) bool {
	const smaller = 0.9
	return len(slabs) > 1 && !slices.ContainsFunc(slabs[1].segments, func(s segment) bool {
		return s.table != nil || s.size > smaller*slabs[0].segments[0].size
	})
}

// findOuterSegments returns the last and the first segment of the slabs that stand in a column; nil where there is
// none, or a table.
func findOuterSegments(slabs []pageBand, column span) (last, first *segment) {
	const slack = 1
	for i := range slabs {
		for j := range slabs[i].segments {
			s := &slabs[i].segments[j]
			if s.x0 < column.from-slack || s.x1 > column.to+slack {
				continue
			}
			if first == nil || s.centerY() < first.centerY() {
				first = s
			}
			if last == nil || s.centerY() > last.centerY() || s.centerY() == last.centerY() && s.x0 > last.x0 {
				last = s
			}
		}
	}
	if last == nil || last.table != nil || first.table != nil {
		return nil, nil
	}
	return last, first
}

// isCutOff reports whether a line ends in the middle of a sentence.
func isCutOff(s *segment) bool {
	const fewest = 3 // words
	text := s.words[len(s.words)-1].GetText()
	return len(s.words) >= fewest && (trailingHyphenLength(text) > 0 || !isSentenceEnd(lastRune(text)) && !isNumeric(text))
}

// findColumnsStart returns the slab of those from first to before last at which the columns begin that go on at slab
// last: their gutters run on upwards, and more room stands above it than above any other. What is above them, such as
// a running head or figures in boxes, may share a gutter with their first lines by chance.
func findColumnsStart(m *bandMerger, slabs []pageBand, first, last int, leading float64) int {
	const room, most, longer = 0.3, 12, 2 // ems; slabs looked at; times as many rows
	if last >= len(slabs) {
		return last
	}
	gutters := innerSpans(slabs[last].freeSpans)
	if len(gutters) == 0 {
		return last
	}
	end, n := m.findColumnsEnd(slabs, last, leading, &gutters), len(innerSpans(gutters))
	if countRows(slabs[last:end]) < longer*countRows(slabs[first:last]) {
		return last
	}
	gapAbove := func(k int) float64 { return slabs[k].y0 - slabs[k-1].y1 }
	best, widest := last, gapAbove(last)+room*m.em
	for k := last - 1; k > first && last-k <= most; k-- {
		if gutters = intersectSpans(gutters, slabs[k].freeSpans, m.em); len(gutters) < n {
			break
		}
		if gap := gapAbove(k); gap > widest {
			best, widest = k, gap
		}
	}
	return best
}

// countRows returns about how many lines of text slabs hold.
func countRows(slabs []pageBand) int {
	n := 0
	for _, s := range slabs {
		n += s.rows
	}
	return n
}
