package layout

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// tableLine is a row as a table may have it: with its parts that stand apart, from left to right.
type tableLine struct {
	row
	cells []segment
	// several says that it has text in several places, as rows of a table have.
	several bool
	// labelEdge is where its first cell ends, if that goes on in the next line and its blanks may be stretched to
	// there; else 0.
	labelEdge float64
	// parts are the rows that it was joined of, whose cells stand in the middle of its height.
	parts []row
}

// rowGroup is a stretch of the rows of a leaf: lines of text, or a table.
type rowGroup struct {
	rows  []row
	table *table
}

// textSetting is what is known of the text among which tables are looked for. Lines across the page help to tell where
// a table begins and ends.
type textSetting struct {
	em     float64 // the size of most of its type
	textEm float64 // the same as letters tell it
	across rulingsAcross
	style  *styles
}

// aligner finds tables that no grid of lines rules: rows whose text stands in columns.
type aligner struct {
	textSetting
	height   float64             // of the page; 0 where the text is turned
	disabled bool                // no tables are wanted
	numbers  map[numberParts]int // how often numbers of several parts end rows
	// judge decides in the place of the model which rows and columns are tables, if it is set.
	judge func(TableSample) bool
}

// splitRowGroups parts the rows of a leaf into text and tables.
func (a *aligner) splitRowGroups(rows []row) []rowGroup {
	if a.disabled {
		return []rowGroup{{rows: rows}}
	}
	lines := make([]tableLine, len(rows))
	for i, r := range rows {
		lines[i] = tableLine{row: r, cells: a.splitRowCells(r)}
	}
	lines, rows = joinCentredRows(lines, rows)
	a.joinStretchedLabels(lines)
	for i := range lines {
		lines[i].several = a.hasSeveralCells(lines[i].cells) && !a.isAtPageEdge(rows, i)
	}
	if isContentsRows(lines) { // entries without dots are no table's rows either
		for i := range lines {
			n := len(lines[i].cells)
			if n == 2 && isNumeric(segmentsText(lines[i].cells[1:])) || trailingPageNumber(lines[i]) > 0 {
				lines[i].several = false
			}
		}
	}
	leaveStretchedLines(lines, a.textSetting)
	leaveContents(lines, a.style)
	leaveOptions(lines)
	var out []rowGroup
	runs := tableRuns{a.textSetting, lines}
	start := 0
	for i := 0; i < len(rows); {
		if !lines[i].several || i+1 < len(rows) && isNumberedHeading(lines[i+1], lines[i]) {
			i++
			continue
		}
		first, end := runs.findRun(i, start)
		first, end = runs.splitRun(first, end)
		t := a.buildTable(lines[first:end])
		if t == nil || a.isJustifiedText(t, lines, first, end) {
			i = max(i+1, end)
			continue
		}
		n := (wrappedRows{a.textSetting}).countTail(t, lines[end:])
		if n == 0 && end < len(lines) && lines[end-1].labelEdge > 0 {
			n = 1
		}
		if n > 0 {
			if whole := a.buildTable(lines[first : end+n]); whole != nil {
				t, end = whole, end+n
			}
		}
		if first > start {
			out = append(out, rowGroup{rows: rowsOf(lines[start:first])})
		}
		for _, part := range t.splitSideBySide(a.textSetting) {
			out = append(out, rowGroup{table: part})
		}
		start, i = end, end
	}
	if start < len(rows) {
		out = append(out, rowGroup{rows: rowsOf(lines[start:])})
	}
	return out
}

// leaveContents says of the rows of tables of contents without dots that they are no table's.
func leaveContents(lines []tableLine, st *styles) {
	find := contentsFinder{style: st}
	for _, l := range lines {
		find.lines = append(find.lines, segmentWords(l.cells))
	}
	for first, end := find.findRun(0); end > 0; first, end = find.findRun(end) {
		for i := first; i < end; i++ {
			lines[i].several = false
		}
	}
}

