package layout

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// columnSplitter tells which gutters of a band lie between columns of text.
type columnSplitter struct{ gutterJudge }

// splitColumns parts the segments of a band at those of its gutters that lie between columns of text. Gutters within
// a table part nothing. The columns stand one after the other in the band's own array, for columns within columns
// must not each take a page's memory.
func (c columnSplitter) splitColumns(band pageBand) [][]segment {
	parts, gaps := band.splitAtGutters()
	if len(parts) < 2 {
		return nil
	}
	starts := c.findListColumns(parts)
	if len(starts) == 0 && (c.areLabelledRows(parts) || c.areCentredCells(parts) || c.areRowsWithHead(parts) || c.haveHeadsAboveFigures(parts)) {
		return nil
	}
	ends := []int{len(parts[0])} // of the columns
	first := 0                   // part of the column in hand
	for i, part := range parts[1:] {
		last := len(ends) - 1
		if starts[i+1] || len(starts) == 0 && c.partsColumns(parts, gaps, first, i+1) {
			first = i + 1
			ends = append(ends, ends[last]+len(part))
		} else {
			ends[last] += len(part)
		}
	}
	if len(ends) < 2 {
		return nil
	}
	rtl, start := 0, 0
	copy(band.segments, slices.Concat(parts...))
	columns := make([][]segment, len(ends))
	for i, end := range ends {
		columns[i], start = band.segments[start:end:end], end
	}
	if len(columns) == 3 && c.countsLinesBeside(columns[1]) {
		columns[1], columns[2] = columns[2], columns[1] // text goes on in the next column
	}
	for _, s := range band.segments {
		if s.rtl {
			rtl++
		}
	}
	if 2*rtl > len(band.segments) {
		slices.Reverse(columns)
	}
	return columns
}

// splitAtGutters returns the segments of a band between its gutters, and the gutter left of each part.
func (b *pageBand) splitAtGutters() (parts [][]segment, gaps []span) {
	parts = make([][]segment, len(b.freeSpans)+1)
	for _, s := range b.segments {
		i, _ := slices.BinarySearchFunc(b.freeSpans, s.x0, func(g span, x float64) int { return cmp.Compare(g.from, x) })
		parts[i] = append(parts[i], s)
	}
	gaps = make([]span, 0, len(parts))
	for i := range parts {
		if len(parts[i]) > 0 {
			gaps = append(gaps, b.freeSpans[max(0, i-1)])
		}
	}
	return slices.DeleteFunc(parts, func(p []segment) bool { return len(p) == 0 }), gaps
}

// isTableOfRows reports whether a band is a table whose rows room sets apart, by its labels or its heads: a row by itself
// may look like columns of text.
func (c columnSplitter) isTableOfRows(band pageBand) bool {
	if len(band.freeSpans) == 0 {
		return false
	}
	parts, _ := band.splitAtGutters()
	if c.areLabelledRows(parts) || c.haveHeadsAboveFigures(parts) {
		return true
	}
	for i := 1; i < len(parts); i++ {
		if !areHeadedRows(buildSide(parts[i-1], c.em), buildSide(parts[i], c.em), c.em) {
			return false
		}
	}
	return len(parts) > 1
}

// partsColumns reports whether the gutter left of part at parts columns, of which the one on its left begins at part
// first.
func (c columnSplitter) partsColumns(parts [][]segment, gaps []span, first, at int) bool {
	left, right, gap := parts[at-1], parts[at], gaps[at]
	if isGutterByChance(left, right, gap, c.em) || c.haveFiguresOfRows(left, parts[at+1:]) || c.repeatCounters(parts[first:at], right) ||
		c.areMarkers(left, right, false) || c.areMarkers(right, left, true) || c.areEndsOfParts(parts[first:at], right) ||
		at+1 < len(parts) && c.areEndsOfParts(parts[at-1:at+1], parts[at+1]) {
		return false
	}
	return c.areSeparateColumns(left, right, gap, len(parts)-1) || c.areColumnsWithBlanks(parts, gaps, first, at) ||
		c.areColumnsWithLabels(parts, gaps, first, at) || c.areContentsColumns(parts[first:at], parts[at:]) ||
		c.areTablesSideBySide(parts[first:at], parts[at:]) || c.areRowsBesideText(parts, gaps, first, at)
}

