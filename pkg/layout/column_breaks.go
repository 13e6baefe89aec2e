package layout

import "math"

// endsAtCommonGap reports whether columns end above a slab that has text in all of them, with more room above it than lines
// have: a sentence goes on from the foot of one column, above the room, to the head of the next, and none goes on below the
// room.
func endsAtCommonGap(columns []pageBand, slab pageBand, gutters []span, em float64) bool {
	const room, most = 1.0, 64 // ems; slabs looked at
	inner := innerSpans(gutters)
	if slab.y0-columns[len(columns)-1].y1 < room*em || len(inner) == 0 || len(innerSpans(slab.freeSpans)) < len(inner) || len(columns) > most {
		return false
	}
	for _, s := range slab.segments {
		if s.table != nil || startsLower(s.words[0].GetText()) {
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
