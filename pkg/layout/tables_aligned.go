package layout

import (
	"cmp"
	"math"
	"slices"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// tableLine is a row as a table may have it: with its parts that stand apart, from left to right.
type tableLine struct {
	row
	cells []segment
	// several says that it has text in several places, as rows of a table have.
	several bool
}

// rowGroup is a stretch of the rows of a leaf: lines of text, or a table.
type rowGroup struct {
	rows  []row
	table *table
}

// aligner finds tables that no grid of lines rules: rows whose text stands in columns. Lines across the page help it
// to tell where a table begins and ends.
type aligner struct {
	em       float64
	across   []ruling
	style    *styles
	height   float64 // of the page; 0 where the text is turned
	disabled bool    // no tables are wanted
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
	var out []rowGroup
	start := 0
	for i := 0; i < len(rows); {
		if !lines[i].several {
			i++
			continue
		}
		first, end := a.findTableRun(lines, i, start)
		first, end = a.splitRun(lines, first, end)
		t := a.buildTable(lines[first:end])
		if t == nil || a.isJustifiedText(t, lines, first, end) {
			i = max(i+1, end)
			continue
		}
		if n := a.countTailRows(t, lines[end:]); n > 0 {
			if whole := a.buildTable(lines[first : end+n]); whole != nil {
				t, end = whole, end+n
			}
		}
		if first > start {
			out = append(out, rowGroup{rows: rows[start:first]})
		}
		for _, part := range a.splitBesideTables(t) {
			out = append(out, rowGroup{table: part})
		}
		start, i = end, end
	}
	if start < len(rows) {
		out = append(out, rowGroup{rows: rows[start:]})
	}
	return out
}

// splitRowCells returns the parts of a row that stand apart, from left to right.
func (a *aligner) splitRowCells(r row) []segment {
	tn := a.style.rotation
	var out []segment
	for _, s := range r.segments {
		start := 0
		for i := 1; i < len(s.words); i++ {
			left, right := tn.rotateRect(rectFromBox(s.words[i-1].GetBbox())), tn.rotateRect(rectFromBox(s.words[i].GetBbox()))
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
	for _, c := range cells {
		if hasLeaderDots(c) || a.style.isMonospaced(c.words) {
			return false
		}
	}
	return !isCaption(first)
}

// hasLeaderDots reports whether a segment has a row of dots that leads from an entry to its page.
func hasLeaderDots(s segment) bool {
	dots := 0
	for _, w := range s.words {
		text := w.GetText()
		if strings.Contains(text, "....") || strings.Contains(text, "…") && len(text) > 6 {
			return true
		}
		if text == "." || text == ".." || text == "..." {
			dots++
		}
	}
	return dots >= 4
}

// hasRulingBetween reports whether a line across runs between two rows, along most of their width.
func (a *aligner) hasRulingBetween(y0, y1, x0, x1 float64) bool {
	first, _ := slices.BinarySearchFunc(a.across, y0-1.5, func(r ruling, y float64) int { return cmp.Compare(r.at, y) })
	for _, r := range a.across[first:] {
		if r.at > y1+1.5 {
			return false
		}
		if min(r.to, x1)-max(r.from, x0) >= 0.6*(x1-x0) {
			return true
		}
	}
	return false
}

// findTableRun returns the rows that may be a table around row i, which has text in several places; none before
// start. Rows with text in one place belong to it between others: headings of groups, and what a cell's text wraps
// to.
func (a *aligner) findTableRun(rows []tableLine, i, start int) (first, end int) {
	x0, x1 := rows[i].x0, rows[i].x1
	end = i + 1
	singles, wide := 0, 0
	last := end
	for ; end < len(rows) && (end-last < 4 || a.continuesCell(rows[last-1], rows[end-1])); end++ {
		prev, cur := rows[end-1], rows[end]
		gap := cur.y0 - prev.y1
		limit := 2.2
		if cur.several && prev.several {
			limit = 3.5
		}
		if gap > limit*a.em || isNumberedHeading(rows[i], cur) || repeatsHead(rows[i:end], cur) && standsApart(a, rows[i:end], cur) {
			break
		}
		if cur.several {
			x0, x1 = min(x0, cur.x0), max(x1, cur.x1)
			last, singles, wide = end+1, 0, 0
			continue
		}
		if singles > 0 && a.hasRulingBetween(prev.y1, cur.y0, x0, x1) || isHeadingBetween(rows[i], cur) || isListHeading(a, rows, i, end) || a.isBelowLastRule(prev, cur, x0, x1) {
			break
		}
		if singles++; isProseRow(cur, x0, x1) || cur.x1 > x1+4*a.em {
			wide++
		}
		if wide > 0 && singles > 1 { // lines of a paragraph
			break
		}
	}
	end = a.extendTableTail(rows, last, x0, x1)
	first = i
	for k := i - 1; k >= start && k >= i-3; k-- { // what stands between the table's top line and its first row
		if rows[k+1].y0-rows[k].y1 > 1.5*a.em || isCaption(segmentsText(rows[k].segments)) || isProseRow(rows[k], x0, x1) {
			break
		}
		if k == 0 || a.hasRulingBetween(rows[max(k-1, 0)].y1, rows[k].y0, x0, x1) {
			if a.hasRulingBetween(rows[k].y0-2.5*a.em, rows[k].y0+1, x0, x1) && !isBetweenTables(a, rows, k, x0, x1) {
				first = k
			}
			break
		}
	}
	return first, end
}

// continuesCell reports whether a row stands below a cell of a row above, other than the first, and within its column: text of a cell may
// take many lines.
func (a *aligner) continuesCell(above, row tableLine) bool {
	const slack = 0.3 // ems
	for i := 1; i < len(above.cells); i++ {
		if math.Abs(above.cells[i].x0-row.x0) < slack*a.em {
			return !row.several && (i+1 == len(above.cells) || row.x1 < above.cells[i+1].x0)
		}
	}
	return false
}

// extendTableTail takes in rows after the last with text in several places that only go on with one of its cells:
// they stand close under it, and within the table's bottom line if it has one.
func (a *aligner) extendTableTail(rows []tableLine, end int, x0, x1 float64) int {
	for k := end; k < min(end+2, len(rows)); k++ {
		if rows[k].several || rows[k].y0-rows[k-1].y1 > 0.8*a.em || a.hasRulingBetween(rows[k-1].y1, rows[k].y0, x0, x1) {
			break
		}
		if a.hasRulingBetween(rows[k].y1-1, rows[k].y1+1.5*a.em, x0, x1) {
			return k + 1
		}
	}
	return end
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
	gaps := a.findGutters(several)
	const mostColumns = 100 // more than that is no table but a pattern
	if len(gaps) == 0 || len(gaps) >= mostColumns {
		return nil
	}
	t := a.fillTable(rows, gaps)
	joinMarkColumns(t)
	a.mergeWrappedRows(t)
	t.trimEmptyCells()
	if !t.isPlausible() || t.isChartNoise() || !a.judgeTable(t, len(several)) {
		return nil
	}
	t.findHeader()
	return t
}

// isFramed reports whether lines run above and below the rows.
func (a *aligner) isFramed(rows []tableLine) bool {
	first, last := rows[0], rows[len(rows)-1]
	return a.hasRulingBetween(first.y0-1.5*a.em, first.y0, first.x0, first.x1) &&
		a.hasRulingBetween(last.y1, last.y1+1.5*a.em, last.x0, last.x1)
}

// findGutters returns the stretches that nearly all rows leave free: between words, for the blanks of running text do
// not stand one above the other.
func (a *aligner) findGutters(rows []tableLine) []span {
	type edge struct {
		x    float64
		open int
	}
	var at []edge
	x0, x1 := rows[0].x0, rows[0].x1
	for _, r := range rows {
		x0, x1 = min(x0, r.x0), max(x1, r.x1)
		for _, s := range r.segments {
			from, to := 0.0, -1.0
			for _, w := range s.words {
				b := a.style.rotation.rotateRect(rectFromBox(w.GetBbox()))
				if to >= from && b.x0 <= to+0.45*a.em && b.x0 >= from {
					to = max(to, b.x1)
					continue
				}
				if to >= from {
					at = append(at, edge{from, 1}, edge{to, -1})
				}
				from, to = b.x0, b.x1
			}
			if to >= from {
				at = append(at, edge{from, 1}, edge{to, -1})
			}
		}
	}
	slices.SortFunc(at, func(a, b edge) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.open, a.open)) })
	most := len(rows) / 7
	least := 0.45 * a.em
	sure := least // in few rows, blanks stand one above the other by chance, but for those before figures
	if len(rows) < 5 {
		most, sure = 0, 0.8*a.em
	}
	var out []span
	depth, from, free := 0, x0, false
	for _, e := range at {
		was := depth
		depth += e.open
		switch {
		case was <= most && depth > most:
			gap := span{from, e.x}
			if free && e.x-from >= least && (e.x-from >= sure || a.beginsFigures(rows, gap)) {
				out = append(out, gap)
			}
			free = false
		case was > most && depth <= most:
			from, free = e.x, true
		}
	}
	return out
}