// splitRowCells returns the parts of a row that stand apart, from left to right.
func (a *aligner) splitRowCells(r row) []segment {
	tn := a.style.rotation
	out := make([]segment, 0, len(r.segments)+1)
	for _, s := range r.segments {
		start, right := 0, rect{}
		for i, w := range s.words {
			left := right
			right = tn.rotateRect(rectFromBox(w.GetBbox()))
			if i == 0 {
				continue
			}
			size := max(left.height(), right.height(), 0.7*a.em)
			if right.x0-left.x1 > wideGap*min(size, max(1.3*a.em, 0.6*s.size)) { // blanks of a title are wider than gaps of a table
				out = append(out, segmentPart(s, start, i, tn))
				start = i
			}
		}
		if start == 0 {
			out = append(out, s)
		} else {
			out = append(out, segmentPart(s, start, len(s.words), tn))
		}
	}
	slices.SortStableFunc(out, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	joined := out[:0]
	own := false // the words of the last are its own, and may be appended to
	for _, s := range out {
		if n := len(joined); n > 0 && s.x0-joined[n-1].x1 < 0.5*a.em {
			last := &joined[n-1]
			if !own {
				last.words, own = slices.Clip(last.words), true
			}
			last.words, last.rect = append(last.words, s.words...), last.rect.union(s.rect)
			continue
		}
		joined, own = append(joined, s), false
	}
	return joined
}

// isAtPageEdge reports whether a row stands at the upper or lower edge of the page, set apart from what is next to
// it: a running head or foot, which may have text in several places and is no table's row.
func (a *aligner) isAtPageEdge(rows []row, i int) bool {
	r := rows[i]
	switch {
	case a.height == 0:
		return false
	case r.y1 < 0.11*a.height:
		return i+1 == len(rows) || i == 0 && rows[i+1].y0-r.y1 > 0.7*a.em
	case r.y0 > 0.89*a.height:
		return i == 0 || i+1 == len(rows) && r.y0-rows[i-1].y1 > 0.7*a.em
	}
	return false
}

func segmentWords(segments []segment) []*inkstreamv1.Word {
	if len(segments) == 1 {
		return segments[0].words
	}
	var out []*inkstreamv1.Word
	for _, s := range segments {
		out = append(out, s.words...)
	}
	return out
}

// maxBareItemDistance is how far, in ems, the text of an item may be from a number that nothing else sets apart;
// farther, it is a column's.
const maxBareItemDistance = 1.6

// hasSeveralCells reports whether a row has text in several places, as rows of a table have, and is none of the
// things that look like it: an entry of a table of contents, an item of a list, a caption, code.
func (a *aligner) hasSeveralCells(cells []segment) bool {
	if len(cells) < 2 {
		return false
	}
	first := segmentsText(cells[:1])
	if len(cells) == 2 && (parseListMarker(first) != "" && first == parseListMarker(first) ||
		parseBareEnumerator(first).form != "" && cells[1].x0-cells[0].x1 < maxBareItemDistance*a.em) {
		return false
	}
	mono := 0
	for _, c := range cells {
		if hasLeaderDots(c) {
			return false
		}
		if a.style.isMonospaced(c.words) {
			mono++
		}
	}
	return mono < len(cells) && !isCaption(first)
}

// hasLeaderDots reports whether a segment has a row of dots that leads from an entry to its page.
func hasLeaderDots(s segment) bool {
	dots := 0
	for _, w := range s.words {
		text := w.GetText()
		if len(text) > 3 && strings.Contains(text, "....") || len(text) > 6 && strings.Contains(text, "…") {
			return true
		}
		if text == "." || text == ".." || text == "..." {
			dots++
		}
	}
	return dots >= 4
}

// buildTable makes a table of rows; nil if they are none.
func (a *aligner) buildTable(rows []tableLine) *table {
	var several []tableLine
	for _, r := range rows {
		if r.several {
			several = append(several, r)
		}
	}
	if len(several) < 2 || len(rows) < 3 && !a.isFramed(rows) {
		return nil
	}
	columns := columnFinder{a.textSetting}
	gaps := columns.findGutters(several)
	const mostColumns = 100 // more than that is no table but a pattern
	if len(gaps) == 0 || len(gaps) >= mostColumns {
		return nil
	}
	t := columns.fillTable(rows, gaps)
	joinMarkColumns(t)
	joinHeadColumns(t)
	joinHeadlessColumns(t, a.em)
	joinBlankColumns(t, a.em)
	candidate := tableCandidate{textSetting: a.textSetting, table: t, several: len(several)}
	for i := range rows {
		if rows[i].parts != nil {
			candidate.centred++
		}
	}
	if candidate.centred == 0 {
		wrappedRows{a.textSetting}.merge(t)
	}
	t.trimEmptyCells()
	if !t.isPlausible() || t.isChartNoise() || areItems(t, a.across) || !candidate.isTable(a.judge) {
		return nil
	}
	t.findHeader()
	return t
}

// isFramed reports whether lines run above and below the rows.
func (a *aligner) isFramed(rows []tableLine) bool {
	first, last := rows[0], rows[len(rows)-1]
	return a.across.hasBetween(first.y0-1.5*a.em, first.y0, first.x0, first.x1) &&
		a.across.hasBetween(last.y1, last.y1+1.5*a.em, last.x0, last.x1)
}

// joinMarkColumns joins columns that hold nothing but signs (a currency, a percent sign, a note's mark) with the
// figures that they belong to.
func joinMarkColumns(t *table) {
	marks, total := make([]int, t.columns), make([]int, t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		if c.columnSpan > 1 {
			continue
		}
		total[c.column]++
		if text := segmentsText(c.segments); countLetters(text) == 0 && !isNumeric(text) || text == "%" {
			marks[c.column]++
		}
	}
	for j := t.columns - 1; j >= 0; j-- {
		if total[j] == 0 || marks[j] < total[j] {
			continue
		}
		into := j // the column on the right moves here
		if j == t.columns-1 || j > 0 && strings.Contains("%)*", firstColumnText(t, j)) {
			into = j - 1
		}
		if into < 0 {
			continue
		}
		t.joinColumns(into)
	}
}

// joinHeadColumns joins a column that holds nothing but its head, in the first row or the last above figures, with a
// neighbour that lacks one: a head need not stand above any of the figures below it, where those are aligned at the
// other edge.
func joinHeadColumns(t *table) {
	const fewest = 2 // cells below a head
	last := max(0, min(t.firstFigureRow(), mostHeadRows)-1)
	count, figures := make([]int, t.columns), make([]int, t.columns)
	headed, spanned := make([]bool, t.columns), make([]bool, t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		if count[c.column]++; isNumeric(segmentsText(c.segments)) {
			figures[c.column]++
		}
		headed[c.column] = headed[c.column] || c.row == last
		for j := c.column; j < min(c.column+c.columnSpan, t.columns) && c.columnSpan > 1; j++ {
			spanned[j] = true
		}
	}
	for j := t.columns - 1; j > 0; j-- {
		head, body := j-1, j
		if headed[j] {
			head, body = j, j-1
		}
		if count[head] == 1 && headed[head] && !headed[body] && count[body] >= fewest && 2*figures[body] >= count[body] &&
			!spanned[j] && !spanned[j-1] {
			t.joinColumns(j - 1)
			j-- // the one that was joined is done
		}
	}
}

// joinHeadlessColumns joins a column with the one on its left where it is nothing but the last words of a few of its
// cells, behind the wide blanks of justified lines: it has no head, where all others have one.
func joinHeadlessColumns(t *table, em float64) {
	const most, widest = 0.5, 2.5 // the share of the left column's cells; ems
	first, headed := t.firstFigureRow(), make([]bool, t.columns)
	for i := range t.cells {
		if c := &t.cells[i]; c.row < first {
			for j := c.column; j < min(c.column+c.columnSpan, t.columns); j++ {
				headed[j] = true
			}
		}
	}
	headless := slices.Index(headed, false)
	if first == 0 || headless < 1 || slices.Contains(headed[headless+1:], false) {
		return
	}
	left, count := make([]*tableCell, t.rows), 0
	var right []*tableCell
	for i := range t.cells {
		switch c := &t.cells[i]; {
		case c.column == headless:
			right = append(right, c)
		case c.column == headless-1 && c.columnSpan == 1 && c.row >= first:
			left[c.row], count = c, count+1
		}
	}
	for _, c := range right {
		if before := left[c.row]; before == nil || c.columnSpan > 1 || isNumeric(segmentsText(c.segments)) || c.x0-before.x1 > widest*em {
			return
		}
	}
	if float64(len(right)) < most*float64(count) {
		t.joinColumns(headless - 1)
	}
}

// firstFigureRow returns the first row with a figure behind its first cell; 0 if there is none, or no row above it.
func (t *table) firstFigureRow() int {
	first := t.rows
	for i := range t.cells {
		if c := &t.cells[i]; c.column > 0 && c.row < first && isNumeric(segmentsText(c.segments)) && !isYear(segmentsText(c.segments)) {
			first = c.row
		}
	}
	return first % t.rows
}

func firstColumnText(t *table, column int) string {
	for i := range t.cells {
		if t.cells[i].column == column {
			return segmentsText(t.cells[i].segments)
		}
	}
	return ""
}

// joinColumns makes one column of a column and the next.
func (t *table) joinColumns(column int) {
	out := t.cells[:0]
	for _, c := range t.cells {
		end := c.column + c.columnSpan
		if c.column > column {
			c.column--
		}
		if end > column+1 {
			end--
		}
		c.columnSpan = max(1, end-c.column)
		if n := len(out); n > 0 && out[n-1].row == c.row && out[n-1].column == c.column {
			p := &out[n-1]
			p.segments, p.rect = append(p.segments, c.segments...), p.rect.union(c.rect)
			p.columnSpan = max(p.columnSpan, c.columnSpan)
			continue
		}
		out = append(out, c)
	}
	t.cells = out
	t.columns--
}

// isChartNoise reports whether the text is what a recogniser makes of a chart or a drawing, such as labels that run
// upwards: single characters for the most part, of which it is not sure, or nothing else, or signs and figures that it
// doubts altogether.
func (t *table) isChartNoise() bool {
	const unsure, nearlySure, doubtful = 0.75, 0.9, 0.65 // confidence of the words on average
	words, single, lettered, sure := 0, 0, 0, float32(0)
	for i := range t.cells {
		for _, s := range t.cells[i].segments {
			for _, w := range s.words {
				words++
				if countLetters(w.GetText()) <= 1 {
					single++
				} else if !strings.ContainsFunc(w.GetText(), unicode.IsDigit) {
					lettered++
				}
				if w.Confidence == nil {
					sure++
				} else {
					sure += w.GetConfidence()
				}
			}
		}
	}
	n := float32(words)
	return 2*single > words && sure < unsure*n || single == words && sure < nearlySure*n || 4*lettered < words && sure < doubtful*n
}

// countAlignedBoxes returns how many boxes share their left edge, their right edge or their middle with most others.
func countAlignedBoxes(boxes []rect, slack float64) int {
	best := 0
	for _, at := range []func(rect) float64{
		func(r rect) float64 { return r.x0 },
		func(r rect) float64 { return r.x1 },
		func(r rect) float64 { return (r.x0 + r.x1) / 2 },
	} {
		places := make([]float64, len(boxes))
		for i, b := range boxes {
			places[i] = at(b)
		}
		slices.Sort(places)
		for i, j := 0, 0; i < len(places); i++ {
			for places[i]-places[j] > 2*slack {
				j++
			}
			best = max(best, i-j+1)
		}
	}
	return best
}
