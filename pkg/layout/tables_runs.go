package layout

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minRunGap is the least room, in ems, above a row at which a run of rows is parted, minRunGapRatio how many times
	// the usual room between its rows that is.
	minRunGap, minRunGapRatio = 1.2, 2
	// minSplitRows is how many rows with text in several places a part has at least.
	minSplitRows = 3
	// maxSplitPlaces is at how many places a run is tried to be parted.
	maxSplitPlaces = 32
)

// tableRuns finds the runs of a leaf's rows that may be tables.
type tableRuns struct {
	textSetting
	rows []tableLine
}

// findRun returns the rows that may be a table around row i, which has text in several places; none before
// start. Rows with text in one place belong to it between others: headings of groups, and what a cell's text wraps
// to.
func (r *tableRuns) findRun(i, start int) (first, end int) {
	rows := r.rows
	x0, x1 := rows[i].x0, rows[i].x1
	end = i + 1
	singles, wide := 0, 0
	last := end
	for ; end < len(rows) && (end-last < 4 || r.continuesCell(rows[last-1], rows[end-1])); end++ {
		prev, cur := rows[end-1], rows[end]
		gap := cur.y0 - prev.y1
		limit := 2.2
		if cur.several && prev.several {
			limit = 3.5
		}
		if gap > limit*r.em || isNumberedHeading(rows[i], cur) || r.isTextBelowRule(prev, cur, x0, x1) || r.isNoteBelow(prev, cur, x0) ||
			(repeatsHead(rows[i:end], cur) || repeatsHeadLabel(rows[i], cur)) && r.standsApart(i, end) {
			break
		}
		if cur.several || r.partColumns(rows[last-1], &rows[end]) {
			x0, x1 = min(x0, cur.x0), max(x1, cur.x1)
			last, singles, wide = end+1, 0, 0
			continue
		}
		if singles > 0 && r.across.hasBetween(prev.y1, cur.y0, x0, x1) && !r.beginsLabel(end) || isHeadingBetween(rows[i], cur) ||
			r.isListHeading(i, end) || r.isBelowLastRule(prev, cur, x0, x1) || r.isItemBelow(rows[i], cur) {
			break
		}
		if singles++; (isProseRow(cur, x0, x1) || cur.x1 > x1+4*r.em) && !r.continuesCell(rows[last-1], cur) {
			wide++
		}
		if wide > 0 && singles > 1 { // lines of a paragraph
			break
		}
	}
	end = r.extendTail(last, x0, x1)
	first = i
	if i > start && r.isSpanningHead(i-1, x0) {
		first = i - 1
	}
	for k := first - 1; k >= start && k >= i-3; k-- { // what stands between the table's top line and its first row
		if rows[k+1].y0-rows[k].y1 > 1.5*r.em || isHeadingBetween(rows[i], rows[k]) || isProseRow(rows[k], x0, x1) ||
			k > 0 && r.isListHeading(i, k) {
			break
		}
		if k == 0 || r.across.hasBetween(rows[max(k-1, 0)].y1, rows[k].y0, x0, x1) {
			if r.across.hasBetween(rows[k].y0-2.5*r.em, rows[k].y0+1, x0, x1) && !r.isBetweenTables(k, x0, x1) {
				first = k
			}
			break
		}
	}
	return first, end
}

// isSpanningHead reports whether row k, with text in one place, heads several columns of the table that begins below it
// and whose left edge is at x0: a line runs between the two, whole or in pieces, over these columns and no others, with
// the text in the middle of it. A line over all columns closes a caption.
func (r *tableRuns) isSpanningHead(k int, x0 float64) bool {
	const margin, room, centred = 1.0, 1.5, 1.5 // ems
	head, row := r.rows[k], r.rows[k+1]
	if head.several || row.y0-head.y1 > room*r.em {
		return false
	}
	line := r.across.extentBetween(head.y1-1.5, row.y0+1.5)
	if line.from < x0+margin*r.em || head.x0 < line.from || head.x1 > line.to ||
		math.Abs(head.x0+head.x1-line.from-line.to) > 2*centred*r.em {
		return false
	}
	below := 0
	for _, c := range row.cells {
		if c.x0 > line.from-margin*r.em && c.x1 < line.to+margin*r.em {
			below++
		}
	}
	return below >= 2
}

