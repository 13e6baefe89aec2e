package layout

import (
	"math"
	"slices"
	"unicode"
)

// wrappedRows finds the rows that only go on with the cells of the row above, and puts them to it.
type wrappedRows struct{ textSetting }

// merge puts rows that only go on with the text of the row above to that row.
func (w wrappedRows) merge(t *table) {
	byRow := t.cellsByRow()
	apart := w.findRowDistance(byRow)
	if apart == 0 {
		apart = w.findRuledDistance(byRow, t.rect)
	}
	t.rowDistance = apart
	labels, closest := w.measureLabels(byRow), leastRowGap(byRow)-closerThanRows*w.em
	var out [][]tableCell
	for r, cells := range byRow {
		continues := false
		switch {
		case r == 0:
		case apart > 0:
			continues = cellsTop(cells)-cellsBottom(out[len(out)-1]) < apart
		default:
			continues = w.continuesRow(out[len(out)-1], cells) || w.endsLabel(byRow[r-1], cells, labels) ||
				(labels.areWrapped || cellsTop(cells)-cellsBottom(byRow[r-1]) < closest) && w.continuesLabel(byRow[r-1], cells, labels) != noLabelWrap
		}
		if continues {
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

// findRowDistance returns how far apart rows of cells are that begin a row of a table, where room sets those apart
// from the lines that cells wrap to: the lines of one row stand close, the next row does not. It returns 0 where room
// does not tell.
func (w wrappedRows) findRowDistance(rows [][]tableCell) float64 {
	const fewest, least, even = 3, 0.2, 0.5 // rows that are set apart and lines that go on; by how much more room, in ems, and how alike that of lines is, in parts of it
	gaps := make([]float64, 0, len(rows))
	for i := 1; i < len(rows); i++ {
		if len(rows[i]) == 0 || len(rows[i-1]) == 0 {
			return 0
		}
		gaps = append(gaps, cellsTop(rows[i])-cellsBottom(rows[i-1]))
	}
	sorted := slices.Sorted(slices.Values(gaps))
	jump, at := 0.0, 0
	for i := 1; i < len(sorted); i++ {
		if step := sorted[i] - sorted[i-1]; step > jump {
			jump, at = step, i
		}
	}
	if at < fewest || len(sorted)-at < fewest || jump < least*w.em || sorted[at-1]-sorted[0] > even*jump {
		return 0
	}
	apart := (sorted[at-1] + sorted[at]) / 2
	widest := reachOfColumns(rows)
	for begins, i := 0, 0; i <= len(gaps); i++ {
		if i < len(gaps) && gaps[i] < apart {
			continue
		}
		if lines := rows[begins : i+1]; !isOneRow(lines) && !w.areWrappedLines(lines, widest) {
			return 0
		}
		begins = i + 1
	}
	return apart
}

// isOneRow reports whether lines of cells may be one row: one of them, which is the last where cells stand at the
// foot of their row, fills more columns than each of the others, and those go on with its text.
func isOneRow(lines [][]tableCell) bool {
	fullest := 0
	for k := range lines {
		if len(lines[k]) > len(lines[fullest]) {
			fullest = k
		}
	}
	for k, cells := range lines {
		if k != fullest && (len(cells) == len(lines[fullest]) || slices.ContainsFunc(cells, func(c tableCell) bool {
			return isFigureOrSpan(c) && !isBelowText(lines[fullest], c)
		})) {
			return false
		}
	}
	return true
}

// findRuledDistance is findRowDistance for rows that are parted by lines: between those, the lines of the row's text
// stand close, with no figures one below the other but in the first column, where the two ends of a range may stand.
func (w wrappedRows) findRuledDistance(rows [][]tableCell, area rect) float64 {
	const fewest, least, near, mostLines = 4, 0.3, 0.7, 8 // lines across; ems; lines of a row
	across, within := math.Inf(1), 0.0                    // the least room where a line runs, the most where none does
	ruled, lines, longest := 0, 1, 1
	for i := 1; i < len(rows); i++ {
		if len(rows[i]) == 0 || len(rows[i-1]) == 0 {
			return 0
		}
		top, bottom := cellsBottom(rows[i-1]), cellsTop(rows[i])
		if w.across.hasBetween(top-0.3*w.em, bottom+0.3*w.em, area.x0, area.x1) {
			across, ruled, lines = min(across, bottom-top), ruled+1, 1
			continue
		}
		within, lines = max(within, bottom-top), lines+1
		longest = max(longest, lines)
		for _, c := range rows[i] {
			if isFigureOrSpan(c) && c.column > 0 {
				return 0
			}
		}
	}
	if ruled < fewest || longest < 2 || longest > mostLines || within > near*w.em || across < within+least*w.em {
		return 0
	}
	return (across + within) / 2
}

// countTail returns how many of the rows below a table go on with the cells of its last row: they stand as close as
// the lines that its cells wrap to, and begin where a column does.
func (w wrappedRows) countTail(t *table, below []tableLine) int {
	if t.rowDistance == 0 && len(below) > 0 && w.endsLastRow(t, below[0]) {
		return 1
	}
	n, bottom := 0, t.y1
	for n < len(below) && t.rowDistance > 0 && below[n].y0-bottom < t.rowDistance {
		starts := slices.ContainsFunc(t.cells, func(c tableCell) bool {
			return c.columnSpan == 1 && math.Abs(c.x0-below[n].x0) < 0.3*w.em && below[n].x1 < t.x1+w.em
		})
		if below[n].several || !starts {
			break
		}
		bottom = below[n].y1
		n++
	}
	return n
}

// endsLastRow reports whether a line below a table is the second line of a cell of its last row: it stands close, begins
// where that cell does, with a small letter or closer than any row below another, stays in its column, and its first word
// has no room in the line above.
func (w wrappedRows) endsLastRow(t *table, below tableLine) bool {
	const near, slack = 0.5, 0.3 // ems
	if below.several || len(below.cells) == 0 || len(below.cells[0].words) == 0 || below.y0-t.y1 > near*w.em ||
		!startsLower(segmentsText(below.cells)) && below.y0-t.y1 > leastRowGap(t.cellsByRow())-closerThanRows*w.em || w.across.hasBetween(t.y1-slack*w.em, below.y0+slack*w.em, t.x0, t.x1) {
		return false
	}
	for _, c := range t.cells {
		if c.row != t.rows-1 || c.columnSpan > 1 || math.Abs(c.x0-below.x0) > slack*w.em || isNumeric(segmentsText(c.segments)) {
			continue
		}
		widest, next := c.x1, math.Inf(1) // how far the column's cells reach, and where the next begins
		for _, o := range t.cells {
			switch {
			case o.columnSpan > 1:
			case o.column == c.column:
				widest = max(widest, o.x1)
			case o.column > c.column:
				next = min(next, o.x0)
			}
		}
		return below.x1 < min(next, widest+w.em) && !w.hasRoomFor(tableCell{segments: below.cells}, c.x1, widest)
	}
	return false
}

// closerThanRows is how much closer, in ems, than any row below another the next line of a cell stands.
const closerThanRows = 0.2

// leastRowGap returns the least room above a row with several cells; none are told apart by it where there are few.
func leastRowGap(rows [][]tableCell) float64 {
	const fewest = 2
	least, n := math.Inf(1), 0
	for r := 1; r < len(rows); r++ {
		if len(rows[r]) > 1 && len(rows[r-1]) > 0 {
			least = min(least, cellsTop(rows[r])-cellsBottom(rows[r-1]))
			n++
		}
	}
	if n < fewest {
		return 0
	}
	return least
}

// cellsByRow returns the cells of each row.
func (t *table) cellsByRow() [][]tableCell {
	out := make([][]tableCell, t.rows)
	for _, c := range t.cells {
		out[c.row] = append(out[c.row], c)
	}
	return out
}

func isFigureOrSpan(c tableCell) bool { return c.columnSpan > 1 || isNumeric(segmentsText(c.segments)) }

// isBelowText reports whether a cell of one column stands below one of a row that is text: a figure goes on with that.
func isBelowText(row []tableCell, c tableCell) bool {
	return c.columnSpan == 1 && slices.ContainsFunc(row, func(above tableCell) bool {
		return above.column == c.column && above.columnSpan == 1 && !isNumeric(segmentsText(above.segments))
	})
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
func (w wrappedRows) continuesRow(above, cells []tableCell) bool {
	if len(above) < 2 || len(cells) == 0 {
		return false
	}
	limit := 0.6 * w.em
	if len(cells) == 1 && cells[0].column > 0 { // text alone in an inner column: boxes may be as tight as the letters
		limit = w.em
	}
	gap := cellsTop(cells) - cellsBottom(above)
	if gap > limit || w.across.hasBetween(cellsBottom(above)-0.3*w.em, cellsTop(cells)+0.3*w.em, above[0].x0,
		above[len(above)-1].x1) {
		return false
	}
	figures := 0
	for _, c := range cells {
		if isNumeric(segmentsText(c.segments)) {
			figures++
		}
		if c.columnSpan > 1 && !(len(cells) == 1 && describesCell(above, c, w.em)) {
			return false
		}
	}
	first := cells[0]
	switch {
	case len(cells) == 1 && first.column == 0: // the label goes on, with a hanging indent or in the middle of a sentence
		text := segmentsText(first.segments)
		return above[0].column == 0 && (startsLower(text) || first.x0 > above[0].x0+0.6*w.em && figures == 0 &&
			isHangingLabel(above[0], first))
	case first.column > 0: // nothing in the first column: text goes on, figures do not
		return figures == 0 && len(cells) < len(above) || figures == 0 && len(cells) == 1
	default:
		return false
	}
}

// describesCell reports whether text that reaches under other columns begins where a cell above it in an inner column
// does, and is as long as a description: what heads rows stands in the first column or in the middle of those that it
// heads.
func describesCell(above []tableCell, text tableCell, em float64) bool {
	const slack, length = 0.3, 24 // ems; bytes
	return text.column > 0 && isLongerThan(text.segments, length) && slices.ContainsFunc(above, func(c tableCell) bool {
		return c.column == text.column && math.Abs(c.x0-text.x0) < slack*em
	})
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
