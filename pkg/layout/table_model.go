package layout

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"inkstream.dev/pkg/layout/internal/boost"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

//go:embed table_model.json
var tableModelJSON []byte

// tableModel tells tables without a grid of lines from text that happens to stand in rows and columns. The command
// pkg/layout/train learns such weights. Those here saw fourteen documents of each family (seeds from 1000) and the
// pages of the corpus with the answers that were given before.
var tableModel = sync.OnceValue(func() *boost.Model {
	m, err := boost.Parse(tableModelJSON, tableFeatureNames)
	if err != nil {
		panic(fmt.Sprintf("layout: table_model.json: %v", err)) // the build is broken
	}
	return m
})

// TableSample is a table as the model sees it.
type TableSample struct {
	Features []float64
	Words    []*inkstreamv1.Word
	// Table is the answer that stands without a judge.
	Table bool
}

// tableFeatureNames names what is measured of rows and columns that may be a table. Lengths are in ems.
var tableFeatureNames = []string{
	"rows", "columns", "rows with several cells", "words a cell", "words a cell in the wordiest column", "figures",
	"figures in the column with most", "cells in line", "framed", "rules across a row", "runs on", "breaks words",
	"capital starts", "sentence ends", "single words", "least gap", "row pitch", "widest pitch", "filled", "cell fill",
	"columns aligned right", "first column filled", "type sizes", "rows of one cell", "words",
}

// cellText is what the features need to know of a cell's text.
type cellText struct {
	*tableCell
	text        string
	words       int
	figure      bool
	first, last rune
}

// tableCandidate is rows and columns that may be a table.
type tableCandidate struct {
	textSetting
	*table
	several int // rows with text in several places
	centred int // rows whose cells stand in the middle of their height
}

// standsBesideText reports whether an outer column is no part of a table, and so the other columns are none: it hardly
// shares a row with them, or stands beside few lines of the only other one.
func (t *tableCandidate) standsBesideText() bool {
	filled, inLast := make([]int, t.rows), 0
	for i := range t.cells {
		c := &t.cells[i]
		filled[c.row]++
		if c.column == t.columns-1 && c.columnSpan == 1 {
			inLast++
		}
	}
	if t.columns == 2 && (inLast < 2 || 2*inLast < t.rows) {
		return true
	}
	for _, column := range []int{0, t.columns - 1} {
		cells, alone := 0, 0
		for i := range t.cells {
			if c := &t.cells[i]; c.column == column && c.columnSpan == 1 {
				cells++
				if filled[c.row] == 1 {
					alone++
				}
			}
		}
		if 3*alone > 2*cells {
			return true
		}
	}
	return false
}

// headsTextsBeside reports whether the columns begin with lines of larger or bolder type, and one goes on with those
// in a row where the text of another has begun: they are texts side by side, each with its heading.
func (t *tableCandidate) headsTextsBeside() bool {
	const larger = 1.05
	last := make([]*inkstreamv1.Word, t.columns) // the first word at the foot of a column
	for i := range t.cells {                     // from top to bottom
		last[t.cells[i].column] = t.cells[i].segments[0].words[0]
	}
	headed, begun := make([]int, t.columns), make([]int, t.columns) // rows, from 1
	for i := range t.cells {
		c := &t.cells[i]
		head, text := c.segments[0].words[0], last[c.column]
		switch {
		case begun[c.column] > 0:
		case head.GetSize() > larger*text.GetSize() && text.GetSize() > 0 || t.style.fontStyleOf(head).bold && !t.style.fontStyleOf(text).bold:
			headed[c.column] = c.row + 1
		default:
			begun[c.column] = c.row + 1
		}
	}
	return !slices.Contains(headed, 0) && !slices.Contains(begun, 0) && slices.Max(headed) >= slices.Min(begun)
}

// hasLinesToSignOn reports whether a row has nothing but lines to write on, in several places: names of those who sign
// stand above or below.
func (t *tableCandidate) hasLinesToSignOn() bool {
	const most, fewest = 6, 2 // rows of the table, cells of the row
	if t.rows > most {
		return false
	}
	lines, others := make([]int, t.rows), make([]int, t.rows)
	for i := range t.cells {
		c := &t.cells[i]
		if text := segmentsText(c.segments); strings.Trim(text, "_. …") == "" && len(text) > 4 {
			lines[c.row]++
		} else {
			others[c.row]++
		}
	}
	for r, n := range lines {
		if n >= fewest && others[r] == 0 {
			return true
		}
	}
	return false
}

// hasLabelledRows reports whether room sets the rows of a table apart, in three columns or more of which the first and
// another hold a few words in nearly every row: its text wraps, as that of columns does, but no columns of text break
// off and begin again together so.
func (t *tableCandidate) hasLabelledRows() bool {
	const columns, rows, words, filled = 3, 4, 4.0, 0.8 // at least; words of a label at most, on average
	if t.rowDistance == 0 || t.columns < columns || t.rows < rows {
		return false
	}
	counts, cells := make([]float64, t.columns), make([]float64, t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		cells[c.column]++
		for _, s := range c.segments {
			counts[c.column] += float64(countWords(s.words))
		}
	}
	labels := 0
	for j, n := range cells {
		if n < filled*float64(t.rows) {
			continue
		}
		if counts[j] <= words*n {
			labels++
		} else if j == 0 {
			return false
		}
	}
	return cells[0] >= filled*float64(t.rows) && labels > 1
}

