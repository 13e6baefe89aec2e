package layout

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// table is a grid of cells with the segments that stand in them.
type table struct {
	rect
	rows, columns int
	cells         []tableCell // in row order
	ruled         bool
	header        int // how many of the first rows are headings
	// rowDistance is the least room between rows, where that sets them apart from the lines that cells wrap to; else 0.
	rowDistance float64
	// framed is what stands in a frame that is no table and takes a table's place among the segments; else nil.
	framed []*inkstreamv1.Block
}

// tableCell is a cell, or several that are one.
type tableCell struct {
	rect
	row, column, rowSpan, columnSpan int
	segments                         []segment
}

// buildLines returns the lines of text in a cell.
func (c *tableCell) buildLines(em float64, angle int32) []*inkstreamv1.Line {
	if len(c.segments) == 0 {
		return nil
	}
	rows := leaf{c.segments}.buildRows(em)
	out := make([]*inkstreamv1.Line, len(rows))
	for i := range rows {
		out[i] = newLine(rows[i].wordsInOrder(em, rotation(angle)), angle)
	}
	return out
}

// buildBlock makes the block of a table: its lines are those of its cells, cell by cell, so that it reads as a person
// reads a table.
func (t *table) buildBlock(em float64, angle int32) *inkstreamv1.Block {
	back := rotation(angle)
	out := &inkstreamv1.Table{Rows: int32(t.rows), Columns: int32(t.columns), Ruled: t.ruled, HeaderRows: int32(t.header)}
	block := &inkstreamv1.Block{Type: Table, Table: out, Bbox: back.unrotateRect(t.rect).toBox()}
	for i := range t.cells {
		c := &t.cells[i]
		lines := c.buildLines(em, angle)
		if len(lines) == 0 {
			continue
		}
		block.Lines = append(block.Lines, lines...)
		out.Cells = append(out.Cells, &inkstreamv1.Cell{
			Row: int32(c.row), Column: int32(c.column), RowSpan: int32(max(c.rowSpan, 1)),
			ColumnSpan: int32(max(c.columnSpan, 1)),
			Bbox:       back.unrotateRect(c.rect).toBox(), Text: joinCellText(lines),
		})
	}
	return block
}

// joinCellText returns the text of a cell on one line; a word that a hyphen breaks at the end of a line is put
// together.
func joinCellText(lines []*inkstreamv1.Line) string {
	var b []byte
	for _, line := range lines {
		b = AppendLine(b, line)
	}
	return string(b)
}

// sortCells brings the cells into row order.
func (t *table) sortCells() {
	slices.SortStableFunc(t.cells, func(a, b tableCell) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.column, b.column))
	})
}

// trimEmptyCells drops rows and columns that hold no text.
func (t *table) trimEmptyCells() {
	rowUsed, columnUsed := make([]bool, t.rows), make([]bool, t.columns)
	for i := range t.cells {
		if c := &t.cells[i]; len(c.segments) > 0 {
			rowUsed[c.row], columnUsed[c.column] = true, true
		}
	}
	rowAt, rows := renumberUsed(rowUsed)
	columnAt, columns := renumberUsed(columnUsed)
	cells := t.cells[:0]
	for _, c := range t.cells {
		if len(c.segments) == 0 {
			continue
		}
		lastRow, lastColumn := c.row+max(c.rowSpan, 1), c.column+max(c.columnSpan, 1)
		c.row, c.column = rowAt[c.row], columnAt[c.column]
		c.rowSpan, c.columnSpan = rowAt[lastRow]-c.row, columnAt[lastColumn]-c.column
		cells = append(cells, c)
	}
	if t.header > 0 {
		t.header = rowAt[min(t.header, t.rows)]
	}
	t.cells, t.rows, t.columns = cells, rows, columns
}

// hasLineNumbers reports whether a column of a table counts the lines of running text in the next, as in the margin of
// a transcript. A number in a cell of its own beside several lines counts items.
func hasLineNumbers(t *table) bool {
	columns, last := make([][]sideLine, t.columns), make([]int, t.columns) // lines; those of the last cell
	itemised := make([]bool, t.columns)
	row := -1
	for i := range t.cells { // in row order
		c := &t.cells[i]
		if c.row != row {
			row = c.row
			clear(last)
		}
		lines := buildSide(c.segments, 10)
		columns[c.column], last[c.column] = append(columns[c.column], lines...), len(lines)
		if j := c.column - 1; j >= 0 && last[j] == 1 && len(lines) > 1 {
			itemised[j] = true
		}
	}
	for j := range columns[1:] {
		if !itemised[j] && numbersLines(columns[j], columns[j+1]) {
			return true
		}
	}
	return false
}