// continuesCell reports whether a row stands below a cell of a row above and within its column: text of a cell may take
// many lines. Below the first cell other text may begin, but not in the middle of a sentence, nor below the text that
// only a blank parts from the row's number.
func (r *tableRuns) continuesCell(above, row tableLine) bool {
	const slack = 0.3 // ems
	if first := &above.cells[0]; len(above.cells) > 1 && len(first.words) > 1 && isNumeric(first.words[0].GetText()) {
		text := r.style.rotation.rotateRect(rectFromBox(first.words[1].GetBbox()))
		if math.Abs(text.x0-row.x0) < slack*r.em {
			return !row.several && row.x1 < above.cells[1].x0
		}
	}
	for i := range above.cells {
		if i == 0 && !startsLower(segmentsText(row.cells[:1])) {
			continue
		}
		if math.Abs(above.cells[i].x0-row.x0) < slack*r.em {
			return !row.several && (i+1 == len(above.cells) || row.x1 < above.cells[i+1].x0)
		}
	}
	return false
}

// beginsLabel reports whether row k is the first line of a label whose other cells stand in the middle of its height:
// the row with those begins above its lower edge, where it does on the left.
func (r *tableRuns) beginsLabel(k int) bool {
	const slack = 0.3 // ems
	if k+1 == len(r.rows) {
		return false
	}
	label, next := r.rows[k], r.rows[k+1]
	return next.several && next.y0 < label.y1 && math.Abs(next.x0-label.x0) < slack*r.em && label.x1 < next.cells[1].x0
}

// extendTail takes in rows after the last with text in several places that only go on with one of its cells:
// they stand close under it, and within the table's bottom line if it has one.
func (r *tableRuns) extendTail(end int, x0, x1 float64) int {
	const few, most = 2, 12 // of any cell; of one that is known to go on
	rows := r.rows
	for k := end; k < min(end+most, len(rows)) && (k < end+few || r.continuesCell(rows[end-1], rows[k])); k++ {
		if rows[k].several || rows[k].y0-rows[k-1].y1 > 0.8*r.em || r.across.hasBetween(rows[k-1].y1, rows[k].y0, x0, x1) {
			break
		}
		bottom := rows[k].y1 + 1.5*r.em
		if k+1 < len(rows) {
			bottom = min(bottom, max(rows[k].y1, rows[k+1].y0))
		}
		if r.across.hasBetween(rows[k].y1-1, bottom, x0, x1) {
			return k + 1
		}
	}
	return end
}

// partColumns parts a row of one piece, such as a total, where only a blank stands between its text and a figure: this
// ends where the last cell of the row above does, and the text where the cell before that ends, or further left.
func (r *tableRuns) partColumns(above tableLine, row *tableLine) bool {
	const slack = 0.3 // ems
	n := len(above.cells)
	if len(row.cells) != 1 || n < 2 || len(row.cells[0].words) < 2 {
		return false
	}
	s := row.cells[0]
	at := len(s.words) - 1
	text, figure := segmentPart(s, 0, at, r.style.rotation), segmentPart(s, at, at+1, r.style.rotation)
	if !isNumeric(segmentsText([]segment{figure})) || !isNumeric(segmentsText(above.cells[n-1:])) ||
		math.Abs(figure.x1-above.cells[n-1].x1) > slack*r.em || text.x1 > above.cells[n-2].x1+slack*r.em {
		return false
	}
	row.cells, row.several = []segment{text, figure}, true
	return true
}

// isListHeading reports whether row k, with text in one place, is a heading in a list of names and figures that a row
// belongs to: it is bold, as the row is not, and there is more room above than below it.
func (r *tableRuns) isListHeading(i, k int) bool {
	const columns, more = 2, 0.15 // ems
	rows := r.rows
	if len(rows[i].cells) != columns || !isNumeric(segmentsText(rows[i].cells[1:])) || k+1 == len(rows) ||
		rows[k].y0-rows[k-1].y1 < rows[k+1].y0-rows[k].y1+more*r.em {
		return false
	}
	isBold := func(line tableLine) bool { return r.style.lineStyleOf(segmentWords(line.segments)).bold }
	return isBold(rows[k]) && !isBold(rows[i])
}

