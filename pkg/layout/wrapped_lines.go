package layout

import "slices"

// reachOfColumns returns how far to the right the cells of each column reach.
func reachOfColumns(rows [][]tableCell) map[int]float64 {
	reach := map[int]float64{}
	for _, cells := range rows {
		for _, c := range cells {
			if c.columnSpan == 1 {
				reach[c.column] = max(reach[c.column], c.x1)
			}
		}
	}
	return reach
}

// areWrappedLines reports whether all lines of cells but the first only go on with the text of the line above, several
// cells at a time: each begins with a small letter, or with a word that has no room above.
func (w wrappedRows) areWrappedLines(lines [][]tableCell, reach map[int]float64) bool {
	for k := 1; k < len(lines); k++ {
		for _, c := range lines[k] {
			at := slices.IndexFunc(lines[k-1], func(above tableCell) bool { return above.column == c.column && above.columnSpan == 1 })
			if at < 0 || isFigureOrSpan(c) || isFigureOrSpan(lines[k-1][at]) || !startsLower(segmentsText(c.segments)) && w.hasRoomFor(c, lines[k-1][at].x1, reach[c.column]) {
				return false
			}
		}
	}
	return true
}

// hasRoomFor reports whether the first word of a cell fits between the end of the line above it and the end of its
// column.
func (w wrappedRows) hasRoomFor(c tableCell, end, reach float64) bool {
	const blank, slack = 0.25, 0.3 // ems
	if len(c.segments) == 0 || len(c.segments[0].words) == 0 {
		return true
	}
	return end+blank*w.em+rectFromBox(c.segments[0].words[0].GetBbox()).width() <= reach-slack*w.em
}
