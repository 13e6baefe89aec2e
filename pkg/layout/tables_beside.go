package layout

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// splitSideBySide returns the tables that stand side by side in what looks like one: the lines across end and begin
// again between them, or the columns right of a gap hold the same as those on its left, labels and then figures.
func (t *table) splitSideBySide(in textSetting) []*table {
	const fewest = 2 // columns of a table
	kinds := t.figureColumns()
	var at []int
	for j := fewest; j+fewest <= t.columns; j++ {
		if gap, free := t.columnGap(j); free && !kinds[j] && in.across.breakAt(t.rect, gap, in.em) {
			at = append(at, j)
		}
	}
	if len(at) == 0 {
		at = t.findRepeatedColumns(kinds)
	}
	if len(at) == 0 {
		return []*table{t}
	}
	var out []*table
	for i, from := range append([]int{0}, at...) {
		to := t.columns
		if i < len(at) {
			to = at[i]
		}
		part := t.cutColumns(from, to)
		if !part.isPlausible() {
			return []*table{t}
		}
		out = append(out, part)
	}
	return out
}

// figureColumns tells of each column whether most of its cells below the first row are figures.
func (t *table) figureColumns() []bool {
	figures, out := make([]int, t.columns), make([]bool, t.columns)
	for i := range t.cells {
		if c := &t.cells[i]; c.row > 0 && c.columnSpan == 1 {
			if isNumeric(segmentsText(c.segments)) {
				figures[c.column]++
			} else {
				figures[c.column]--
			}
		}
	}
	for j, n := range figures {
		out[j] = n > 0
	}
	return out
}

// columnGap returns the room left of a column; false if a cell reaches over it.
func (t *table) columnGap(column int) (span, bool) {
	gap := span{math.Inf(-1), math.Inf(1)}
	for i := range t.cells {
		switch c := &t.cells[i]; {
		case c.column >= column:
			gap.to = min(gap.to, c.x0)
		case c.column+c.columnSpan > column:
			return gap, false
		default:
			gap.from = max(gap.from, c.x1)
		}
	}
	return gap, gap.to > gap.from
}

// findRepeatedColumns returns before which columns the same kinds of columns begin again: labels with two columns of
// figures or more, or with one where the tables end at different heights, or labels that are sorted go on in the next
// table.
func (t *table) findRepeatedColumns(kinds []bool) []int {
	const mostTables, sure = 3, 3 // tables; columns of one that leave no doubt
	for tables := 2; tables <= mostTables; tables++ {
		width := t.columns / tables
		if t.columns%tables != 0 || width < 2 || kinds[0] || slices.Contains(kinds[1:width], false) {
			continue
		}
		var at []int
		for j := width; j < t.columns; j += width {
			if _, free := t.columnGap(j); free && slices.Equal(kinds[j:j+width], kinds[:width]) {
				at = append(at, j)
			}
		}
		if len(at) == tables-1 && (width >= sure || t.lastRow(0, width) != t.lastRow(width, 2*width) || t.isSortedOn(width)) {
			return at
		}
	}
	return nil
}

// isSortedOn reports whether the labels of every width columns are sorted from the first column's to the last's, each
// behind all of the one before: names that are set in columns.
func (t *table) isSortedOn(width int) bool {
	const fewest, share = 4, 0.9 // labels in a column; pairs of neighbours in order
	labels := make([][]string, t.columns/width)
	for i := range t.cells { // in row order
		if c := &t.cells[i]; c.column%width == 0 {
			if text := strings.ToLower(segmentsText(c.segments)); utf8.RuneCountInString(text) > 1 { // a letter heads names
				labels[c.column/width] = append(labels[c.column/width], text)
			}
		}
	}
	pairs, sorted := 0, 0
	for k, column := range labels {
		if len(column) < fewest || k > 0 && column[0] < labels[k-1][len(labels[k-1])-1] {
			return false
		}
		for i := 1; i < len(column); i++ {
			pairs++
			if column[i-1] <= column[i] {
				sorted++
			}
		}
	}
	return float64(sorted) >= share*float64(pairs)
}

// lastRow returns the last row with text in the columns from one to before another.
func (t *table) lastRow(from, to int) int {
	last := 0
	for i := range t.cells {
		if c := &t.cells[i]; c.column >= from && c.column < to {
			last = max(last, c.row)
		}
	}
	return last
}

// cutColumns returns the columns of a table from one to before another as a table.
func (t *table) cutColumns(from, to int) *table {
	out := &table{rows: t.rows, columns: to - from, rowDistance: t.rowDistance}
	for _, c := range t.cells {
		if c.column < from || c.column >= to {
			continue
		}
		if len(out.cells) == 0 {
			out.rect = c.rect
		}
		c.column -= from
		out.rect = out.rect.union(c.rect)
		out.cells = append(out.cells, c)
	}
	out.trimEmptyCells()
	out.findHeader()
	return out
}