// isItemBelow reports whether a row counts an item of what the first of two cells names, as the movements of a piece
// are counted below it in a programme, whose players stand at the ends of the lines: those are no tables.
func (r *tableRuns) isItemBelow(head, row tableLine) bool {
	const columns, indent = 2, 0.6 // ems
	words := segmentWords(row.segments)
	return len(head.cells) == columns && !isNumeric(segmentsText(head.cells[1:])) && len(words) > 1 &&
		row.x0 > head.cells[0].x0+indent*r.em && row.x1 < head.cells[1].x0 && parseLatinEnumerator(words[0].GetText()) != ""
}

// isBetweenTables reports whether the line above a row closes another table, and a line below the row begins one.
func (r *tableRuns) isBetweenTables(k int, x0, x1 float64) bool {
	return k > 0 && r.rows[k-1].several && r.across.hasBetween(r.rows[k].y1, r.rows[k+1].y0, x0, x1)
}

// standsApart reports whether more room than between its rows sets what follows a table, of the rows from first to
// before end, apart from it: row end, or what heads that.
func (r *tableRuns) standsApart(first, end int) bool {
	const more = 0.3 // ems
	usual := usualRowGap(r.rows[first:end])
	for k := end; k > first; k-- {
		if r.rows[k-1].several {
			return r.rows[k].y0-r.rows[k-1].y1 > usual+more*r.em
		}
	}
	return false
}

// isBelowLastRule reports whether a line runs close below a row and much room lies between that line and the next
// text: it closes the table, and what follows heads another.
func (r *tableRuns) isBelowLastRule(row, next tableLine, x0, x1 float64) bool {
	const near, room = 0.8, 1.0
	return next.y0-row.y1 > (near+room)*r.em && r.across.hasBetween(row.y1, row.y1+near*r.em, x0, x1) &&
		!r.across.hasBetween(row.y1+near*r.em, next.y0, x0, x1)
}

// isTextBelowRule reports whether a line that is as wide as a table runs between its row and the next, which is running
// text and reaches beyond the line on both sides: text below the table, whose blanks are wide by chance.
func (r *tableRuns) isTextBelowRule(row, next tableLine, x0, x1 float64) bool {
	const beyond, slack, words = 1.0, 0.5, 7 // ems, and words
	line := r.across.longestBetween(row.y1-1.5, next.y0+1.5)
	return line.to > line.from && line.from < x0+slack*r.em && line.to > x1-slack*r.em && countRowWords(next.row) > words &&
		next.x0 < line.from-beyond*r.em && next.x1 > line.to+beyond*r.em
}

// isNoteBelow reports whether a line that begins at the left edge, which may be short, parts a row from the next, and
// that is a note: a mark and, set apart from it but before the next column, words.
func (r *tableRuns) isNoteBelow(row, next tableLine, left float64) bool {
	const words, mark, slack = 2, 3, 1.0 // words of a note at least, characters of a mark at most, ems
	if len(next.cells) != 2 || len(row.cells) < 2 || len(next.cells[1].words) < words {
		return false
	}
	if line := r.across.longestBetween(row.y1, next.y0); line.to == line.from || math.Abs(line.from-left) > slack*r.em {
		return false
	}
	first, text := segmentsText(next.cells[:1]), segmentsText(next.cells[1:])
	n := utf8.RuneCountInString(first)
	return n <= mark && (n == 1 || !strings.ContainsFunc(first, unicode.IsLetter)) && !isNumeric(text) &&
		next.cells[1].x0 < row.cells[1].x0
}