// areEndsOfParts reports whether a part ends rows that begin in the first of several parts on its left, of which the
// others hold but lines that stand between those rows.
func (c columnSplitter) areEndsOfParts(parts [][]segment, right []segment) bool {
	const most = 3 // parts
	if len(parts) < 2 || len(parts) > most {
		return false
	}
	ends := buildSide(right, c.em)
	between, _ := matchSides(buildSide(slices.Concat(parts[1:]...), c.em), ends, c.em)
	return between == 0 && areEndsOfRows(buildSide(parts[0], c.em), ends, c.em)
}

// areRowsBesideText reports whether a table ends or begins at the gutter left of part at, and what stands on the other
// side is no part of its rows. The column on the left begins at part first.
func (c columnSplitter) areRowsBesideText(parts [][]segment, gaps []span, first, at int) bool {
	const most = 3 // parts of sums
	side := func(parts ...[]segment) []sideLine { return buildSide(slices.Concat(parts...), c.em) }
	left, right := side(parts[at-1]), side(parts[at])
	return c.haveOwnRows(left, right, gaps[at]) && c.haveOwnRows(side(parts[first:at]...), side(parts[at:]...), gaps[at]) ||
		at == first+1 && len(parts) <= at+most && isTextBesideSums(left, side(parts[at:]...), c.em)
}

// areMarkers reports whether segments are nothing but the markers of a list's items, each level with text on the other
// side: those read with it. Right of their text stand the markers of text that runs from right to left; else they are
// those of the next column's items.
func (c columnSplitter) areMarkers(segments, text []segment, toTheRight bool) bool {
	if toTheRight && !slices.ContainsFunc(text, func(s segment) bool { return s.rtl }) {
		return false
	}
	same := isRepeatedSign(segments)
	for i := range segments {
		if s := &segments[i]; s.table != nil || len(s.words) != 1 || !same && parseSpacedMarker(s.words[0].GetText()) == "" {
			return false
		}
	}
	markers := buildSide(segments, c.em)
	level, _ := matchSides(markers, buildSide(text, c.em), c.em)
	return level == len(markers)
}

// isRepeatedSign reports whether segments are one sign that comes again, neither letter nor figure: the bullets of a
// list, which fonts of symbols have at any place, or boxes to tick.
func isRepeatedSign(segments []segment) bool {
	const fewest = 3
	if len(segments) < fewest || len(segments[0].words) == 0 {
		return false
	}
	sign := segments[0].words[0].GetText()
	r, size := utf8.DecodeRuneInString(sign)
	return size == len(sign) && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Sc, r) &&
		!slices.ContainsFunc(segments, func(s segment) bool { return len(s.words) != 1 || s.words[0].GetText() != sign })
}

// isGutterByChance reports whether a gutter is no wider than the blanks of the few lines that run over it: those of
// typescript are as wide as gutters, and stand below each other by chance. Where nearly all lines begin again behind
// the gutter, it is one.
func isGutterByChance(left, right []segment, gutter span, em float64) bool {
	const few, fewestBlanks, wider, part = 5, 6, 1.2, 10 // lines, blanks, times as wide as a blank, and of how many rows one is run over
	const narrow = 1.0                                   // ems: as wide as the blank behind a sentence of a lone line may be
	byOrder := make(map[int]segment, len(left)+len(right))
	for _, s := range slices.Concat(left, right) {
		byOrder[s.order] = s
	}
	lines := 0
	var blanks []float64
	for order, s := range byOrder {
		before, found := byOrder[order-1]
		switch {
		case !found || !s.continuesLine:
		case before.x1 <= gutter.from+1 && s.x0 >= gutter.to-1:
			lines++
		default:
			blanks = append(blanks, s.x0-before.x1)
		}
	}
	if lines > 0 && min(len(left), len(right)) == 1 && gutter.to-gutter.from < narrow*em {
		return true
	}
	if lines == 0 || lines > few || len(blanks) < fewestBlanks || gutter.to-gutter.from >= wider*median(blanks) {
		return false
	}
	lefts, rights := buildSide(left, em), buildSide(right, em)
	both, _ := matchSides(lefts, rights, em)
	return part*lines >= both && !beginAtEdge(rights, em)
}

