package layout

import (
	"math"
	"slices"
	"unicode"
)

// attachLabels gives tables that are boxes with figures at the ends of a form's lines those lines as their first
// column, and returns the lines that are left.
func attachLabels(tables []*table, lines []inputLine, t rotation, em float64) []inputLine {
	for _, tab := range tables {
		if !isBoxesOfFigures(tab) {
			continue
		}
		labels, rest := findLabels(tab, lines, t, em)
		if labels == nil || !areLabels(tab, labels, em) {
			continue
		}
		addLabels(tab, labels)
		lines = rest
	}
	return lines
}

// isBoxesOfFigures reports whether a table is a few columns of figures without a column of words, or has nothing but
// figures below its head.
func isBoxesOfFigures(t *table) bool {
	const rows, columns, share = 3, 3, 0.6
	figures, all, words := make([]int, t.columns), 0, 0
	for i := range t.cells {
		c := &t.cells[i]
		switch {
		case isNumeric(segmentsText(c.segments)):
			figures[c.column], all = figures[c.column]+1, all+1
		case c.row > 0:
			words++
		}
	}
	if t.ruled && t.rows > rows && words == 0 && slices.Min(figures) > 0 && all >= 2*t.rows {
		return true
	}
	return t.ruled && t.rows >= rows && t.columns <= columns && float64(slices.Min(figures)) >= share*float64(t.rows)
}

// findLabels returns the text left of each row of a table, line by line, and the lines that are left; nil if what
// stands there is more than one column.
func findLabels(t *table, lines []inputLine, tn rotation, em float64) (labels [][]segment, rest []inputLine) {
	const widest = 4.0 // ems between words of a label
	tops := make([]float64, t.rows+1)
	for i := range t.cells {
		tops[t.cells[i].row] = t.cells[i].y0
	}
	tops[0], tops[t.rows] = t.y0, t.y1
	labels = make([][]segment, t.rows)
	order := 0
	for _, line := range lines {
		box := tn.rotateRect(boundingBox(line.words))
		if y := box.centerY(); box.x1 > t.x0+0.3*em || y < t.y0 || y > t.y1 {
			rest = append(rest, line)
			continue
		}
		s := newSegment(line.words, tn)
		for i := 1; i < len(line.words); i++ {
			left, right := tn.rotateRect(rectFromBox(line.words[i-1].GetBbox())), tn.rotateRect(rectFromBox(line.words[i].GetBbox()))
			if right.x0-left.x1 > widest*em && countLetters(line.words[i].GetText()) > 0 { // leaders may end anywhere
				return nil, nil
			}
		}
		row, _ := slices.BinarySearch(tops[1:], box.centerY())
		s.order, s.rtl = order, isRightToLeft(line.words)
		order++
		labels[min(row, t.rows-1)] = append(labels[min(row, t.rows-1)], s)
	}
	return labels, rest
}

// areLabels reports whether texts are the labels of a table's rows: nearly each row has one, level with its figures at
// the first or the last line, that begins where the others do, with a capital or a number.
func areLabels(t *table, labels [][]segment, em float64) bool {
	const share, level = 0.85, 0.75 // of the rows, and ems
	figures := make([]float64, t.rows)
	for i := range t.cells {
		figures[t.cells[i].row] = t.cells[i].segments[0].centerY()
	}
	var starts []float64
	good := 0
	for row, lines := range labels {
		if len(lines) == 0 {
			continue
		}
		rows := leaf{slices.Clone(lines)}.buildRows(em)
		first, last := rows[0], rows[len(rows)-1]
		starts = append(starts, first.x0)
		text := segmentsText(first.segments)
		if isNumeric(text) { // of a table at its side
			continue
		}
		begin := firstRune(text)
		if (math.Abs(first.core.centerY()-figures[row]) < level*em || math.Abs(last.core.centerY()-figures[row]) < level*em) && !unicode.IsLower(begin) {
			good++
		}
	}
	least := share * float64(t.rows)
	return float64(good) >= least && alignedShare(starts, 0.3*em)*float64(len(starts)) >= least
}

// addLabels makes the labels the first column of the table.
func addLabels(t *table, labels [][]segment) {
	for i := range t.cells {
		t.cells[i].column++
	}
	t.columns++
	for row, lines := range labels {
		if len(lines) == 0 {
			continue
		}
		c := tableCell{rect: lines[0].rect, row: row, rowSpan: 1, columnSpan: 1, segments: lines}
		for _, s := range lines {
			c.rect = c.rect.union(s.rect)
		}
		t.rect = t.rect.union(c.rect)
		t.cells = append(t.cells, c)
	}
	t.header = 0
	t.sortCells()
}