// splitRun returns the first part of a run that may be a table, where they are two tables, or a table and what only
// stands in line with it: apart from each other the parts have more columns than together.
func (r *tableRuns) splitRun(first, end int) (int, int) {
	rows, columns := r.rows, columnFinder{r.textSetting}
	whole := columns.countColumns(rows[first:end])
	if whole == 0 {
		return first, end
	}
	usual := usualRowGap(rows[first:end])
	best, at, tried := 0, 0, 0
	for k := first + 1; k < end && tried < maxSplitPlaces; k++ {
		gap := rows[k].y0 - rows[k-1].y1
		wide := gap > max(minRunGap*r.em, minRunGapRatio*usual)
		if !wide && rows[k].several {
			continue
		}
		tried++
		upper, lower := columns.countColumns(rows[first:k]), columns.countColumns(rows[k:end])
		tall, deep := countSeveral(rows[first:k]) >= minSplitRows, countSeveral(rows[k:end]) >= minSplitRows
		parted := upper > whole && lower > whole || wide && (lower > whole && deep || upper > whole && tall ||
			whole > max(upper, lower) && min(upper, lower) > 2 && tall && deep) // columns of one do not stand below those of the other
		if parted && upper+lower > best {
			best, at = upper+lower, k
		}
	}
	if best == 0 {
		return first, end
	}
	end = at
	for end > first+1 && !rows[end-1].several {
		end--
	}
	return first, end
}

// largerThanTable is how many times as large as a table's type that of a line is which is no part of the table.
const largerThanTable = 1.12

// isHeadingBetween reports whether a row with text in one place is none of the table that a row belongs to: a caption,
// or a heading in larger type.
func isHeadingBetween(row, single tableLine) bool {
	return single.largestType() > largerThanTable*row.largestType() || isCaption(segmentsText(single.segments))
}

// isNumberedHeading reports whether a row is a heading with its number set apart, in larger type than the table that a
// row belongs to.
func isNumberedHeading(row, heading tableLine) bool {
	if len(heading.cells) != 2 || heading.largestType() <= largerThanTable*row.largestType() {
		return false
	}
	number := segmentsText(heading.cells[:1])
	return number != "" && strings.Trim(number, "0123456789.") == ""
}

// repeatsHead reports whether a row says the same as the first of the rows of a table, or as one below a row with text
// in one place, but for one cell at most, and has no figures, as where another table begins.
func repeatsHead(rows []tableLine, row tableLine) bool {
	const first, fewest = 6, 2 // rows, and cells that are the same
	for i := range row.cells {
		if text := segmentsText(row.cells[i : i+1]); isNumeric(text) && !isYear(text) {
			return false
		}
	}
	for k, head := range rows[:min(first, len(rows))] {
		if len(head.cells) != len(row.cells) || k > 0 && rows[k-1].several {
			continue
		}
		same := 0
		for i := range row.cells {
			if text := segmentsText(row.cells[i : i+1]); text == segmentsText(head.cells[i:i+1]) && countLetters(text) > 0 {
				same++
			}
		}
		if same >= max(fewest, len(row.cells)-1) {
			return true
		}
	}
	return false
}

// repeatsHeadLabel reports whether a row has as many cells as the first of a table, but for one, and begins with the
// same word, and not with a figure, as the heads of timetables one below the other do, whose other cells are numbers
// of trains.
func repeatsHeadLabel(head, row tableLine) bool {
	const fewest = 3 // cells
	if n := len(row.cells) - len(head.cells); n < -1 || n > 1 || min(len(row.cells), len(head.cells)) < fewest {
		return false
	}
	label := segmentsText(row.cells[:1])
	return label == segmentsText(head.cells[:1]) && countLetters(label) > 0 && !isNumeric(label)
}

// largestType returns the size of the largest type in a row.
func (r *row) largestType() float64 {
	size := 0.0
	for i := range r.segments {
		size = max(size, r.segments[i].size)
	}
	return size
}

func countSeveral(rows []tableLine) int {
	n := 0
	for i := range rows {
		if rows[i].several {
			n++
		}
	}
	return n
}

// usualRowGap returns the median of the room between rows.
func usualRowGap(rows []tableLine) float64 {
	gaps := make([]float64, 0, len(rows))
	for i := 1; i < len(rows); i++ {
		gaps = append(gaps, max(0, rows[i].y0-rows[i-1].y1))
	}
	return median(gaps)
}

// isProseRow reports whether a row reads as a line of running text over most of a table's width.
func isProseRow(r tableLine, x0, x1 float64) bool {
	return r.width() > 0.75*(x1-x0) && countRowWords(r.row) > 7
}

func countRowWords(r row) int {
	n := 0
	for _, s := range r.segments {
		n += len(s.words)
	}
	return n
}
