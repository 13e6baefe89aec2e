package layout

import (
	"math"
	"slices"
)

// endsAtCommonGap reports whether columns end above a slab that has headings in all of them, with more room above it than
// lines have: a sentence goes on from the foot of one column, above the room, to the head of the next.
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

// headsSmallerType reports whether all that stands in the second of the slabs is set in smaller type than the first: that is a
// heading, and no row among others.
func headsSmallerType(slabs []pageBand) bool {
	const smaller = 0.9
	return len(slabs) > 1 && !slices.ContainsFunc(slabs[1].segments, func(s segment) bool {
		return s.table != nil || s.size > smaller*slabs[0].segments[0].size
	})
}

// findOuterSegments returns the last and the first segment of the slabs that stand in a column; nil where there is none, or a
// table.
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