// beginAtEdge reports whether nearly all of several lines begin at one place, as the lines of a column do, and what
// stands behind blanks does not.
func beginAtEdge(lines []sideLine, em float64) bool {
	const fewest, share, slack = 8, 0.8, 0.1 // lines, ems
	starts := make([]float64, len(lines))
	for i, l := range lines {
		starts[i] = l.x0
	}
	return len(lines) >= fewest && alignedShare(starts, slack*em) >= share
}

// areLabelledRows reports whether parts are the columns of a table whose rows room sets apart: one holds text that
// wraps, the first and another a few words beside most beginnings of that text, and nothing begins elsewhere. Columns
// of text break off and begin again together so nowhere.
func (c columnSplitter) areLabelledRows(parts [][]segment) bool {
	const columns, fewest, label, filled, near = 3, 4, 4.0, 0.8, 0.3 // columns and rows at least; words of a label; share of rows; ems
	if len(parts) < columns {
		return false
	}
	sides, wordy := make([][]sideLine, len(parts)), 0
	for i, part := range parts {
		if sides[i] = buildSide(part, c.em); len(sides[i]) > len(sides[wordy]) {
			wordy = i
		}
	}
	pitch := measureSide(sides[wordy], c.em).pitch * c.em
	starts := beginnings(sides[wordy], pitch+near*c.em)
	rows := len(starts)
	if wordy == 0 || rows < fewest || len(sides[wordy]) < rows+fewest {
		return false
	}
	labels := 0
	for i, side := range sides {
		if i == wordy {
			continue
		}
		level, words, at := 0, 0, 0
		for _, l := range side {
			words += l.words
		}
		for _, y := range beginnings(side, pitch+near*c.em) {
			for at < rows && starts[at] < y-near*c.em {
				at++
			}
			if at == rows || starts[at] > y+near*c.em {
				return false
			}
			level++
		}
		switch few := float64(words) <= label*float64(level); {
		case few && float64(level) >= filled*float64(rows):
			labels++
		case i == 0:
			return false
		}
	}
	return labels > 1
}

// beginnings returns the middles of those lines of a side that stand farther below the line before than a pitch.
func beginnings(side []sideLine, pitch float64) []float64 {
	out := make([]float64, 0, len(side))
	for i, l := range side {
		if i == 0 || l.y1-side[i-1].y1 > pitch {
			out = append(out, l.centerY())
		}
	}
	return out
}

// countsLinesBeside reports whether a column holds nothing but numbers that count every fifth line of the text next to
// it, as in the gutter of a patent's columns.
func (c columnSplitter) countsLinesBeside(column []segment) bool {
	const fewest, step = 4, 5
	lines := buildSide(column, c.em)
	for i, l := range lines {
		number, err := strconv.Atoi(l.first.GetText())
		if l.words != 1 || err != nil || number%step != 0 || i > 0 && !countsOn(lines[i-1].last.GetText(), l.first.GetText()) {
			return false
		}
	}
	return len(lines) >= fewest
}

// areTablesSideBySide reports whether the parts left and right of a gutter are tables of their own: both begin with a
// caption, on one line, or with the same column headings, of which the first may be another.
func (c columnSplitter) areTablesSideBySide(left, right [][]segment) bool {
	const rows, columns, parts = 3, 2, 24 // of each table, at least; on both sides, at most
	if len(left)+len(right) > parts {
		return false
	}
	r := c.topLine(right, math.Inf(-1))
	l := c.topLine(left, r.y-0.3*c.em) // the last lines of the text above may end before the gutter
	if min(l.below, r.below) < rows || math.Abs(l.y-r.y) > 0.3*c.em || l.x0 > l.edge+c.em || r.x0 > r.edge+c.em {
		return false
	}
	if isCaption(l.text) && isCaption(r.text) {
		return 3*l.figures >= l.below && 3*r.figures >= r.below // else captions of pictures, with text below
	}
	isSame := func() bool { return l.text == r.text || l.behind == r.behind && min(l.cells, r.cells) > columns }
	if !isSame() { // the headings of the tables stand below something else
		if min(l.cells, r.cells) > columns { // those are the headings of one table, and its cells may be alike
			return false
		}
		l, r = c.topLine(left, l.y+0.5*c.em), c.topLine(right, r.y+0.5*c.em)
	}
	return isSame() && min(l.cells, r.cells) >= columns && math.Abs(l.y-r.y) <= 0.3*c.em
}