// hasCentredRows reports whether several rows have their cells of fewer lines in the middle of their height, in three
// columns or more: the cells may be long, but text is set so nowhere else. Numbers that count the questions of an exam
// make no column.
func (t *tableCandidate) hasCentredRows() bool {
	const columns, rows = 3, 2
	fewest := columns
	if t.beginsWithMark(t.cells[len(t.cells)-1].row) {
		fewest++
	}
	return t.columns >= fewest && t.centred >= rows
}

// beginsWithMark reports whether a row's first cell is the marker of an item.
func (t *tableCandidate) beginsWithMark(row int) bool {
	return slices.ContainsFunc(t.cells, func(c tableCell) bool {
		return c.row == row && c.column == 0 && len(c.segments) == 1 && isMark(c.segments[0].words)
	})
}

// hasColumnsOfValues reports whether all columns but the first hold figures, marks or words that come again, in nearly
// each row: what is said of each of several things, however long the first column says what they are.
func (t *tableCandidate) hasColumnsOfValues() bool {
	const columns, rows, words, filled, values = 3, 5, 2.0, 0.8, 0.75 // at least; words of a value on average; shares of rows and of cells
	if t.columns < columns || t.rows < rows {
		return false
	}
	cells, count, again, times := make([]int, t.columns), 0, 0, map[string]int{}
	for i := range t.cells {
		c := newCellText(&t.cells[i])
		cells[c.column]++
		if c.column == 0 || c.row == 0 {
			continue
		}
		count += c.words
		switch times[c.text]++; {
		case c.figure || times[c.text] > 2:
			again++
		case times[c.text] == 2:
			again += 2 // the first too
		}
	}
	inner := 0
	for _, n := range cells[1:] {
		inner += n
		if float64(n) < filled*float64(t.rows) {
			return false
		}
	}
	return float64(count) <= words*float64(inner) && float64(again) >= values*float64(inner-t.columns+1)
}

// hasOwnHead reports whether the first row heads every column in a font that no cell below it is set in, nearly all rows
// fill their columns, and each column begins, ends or has its middle at one place. Texts side by side with their headings
// have no rows: their lines go on with those above.
func (t *tableCandidate) hasOwnHead() bool {
	const rows, filled, aligned, slack, runsOn = 3, 0.7, 0.9, 0.2, 0.4 // with the head; shares of the cells and of a column's; ems; of the first column's
	heads, small := 0, 0
	font := t.cells[0].segments[0].words[0].GetFont()
	columns := make([][]rect, t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		own := c.segments[0].words[0].GetFont() == font
		switch {
		case own != (c.row == 0) || c.columnSpan > 1:
			return false
		case own:
			heads++
			continue
		case c.column == 0 && startsLower(segmentsText(c.segments)):
			small++
		}
		columns[c.column] = append(columns[c.column], c.rect)
	}
	cells := len(t.cells) - heads
	if heads < t.columns || t.rows < rows || float64(cells) < filled*float64((t.rows-1)*t.columns) || float64(small) > runsOn*float64(len(columns[0])) {
		return false
	}
	for _, boxes := range columns {
		if float64(countAlignedBoxes(boxes, slack*t.em)) < aligned*float64(len(boxes)) {
			return false
		}
	}
	return true
}

// isTable reports whether rows and columns are a table. The judge, if there is one, decides in the place of the model.
func (t *tableCandidate) isTable(judge func(TableSample) bool) bool {
	if t.standsBesideText() || t.headsTextsBeside() || t.hasLinesToSignOn() {
		return false
	}
	features := t.measure()
	is := tableModel().Probability(features) >= 0.5 || t.hasCentredRows() || t.hasLabelledRows() || t.hasColumnsOfValues() || t.hasOwnHead() || t.across.encloseTable(t.rect, 1, t.em)
	if judge == nil {
		return is
	}
	s := TableSample{Features: features, Table: is}
	for i := range t.cells {
		s.Words = append(s.Words, segmentWords(t.cells[i].segments)...)
	}
	return judge(s)
}