// beginsFigures reports whether figures stand right of a gap and something left of it, in all rows but one at most.
func (a *aligner) beginsFigures(rows []tableLine, gap span) bool {
	figures := 0
	for _, r := range rows {
		left := false
		var right *inkstreamv1.Word
		for _, s := range r.segments {
			for _, w := range s.words {
				if a.style.rotation.rotateRect(rectFromBox(w.GetBbox())).x1 <= gap.from+1 {
					left = true
				} else if right == nil {
					right = w
				}
			}
		}
		if left && right != nil && isNumeric(right.GetText()) {
			figures++
		}
	}
	return figures > 1 && figures >= len(rows)-1
}

// fillTable puts the text of the rows into cells between the gutters.
func (a *aligner) fillTable(rows []tableLine, gaps []span) *table {
	t := &table{rect: rows[0].rect, rows: len(rows), columns: len(gaps) + 1}
	for r, line := range rows {
		t.rect = t.rect.union(line.rect)
		var parts []segment
		for _, s := range line.cells {
			parts = append(parts, a.cutSegment(s, gaps)...)
		}
		for _, s := range parts {
			first := columnIndex(gaps, s.x0+0.1*a.em)
			last := lastColumnIndex(gaps, first, s.rect, 0.1*a.em)
			if n := len(t.cells); n > 0 && t.cells[n-1].row == r && t.cells[n-1].column+t.cells[n-1].columnSpan > first {
				c := &t.cells[n-1]
				c.columnSpan = max(c.columnSpan, last-c.column+1)
				c.segments, c.rect = append(c.segments, s), c.rect.union(s.rect)
				continue
			}
			t.cells = append(t.cells, tableCell{
				rect: s.rect, row: r, column: first, rowSpan: 1, columnSpan: last - first + 1, segments: []segment{s},
			})
		}
	}
	return t
}