// renumberUsed returns the new place of each of what is left when the unused go, and of the end, and how many are left.
func renumberUsed(used []bool) ([]int, int) {
	at := make([]int, len(used)+1)
	n := 0
	for i, u := range used {
		at[i] = n
		if u {
			n++
		}
	}
	at[len(used)] = n
	return at, n
}

// isPlausible reports whether what was found is a table to a reader: at least two rows and two columns with text,
// filled well enough, and no page of running text that happens to stand in frames.
func (t *table) isPlausible() bool {
	if t.rows < 2 || t.columns < 2 || len(t.cells) < 3 {
		return false
	}
	words, covered := 0, 0
	for i := range t.cells {
		c := &t.cells[i]
		covered += max(c.rowSpan, 1) * max(c.columnSpan, 1)
		for _, s := range c.segments {
			words += len(s.words)
		}
	}
	// A cell may span the columns of a whole grid: what is made of the table must not be many times what is in it.
	if grid := t.rows * t.columns; words > 60*len(t.cells) || grid > maxGridCells && grid > 8*len(t.cells) {
		return false
	}
	return float64(covered) >= 0.25*float64(t.rows*t.columns)
}

// findHeader counts the first rows that are headings: those above the first row with a number in it, or the first
// alone where the rows below differ from it in nothing but that.
func (t *table) findHeader() {
	if t.header > 0 {
		return
	}
	numeric := make([]bool, t.rows)
	for i := range t.cells {
		c := &t.cells[i]
		if c.column > 0 && isNumeric(segmentsText(c.segments)) && !isYear(segmentsText(c.segments)) {
			numeric[c.row] = true
		}
	}
	first := slices.Index(numeric, true)
	if first <= 0 || first > 4 || first >= t.rows {
		t.header = 1
		return
	}
	// A row that spans the table, or has but its first cell, is the heading of a group of rows, not of the columns.
	filled := make([]int, t.rows)
	for i := range t.cells {
		filled[t.cells[i].row]++
	}
	for first > 1 && filled[first-1] < 2 {
		first--
	}
	t.header = first
}

func segmentsText(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		for _, w := range s.words {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.GetText())
		}
	}
	return b.String()
}

// isNumeric reports whether a text is a figure, with its currency, unit or mark, or a stand-in for one.
func isNumeric(text string) bool {
	digits, others := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			others++
		}
	}
	if digits == 0 {
		if others > 2 {
			return false
		}
		switch strings.TrimSpace(text) {
		case "-", "–", "—", "--", "…", "n/a", "N/A", "na", "n.a.", "†", "‡", "#", "*", ".", "..":
			return true
		}
		return false
	}
	return others <= 1 || others*3 <= digits
}

// joiningWords are words that a text does not end with, such as those between the two ends of a range.
var joiningWords = map[string]bool{
	"to": true, "and": true, "or": true, "bis": true, "und": true, "oder": true, "à": true, "au": true, "et": true,
	"ou": true, "y": true, "al": true,
}

// isUnfinishedText reports whether a text goes on in the next line: it ends with a joining word, or with a sign
// between two parts, as a date does that is broken before its day.
func isUnfinishedText(text string) bool {
	text = strings.TrimSpace(text)
	last := text[strings.LastIndexByte(text, ' ')+1:]
	return len(last) < len(text) && (joiningWords[last] || last == "-" || last == "–") ||
		strings.HasSuffix(text, "-") && strings.Count(text, "-") > 1
}

// isYear reports whether a text is a year, which heads columns as often as it fills them.
func isYear(text string) bool {
	text = strings.TrimLeft(strings.TrimRight(text, "*†‡abc() "), "*†‡abc ")
	return len(text) == 4 && (text[:2] == "19" || text[:2] == "20") && text[2] >= '0' && text[2] <= '9' &&
		text[3] >= '0' && text[3] <= '9'
}
