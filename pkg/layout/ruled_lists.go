package layout

import (
	"cmp"
	"math"
	"slices"
)

// findListedRows returns where the rows within one ruled row begin whose cells list entries, one in each line: as many
// in three columns or more, side by side, one of which would have had room for the next entry's first word in every
// line, so that no line of it has wrapped. Of the others each entry is one word, or they had room as well.
func (t ruledTable) findListedRows(cells []int) []float64 {
	const fewest = 3 // entries, and columns with as many
	if len(cells) < fewest {
		return nil
	}
	lists := make([][]row, len(cells))
	var longest []row
	for k, i := range cells {
		if lists[k] = (leaf{slices.Clone(t.cells[i].segments)}).buildRows(t.em); len(lists[k]) > len(longest) {
			longest = lists[k]
		}
	}
	if len(longest) < fewest {
		return nil
	}
	full, roomy := 0, false
	for k, i := range cells {
		if !standBeside(lists[k], longest, 0.4*t.em) {
			return nil
		}
		if len(lists[k]) < len(longest) {
			continue
		}
		hasRoom := t.hasRoomForNext(&t.cells[i], lists[k])
		if !hasRoom && slices.ContainsFunc(lists[k], func(r row) bool { return len(segmentWords(r.segments)) > 1 }) {
			return nil
		}
		full, roomy = full+1, roomy || hasRoom
	}
	if full < fewest || !roomy {
		return nil
	}
	at := make([]float64, len(longest))
	for i, r := range longest {
		at[i] = r.core.centerY()
	}
	return at
}

// standBeside reports whether each line stands at the height of one of the others.
func standBeside(lines, others []row, near float64) bool {
	return !slices.ContainsFunc(lines, func(r row) bool {
		return !slices.ContainsFunc(others, func(o row) bool { return math.Abs(r.core.centerY()-o.core.centerY()) <= near })
	})
}

// hasRoomForNext reports whether the first word of the next line would have found room in every line of a cell, but for
// lines of parts that are set apart, which have not wrapped either.
func (t ruledTable) hasRoomForNext(c *tableCell, lines []row) bool {
	const (
		margins = 1.5 // of the cell, and a blank, in letters
		apart   = 1.2 // letters between parts
	)
	for i, r := range lines[:len(lines)-1] {
		end, gap := math.Inf(1), 0.0
		for _, box := range t.wordBoxes(r) {
			gap, end = max(gap, box.x0-end), box.x1
		}
		next := t.wordBoxes(lines[i+1])[0]
		if room := c.x1 - c.x0 - (r.x1 - r.x0) - margins*t.em; gap < apart*t.em && room < next.x1-next.x0 {
			return false
		}
	}
	return true
}

// wordBoxes returns the boxes of a line's words from left to right.
func (t ruledTable) wordBoxes(r row) []rect {
	var out []rect
	for _, s := range r.segments {
		for _, w := range s.words {
			out = append(out, t.rotation.rotateRect(rectFromBox(w.GetBbox())))
		}
	}
	slices.SortFunc(out, func(a, b rect) int { return cmp.Compare(a.x0, b.x0) })
	return out
}