// columnIndex returns between which gutters a place is.
func columnIndex(gaps []span, x float64) int {
	n := 0
	for n < len(gaps) && x > (gaps[n].from+gaps[n].to)/2 {
		n++
	}
	return n
}

// lastColumnIndex returns between which gutters a text ends that begins in column first. In an inner column one that begins left of a
// gutter may reach into it without being in the column on its right, as a cell's text that goes on; in the first, it heads rows.
func lastColumnIndex(gaps []span, first int, text rect, slack float64) int {
	n := first
	for n < len(gaps) {
		limit := (gaps[n].from + gaps[n].to) / 2
		if first > 0 && text.x0 <= gaps[n].from {
			limit = gaps[n].to
		}
		if text.x1-slack <= limit {
			break
		}
		n++
	}
	return n
}

// cutSegment parts a segment where a blank between its words lies on a gutter.
func (a *aligner) cutSegment(s segment, gaps []span) []segment {
	var out []segment
	start := 0
	tn := a.style.rotation
	for i := 1; i < len(s.words); i++ {
		left, right := tn.rotateRect(rectFromBox(s.words[i-1].GetBbox())), tn.rotateRect(rectFromBox(s.words[i].GetBbox()))
		if right.x0-left.x1 < 0.42*a.em {
			continue
		}
		on := slices.ContainsFunc(gaps, func(g span) bool { return min(g.to, right.x0)-max(g.from, left.x1) > 0.25*a.em })
		if on {
			out = append(out, segmentPart(s, start, i, tn))
			start = i
		}
	}
	if start == 0 {
		return []segment{s}
	}
	return append(out, segmentPart(s, start, len(s.words), tn))
}

func segmentPart(s segment, start, end int, tn rotation) segment {
	out := newSegment(s.words[start:end:end], tn)
	out.order, out.rtl = s.order, s.rtl
	return out
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
// upwards: single characters for the most part, of which it is not sure.
func (t *table) isChartNoise() bool {
	words, single, sure := 0, 0, float32(0)
	for i := range t.cells {
		for _, s := range t.cells[i].segments {
			for _, w := range s.words {
				words++
				if countLetters(w.GetText()) <= 1 {
					single++
				}
				if w.Confidence == nil {
					sure++
				} else {
					sure += w.GetConfidence()
				}
			}
		}
	}
	return 2*single > words && sure < 0.75*float32(words)
}

// isTableFramed reports whether lines run above and below the table.
func (a *aligner) isTableFramed(t *table) bool {
	return a.hasRulingBetween(t.y0-1.5*a.em, t.y0+0.5*a.em, t.x0, t.x1) &&
		a.hasRulingBetween(t.y1-0.5*a.em, t.y1+1.5*a.em, t.x0, t.x1)
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
