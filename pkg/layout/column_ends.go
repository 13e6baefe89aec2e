package layout

import "math"

// findTableHead returns the slab at which a table begins whose first rows, above slab end, do not reach over the gutter of the columns above
// them, as the heads of its columns below two addresses side by side may not: they have more parts than what is above, and room sets them
// apart from it. It returns end where there is none.
func findTableHead(c *cutter, slabs []pageBand, first, end int) int {
	const rows, parts, apart, near = 4, 4, 0.5, 2.2 // rows at most; parts of the head at least; ems of room above it and below its rows
	for k := end - 1; k > first && k >= end-rows; k-- {
		if k+1 < end && slabs[k+1].y0-slabs[k].y1 > near*c.em {
			break
		}
		if n := countParts(c, slabs[k]); n >= parts && n > countParts(c, slabs[k-1])+1 && slabs[k].y0-slabs[k-1].y1 > apart*c.em {
			return k
		}
	}
	return end
}

// countParts returns how many parts of a word or two a slab has that stand apart; 0 where others have more words, or are figures.
func countParts(c *cutter, slab pageBand) int {
	const apart, words = 0.6, 2 // ems, of a part
	parts := 0
	for _, s := range slab.segments {
		n, right := 0, math.Inf(-1)
		for _, w := range s.words {
			box := rectFromBox(w.GetBbox())
			if n++; box.x0-right > apart*c.em {
				parts, n = parts+1, 1
			}
			if right = box.x1; n > words || isNumeric(w.GetText()) {
				return 0
			}
		}
	}
	return parts
}

// beginsTableAcross reports whether the rows of a table begin below the first of the slabs, set apart from it, that has the gutter of the
// columns above between its labels and its figures: each of several slabs is a row of one short label left of the gutter and of
// figures on its right.
func (c *cutter) beginsTableAcross(slabs []pageBand, gutters []span) bool {
	const fewest, apart, figures, filled = 4, 0.6, 0.7, 0.75 // rows, ems, shares of what stands on the right and of the width on the left
	inner := innerSpans(gutters)
	if len(inner) == 0 || len(slabs) <= fewest || slabs[1].y0-slabs[0].y1 < apart*c.em {
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
