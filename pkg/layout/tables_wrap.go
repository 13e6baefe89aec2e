package layout

import "unicode"

// mergeWrappedRows puts rows that only go on with the text of the row above to that row.
func (a *aligner) mergeWrappedRows(t *table) {
	byRow := make([][]tableCell, t.rows)
	for _, c := range t.cells {
		byRow[c.row] = append(byRow[c.row], c)
	}
	var out [][]tableCell
	for r, cells := range byRow {
		if r > 0 && len(out) > 0 && a.continuesRow(out[len(out)-1], cells) {
			last := out[len(out)-1]
			for _, c := range cells {
				last = appendCellText(last, c)
			}
			out[len(out)-1] = last
			continue
		}
		out = append(out, cells)
	}
	t.cells = t.cells[:0]
	for r, cells := range out {
		for _, c := range cells {
			c.row = r
			t.cells = append(t.cells, c)
		}
	}
	t.rows = len(out)
	t.sortCells()
}

// appendCellText puts a cell's text to the cell of the row that stands above it.
func appendCellText(row []tableCell, c tableCell) []tableCell {
	for i := range row {
		if p := &row[i]; p.column <= c.column && c.column < p.column+p.columnSpan {
			p.segments, p.rect = append(p.segments, c.segments...), p.rect.union(c.rect)
			return row
		}
	}
	return append(row, c)
}

// continuesRow reports whether a row of cells only goes on with the row above.
func (a *aligner) continuesRow(above, cells []tableCell) bool {
	if len(above) < 2 || len(cells) == 0 {
		return false
	}
	limit := 0.6 * a.em
	if len(cells) == 1 && cells[0].column > 0 { // text alone in an inner column: boxes may be as tight as the letters
		limit = a.em
	}
	gap := cellsTop(cells) - cellsBottom(above)
	if gap > limit || a.hasRulingBetween(cellsBottom(above)-0.3*a.em, cellsTop(cells)+0.3*a.em, above[0].x0,
		above[len(above)-1].x1) {
		return false
	}
	figures := 0
	for _, c := range cells {
		if isNumeric(segmentsText(c.segments)) {
			figures++
		}
		if c.columnSpan > 1 {
			return false
		}
	}
	first := cells[0]
	switch {
	case len(cells) == 1 && first.column == 0: // the label goes on, with a hanging indent or in the middle of a sentence
		text := segmentsText(first.segments)
		return above[0].column == 0 && (startsLower(text) || first.x0 > above[0].x0+0.6*a.em && figures == 0 &&
			isHangingLabel(above[0], first))
	case first.column > 0: // nothing in the first column: text goes on, figures do not
		return figures == 0 && len(cells) < len(above) || figures == 0 && len(cells) == 1
	default:
		return false
	}
}

// isHangingLabel reports whether a label is the hanging second line of one: that one is long enough to have wrapped.
func isHangingLabel(above, label tableCell) bool {
	return above.width() >= 0.7*label.width() && isLongerThan(above.segments, 12)
}

// isLongerThan reports whether the text of segments has more than n bytes. It stops once it knows: rows are put to
// one cell by the thousand.
func isLongerThan(segments []segment, n int) bool {
	length := -1
	for _, s := range segments {
		for _, w := range s.words {
			if length += 1 + len(w.GetText()); length > n {
				return true
			}
		}
	}
	return false
}

func startsLower(text string) bool {
	for _, r := range text {
		return unicode.IsLower(r)
	}
	return false
}

func cellsTop(cells []tableCell) float64 {
	y := cells[0].y0
	for _, c := range cells {
		y = min(y, c.y0)
	}
	return y
}

func cellsBottom(cells []tableCell) float64 {
	y := cells[0].y1
	for _, c := range cells {
		y = max(y, c.y1)
	}
	return y
}
