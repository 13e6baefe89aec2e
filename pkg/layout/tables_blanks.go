package layout

// joinBlankColumns joins two columns that only a blank parts in every row, below a head that reaches over both: words
// that are as long in all rows, such as the day and the month of a date.
func joinBlankColumns(t *table, em float64) {
	var headed []int // from left to right
	for i := range t.cells {
		if c := &t.cells[i]; c.row == 0 && c.columnSpan == 2 {
			headed = append(headed, c.column)
		}
	}
	for len(headed) > 0 {
		column := headed[len(headed)-1]
		headed = headed[:len(headed)-1]
		if t.isPartedByBlanks(column, em) {
			t.joinColumns(column)
		}
	}
}

// isPartedByBlanks reports whether only a blank parts a column from the next in every row that has both, and no row
// has one of them.
func (t *table) isPartedByBlanks(column int, em float64) bool {
	const widest, fewest = 0.6, 3 // ems; rows
	left, rows, both := make([]*tableCell, t.rows), 0, 0
	for i := range t.cells { // in row order
		switch c := &t.cells[i]; {
		case c.columnSpan > 1:
		case c.column == column:
			left[c.row], rows = c, rows+1
		case c.column == column+1:
			if left[c.row] == nil || c.x0-left[c.row].x1 > widest*max(em, c.segments[0].size) {
				return false
			}
			both++
		}
	}
	return both >= fewest && both == rows
}