// measure measures rows and columns that may be a table, in the order of tableFeatureNames.
func (t *tableCandidate) measure() []float64 {
	cells := make([]cellText, len(t.cells))
	columns := make([][]cellText, t.columns) // cells of one column, from top to bottom
	for i := range t.cells {
		cells[i] = newCellText(&t.cells[i])
		if t.cells[i].columnSpan <= 1 {
			columns[t.cells[i].column] = append(columns[t.cells[i].column], cells[i])
		}
	}
	n := float64(max(1, len(cells)))
	var words, capitals, ends, singles float64
	for _, c := range cells {
		words += float64(c.words)
		capitals += share(unicode.IsUpper(c.first), n)
		ends += share(c.last == '.' || c.last == '!' || c.last == '?', n)
		singles += share(c.words == 1, n)
	}
	by := t.measureColumns(columns)
	pitch, widest, lone := t.measurePitch()
	framed := 0.0
	if t.across.enclose(t.rect, t.em) {
		framed = 1
	}
	return []float64{
		float64(t.rows), float64(t.columns), float64(t.several) / float64(max(1, t.rows)), words / n, by.wordiest, by.figures, by.mostFigures,
		by.inLine / n, framed, t.across.countWithin(t.rect, t.em) / float64(max(1, t.rows)), by.runsOn, by.breaks, capitals, ends, singles,
		min(t.leastGap(columns)/t.em, 20), min(pitch/t.em, 10), min(widest/t.em, 10), n / float64(max(1, t.rows*t.columns)), by.fill,
		by.alignedRight, float64(len(columns[0])) / float64(max(1, t.rows)), t.typeSizeRatio(), lone / float64(max(1, t.rows)), words,
	}
}

func newCellText(c *tableCell) cellText {
	out := cellText{tableCell: c, text: strings.TrimSpace(segmentsText(c.segments))}
	for _, s := range c.segments {
		out.words += countWords(s.words)
	}
	out.figure = isNumeric(out.text)
	out.first, out.last = firstRune(out.text), lastRune(out.text)
	return out
}

// tableColumnStats is what the columns of a table tell.
type tableColumnStats struct {
	wordiest, figures, mostFigures, inLine float64
	runsOn, breaks, fill, alignedRight     float64
}

func (t *tableCandidate) measureColumns(columns [][]cellText) tableColumnStats {
	var s tableColumnStats
	figures, others, pairs := 0.0, 0.0, 0.0
	for j, column := range columns {
		if len(column) == 0 {
			continue
		}
		boxes := make([]rect, len(column))
		lefts, rights := make([]float64, len(column)), make([]float64, len(column))
		words, numbers, width, widest := 0.0, 0.0, 0.0, 0.0
		for i, c := range column {
			boxes[i], lefts[i], rights[i] = c.rect, c.x0, c.x1
			words, width, widest = words+float64(c.words), width+c.width(), max(widest, c.width())
			if c.figure {
				numbers++
			}
			if i == 0 {
				continue
			}
			pairs++
			before := column[i-1]
			if unicode.IsLower(c.first) && !isSentenceEnd(before.last) && !before.figure {
				s.runsOn++
			}
			if before.last == '-' || before.last == 0x2010 {
				s.breaks++
			}
		}
		n := float64(len(column))
		s.wordiest, s.mostFigures = max(s.wordiest, words/n), max(s.mostFigures, numbers/n)
		s.inLine += float64(countAlignedBoxes(boxes, 0.6*t.em))
		s.fill += width / n / max(widest, 1) / float64(len(columns))
		s.alignedRight += share(alignedShare(rights, 0.15*t.em) > alignedShare(lefts, 0.15*t.em), float64(len(columns)))
		if j > 0 {
			figures, others = figures+numbers, others+n-numbers
		}
	}
	s.figures = figures / max(1, figures+others)
	s.runsOn, s.breaks = s.runsOn/max(1, pairs), s.breaks/max(1, pairs)
	return s
}

// measurePitch returns the usual distance from one row to the next, the widest, and how many rows have one cell.
func (t *tableCandidate) measurePitch() (usual, widest, lone float64) {
	tops, filled := make([]float64, t.rows), make([]int, t.rows)
	for i := range t.cells {
		c := &t.cells[i]
		tops[c.row], filled[c.row] = c.y1, filled[c.row]+1
	}
	steps := make([]float64, 0, t.rows)
	for r := 1; r < t.rows; r++ {
		step := max(0, tops[r]-tops[r-1])
		steps, widest = append(steps, step), max(widest, step)
	}
	for _, n := range filled {
		if n == 1 {
			lone++
		}
	}
	return median(steps), widest, lone
}

// leastGap returns the width of the narrowest gap between neighbouring columns.
func (t *tableCandidate) leastGap(columns [][]cellText) float64 {
	least, right, seen := 20*maxCoordinate, 0.0, false
	for _, column := range columns {
		if len(column) == 0 {
			continue
		}
		left, end := column[0].x0, column[0].x1
		for _, c := range column {
			left, end = min(left, c.x0), max(end, c.x1)
		}
		if seen {
			least = min(least, max(0, left-right))
		}
		right, seen = end, true
	}
	return least
}

// typeSizeRatio returns how many times as large the largest type of a cell is as the smallest.
func (t *tableCandidate) typeSizeRatio() float64 {
	var sizes []float64
	for i := range t.cells {
		for _, s := range t.cells[i].segments {
			if s.size > 0 {
				sizes = append(sizes, s.size)
			}
		}
	}
	if len(sizes) == 0 {
		return 1
	}
	return min(slices.Max(sizes)/slices.Min(sizes), 10)
}

// TableFeatureNames returns the names of the features, in order.
func TableFeatureNames() []string { return tableFeatureNames }