// topLine is the first line of the parts of a region.
type topLine struct {
	x0, y float64 // where it begins, and where its middle stands
	edge  float64 // where the leftmost segment of the parts begins
	cells int     // how many segments it has
	below int     // how many segments stand below it
	text  string

	behind  string // the text of all segments but the first
	figures int    // how many of those are figures
}

// topLine returns the first line of parts whose middle stands below a height.
func (c columnSplitter) topLine(parts [][]segment, height float64) topLine {
	out := topLine{x0: math.Inf(1), y: math.Inf(1), edge: math.Inf(1)}
	for _, part := range parts {
		for i := range part {
			if s := &part[i]; s.table == nil && s.centerY() >= height {
				out.y, out.edge = min(out.y, s.centerY()), min(out.edge, s.x0)
			}
		}
	}
	var line []segment
	for _, part := range parts {
		for i := range part {
			switch s := &part[i]; {
			case s.table != nil || s.centerY() < height:
			case s.centerY() > out.y+0.3*c.em:
				out.below++
				if isNumeric(segmentsText(part[i : i+1])) {
					out.figures++
				}
			default:
				line, out.x0 = append(line, *s), min(out.x0, s.x0)
			}
		}
	}
	slices.SortFunc(line, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	out.text, out.cells = segmentsText(line), len(line)
	if len(line) > 0 {
		out.behind = segmentsText(line[1:])
	}
	return out
}

// areColumnsWithBlanks reports whether the gutter left of part at parts columns of which one is itself parted by the
// wide blanks of a few justified lines, which stand one above the other by chance. The column on its left begins at
// part first.
func (c columnSplitter) areColumnsWithBlanks(parts [][]segment, gaps []span, first, at int) bool {
	const narrower, widest = 0.5, 1.6 // blanks, in parts of the gutter's width, and in ems
	isBlank := func(g span) bool {
		return g.to-g.from < min(narrower*(gaps[at].to-gaps[at].from), widest*c.em)
	}
	from, to := at-1, at+1
	for from > first && isBlank(gaps[from]) {
		from--
	}
	for to < len(parts) && isBlank(gaps[to]) {
		to++
	}
	if to-from == 2 {
		return false
	}
	left, right := slices.Concat(parts[from:at]...), slices.Concat(parts[at:to]...)
	return (from == at-1 || isJustified(left, c.em)) && (to == at+1 || isJustified(right, c.em)) &&
		c.areSeparateColumns(left, right, gaps[at], len(parts)-1)
}

// isJustified reports whether segments are a few lines that begin at one edge and end at another, but for the first
// and the last.
func isJustified(segments []segment, em float64) bool {
	const fewest, most, slack = 3, 6, 0.15
	lines := buildSide(segments, em)
	if len(lines) < fewest || len(lines) > most {
		return false
	}
	lefts, rights := make([]float64, len(lines)), make([]float64, len(lines))
	for i, l := range lines {
		lefts[i], rights[i] = l.x0, l.x1
	}
	least := float64(len(lines)-1) / float64(len(lines))
	return alignedShare(lefts, slack*em) >= least && alignedShare(rights, slack*em) >= least
}

// columnStats is what is known of the text on one side of a gutter.
type columnStats struct {
	rect
	rows    int // lines of text
	middles []float64
}

func measureColumn(segments []segment) columnStats {
	s := columnStats{rect: segments[0].rect}
	s.middles = make([]float64, len(segments))
	for i, g := range segments {
		s.rect = s.rect.union(g.rect)
		s.middles[i] = g.centerY()
	}
	slices.Sort(s.middles)
	last := 0.0
	for i, m := range s.middles {
		if i == 0 || m-last > 0.5*(segments[0].height()) {
			s.rows++
		}
		last = m
	}
	return s
}

// countWords counts words; a long run of a script written without blanks counts as one for every three characters.
func countWords(words []*inkstreamv1.Word) int {
	n := 0
	for _, w := range words {
		n++
		if text := w.GetText(); len(text) > 12 {
			wide := 0
			for _, r := range text {
				if r >= 0x0e00 && r <= 0x0eff || r >= 0x2e80 && r < 0xfb00 {
					wide++
				}
			}
			n += wide / 3
		}
	}
	return n
}

// minColumnWidth is how wide, in ems, text is at least that is a column although it stands lower than what is on its
// right, and not the end of what is indented there.
const minColumnWidth = 3

// minHeadGutters is how many gutters rows have at least in which a word or two may be the head of a table's column.
const minHeadGutters = 3

// areFewWords reports whether lines are a head or a cell of a table: one line of a few words.
func areFewWords(lines []sideLine) bool {
	const most = 3
	return len(lines) == 1 && lines[0].words <= most
}

// areSeparateColumns reports whether the segments left and right of a gutter are columns that are read one after the
// other, and not the cells of rows that are read across.
func (c columnSplitter) areSeparateColumns(left, right []segment, gap span, gutters int) bool {
	l, r := measureColumn(left), measureColumn(right)
	rows := min(l.rows, r.rows)
	leftLines, rightLines := buildSide(left, c.em), buildSide(right, c.em)
	if spanDistance(l.y0, l.y1, r.y0, r.y1) > 0 { // one above the other: no row has both
		figures := areMostlyFigures(leftLines) && areMostlyFigures(rightLines) // of a table's rows, in one column or the other
		if gutters >= minHeadGutters && areFewWords(leftLines) && (areFewWords(rightLines) || areMostlyFigures(rightLines)) {
			return false // the head of a table's column, and what stands below it at the column's other edge
		}
		return !figures && (l.y0 < r.y0 || l.width() >= minColumnWidth*c.em)
	}
	if hasFrameBeside(left, right) {
		left, right = segmentsBesideNoFrame(left, right), segmentsBesideNoFrame(right, left)
		return len(left) == 0 || len(right) == 0 || c.areSeparateColumns(left, right, gap, gutters)
	}
	if areTablesStacked(left, right) || areTablesStacked(right, left) {
		return true
	}
	if rows >= minContentsEntries && haveLeaders(left) && haveLeaders(right) {
		return true
	}
	if isDisplayBeside(leftLines, rightLines) || isDisplayBeside(rightLines, leftLines) {
		return true
	}
	if endsLastLine(leftLines, rightLines, c.em) {
		return false
	}
	if level := areLinesAligned(l, r, c.em, 0.5); rows < 2 && !(level && max(l.rows, r.rows) > 1) {
		return !level && max(l.rows, r.rows) > 2
	}
	return c.isColumnGutter(leftLines, rightLines, gap, gutters)
}

// areTablesStacked reports whether one side holds several tables that lines rule, one below the other, and the other
// side one or more: what is ruled is complete, and has no cells beyond the gutter.
func areTablesStacked(side, other []segment) bool {
	const several = 2
	count := func(segments []segment) int {
		n := 0
		for i := range segments {
			if t := segments[i].table; t != nil && t.ruled {
				n++
			}
		}
		return n
	}
	return count(side) >= several && count(other) > 0
}

// endsLastLine reports whether the right side is the end of the last of a few lines on the left: a date or a figure at
// the edge of the text, as beside the titles in a curriculum vitae.
func endsLastLine(left, right []sideLine, em float64) bool {
	const most, words, level = 3, 4, 0.3 // lines, words, ems
	if len(right) != 1 || len(left) == 0 || len(left) > most || right[0].words > words || math.Abs(right[0].centerY()-left[len(left)-1].centerY()) > level*em {
		return false
	}
	hasDigit := func(w *inkstreamv1.Word) bool { return strings.ContainsFunc(w.GetText(), unicode.IsDigit) }
	return hasDigit(right[0].first) || hasDigit(right[0].last)
}

// areLinesAligned reports whether at least that share of the lines on the shorter side have a line level with them on
// the other.
func areLinesAligned(l, r columnStats, em, share float64) bool {
	a, b := l.middles, r.middles
	if len(a) > len(b) {
		a, b = b, a
	}
	level, j := 0, 0
	for _, m := range a {
		for j < len(b) && b[j] < m-0.3*em {
			j++
		}
		if j < len(b) && b[j] <= m+0.3*em {
			level++
		}
	}
	return float64(level) >= share*float64(len(a))
}
