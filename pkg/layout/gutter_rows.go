package layout

import (
	"math"
	"slices"
	"unicode"
)

// haveOwnRows reports whether the lines on the two sides of a gutter stand at heights of their own, as those of a table
// and of text next to it do: one side has line below line without room for more, and few lines of the other are level
// with them, or are by the same distance off. Where rows have cells of several lines, the others stand at the height of
// the first, or in the middle.
func (j *gutterJudge) haveOwnRows(left, right []sideLine, gap span) bool {
	y0, y1 := math.Inf(-1), math.Inf(1)
	for _, side := range [][]sideLine{left, right} {
		top, bottom := math.Inf(1), math.Inf(-1)
		for _, l := range side {
			top, bottom = min(top, l.y0), max(bottom, l.y1)
		}
		y0, y1 = max(y0, top), min(y1, bottom)
	}
	within := func(side []sideLine) (middles []float64) {
		for _, l := range side {
			if y := l.centerY(); y > y0 && y < y1 {
				middles = append(middles, y)
			}
		}
		slices.Sort(middles)
		return middles
	}
	c := gutterContext{gap: gap, across: j.rulings.across, em: j.em}
	if c.rulesAcross(y0, y1) > 0 {
		return false
	}
	a, b := within(left), within(right)
	return standBetweenRows(b, a, j.em) || standBetweenRows(a, b, j.em)
}

// areRowsBelowHead reports whether what stands on the two sides of a gutter are the rows of a table whose lines are
// those that typographers draw: three of one length, above the head, below it and below the last row. One side has a
// few words in a line, as text under a newspaper's date, which stands between two lines as well, has not.
func (j *gutterJudge) areRowsBelowHead(left, right []sideLine) bool {
	const words = 3.5 // of a line
	area := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, side := range [][]sideLine{left, right} {
		for i := range side {
			area = area.union(side[i].rect)
		}
	}
	return len(left) > 0 && len(right) > 0 && j.rulings.across.encloseTable(area, -1, j.em) &&
		min(measureSide(left, j.em).words, measureSide(right, j.em).words) <= words
}

// areRowsWithHead reports whether parts are the columns of a table with its head, whose lines are those that
// areRowsBelowHead looks for. The cells of its last row may have fewer lines in one column than in another, so all
// columns are looked at together.
func (c columnSplitter) areRowsWithHead(parts [][]segment) bool {
	const words = 3.5 // of a line
	area := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, part := range parts {
		for i := range part {
			if part[i].table != nil {
				return false
			}
			area = area.union(part[i].rect)
		}
	}
	return c.rulings.across.encloseTable(area, 1, c.em) && slices.ContainsFunc(parts, func(part []segment) bool {
		return measureSide(buildSide(part, c.em), c.em).words <= words
	})
}

// areCentredRows reports whether what stands on the two sides of a gutter are the cells of rows, in the middle of the
// height of each: room parts the lines of both sides into as many pieces, the middle of each stands level with that of
// its neighbour, and several have fewer lines than their neighbours. Texts side by side begin level, if at all.
func areCentredRows(left, right []sideLine, em float64) bool {
	const fewest, uneven, slack = 4, 2, 0.2 // rows; those of cells with more lines and with fewer; ems
	a, b := splitAtRoom(left, em), splitAtRoom(right, em)
	return len(a) >= fewest && areCentredPieces(a, b, uneven, slack*em)
}

// areCentredPieces reports whether the pieces of two sides have their middles level with each other, though so many of
// them at least are not as high as their neighbours.
func areCentredPieces(a, b []rect, uneven int, slack float64) bool {
	if len(a) != len(b) {
		return false
	}
	n := 0
	for i := range a {
		if math.Abs(a[i].centerY()-b[i].centerY()) > slack {
			return false
		}
		if math.Abs(a[i].y0-b[i].y0) > slack {
			n++
		}
	}
	return n >= uneven
}

// areCentredCells reports whether parts are the cells of rows as areCentredRows tells them, where three or more cells
// make even one row certain. One of them holds a few words, and lines of one stand half a line off those of another:
// where lines are level, reading across may break the text.
func (c columnSplitter) areCentredCells(parts [][]segment) bool {
	const columns, words, slack = 3, 3.0, 0.12 // columns at least; words of a line of the shortest text; ems
	if len(parts) < columns {
		return false
	}
	uneven, fewest, pitch := 0, math.Inf(1), math.Inf(1)
	for _, part := range parts {
		if lines := buildSide(part, c.em); len(lines) > 1 {
			pitch = min(pitch, measureSide(lines, c.em).pitch*c.em)
		}
	}
	var first []rect
	for i, part := range parts {
		lines := buildSide(part, c.em)
		pieces := splitAtRoom(lines, c.em)
		if len(pieces) == 0 || i > 0 && len(pieces) != len(first) {
			return false
		}
		fewest = min(fewest, measureSide(lines, c.em).words)
		if i == 0 {
			first = pieces
			continue
		}
		for k := range pieces {
			if math.Abs(pieces[k].centerY()-first[k].centerY()) > slack*c.em {
				return false
			}
			if off := math.Mod(math.Abs(pieces[k].y0-first[k].y0), pitch); math.Abs(off-pitch/2) < slack*c.em {
				uneven++
			}
		}
	}
	return uneven > 0 && fewest <= words
}

// splitAtRoom returns the boxes of what room parts among lines one below the other.
func splitAtRoom(lines []sideLine, em float64) []rect {
	return splitAtSteps(lines, leastStep(lines, em), em)
}

// leastStep returns the least distance from a line to the next, at most two ems.
func leastStep(lines []sideLine, em float64) float64 {
	const widest = 2.0 // ems
	least := widest * em
	for i := 1; i < len(lines); i++ {
		least = min(least, lines[i].y1-lines[i-1].y1)
	}
	return least
}

// splitAtSteps returns the boxes of what steps wider than a pitch part among lines one below the other.
func splitAtSteps(lines []sideLine, pitch, em float64) []rect {
	const more = 0.2 // ems
	var out []rect
	for i, l := range lines {
		if i > 0 && l.y1-lines[i-1].y1 <= pitch+more*em {
			out[len(out)-1] = out[len(out)-1].union(l.rect)
			continue
		}
		out = append(out, l.rect)
	}
	return out
}

// standBetweenRows reports whether few lines are level with rows that follow each other closely, and not in the middle
// between two of them either. Lines and rows are given by their middles, from top to bottom.
func standBetweenRows(lines, rows []float64, em float64) bool {
	const (
		fewestLines, fewestRows = 6, 8
		dense, even, widest     = 0.75, 1.3, 2.0 // share of steps from row to row, up to so many times the usual one, of up to so many ems
		slack                   = 0.2            // ems
		level, centred          = 0.6, 0.8       // shares of lines
	)
	if len(lines) < fewestLines || len(rows) < fewestRows {
		return false
	}
	steps := make([]float64, 0, len(rows))
	for i := 1; i < len(rows); i++ {
		steps = append(steps, rows[i]-rows[i-1])
	}
	pitch, usual := median(steps), 0
	for _, s := range steps {
		if s <= even*pitch {
			usual++
		}
	}
	if pitch > widest*em || float64(usual) < dense*float64(len(steps)) {
		return false
	}
	offsets, halves, at := make([]float64, len(lines)), 0, 0
	for i, y := range lines {
		for at+1 < len(rows) && math.Abs(rows[at+1]-y) < math.Abs(rows[at]-y) {
			at++
		}
		offsets[i] = y - rows[at]
		if off := math.Abs(offsets[i]); min(off, math.Abs(pitch/2-off)) < 0.7*slack*em {
			halves++
		}
	}
	return alignedShare(offsets, slack*em) < level && float64(halves) < centred*float64(len(lines))
}

// isTextBesideSums reports whether running text on the left stands beside a few labels with figures on the right,
// as notes beside the sums of an invoice do: there are more of those than pieces of text, and few are level with the
// beginning of one, as the figures of a table's rows are with what they belong to.
func isTextBesideSums(text, lines []sideLine, em float64) bool {
	const fewest, most, words, few, share, begin, slack = 3, 12, 4.0, 4.0, 0.9, 0.5, 0.2 // lines; words of a line of text, and of one on the right; shares of lines; ems
	if len(text) < fewest || len(lines) < fewest || len(lines) > most {
		return false
	}
	stats := measureSide(text, em)
	figures, ends := 0, make([]float64, len(lines))
	for i, l := range lines {
		ends[i] = l.x1
		if isNumeric(l.last.GetText()) && !isAmount(l.first.GetText()) {
			figures++
		}
	}
	if stats.words < words || measureSide(lines, em).words > few || float64(figures) < share*float64(len(lines)) ||
		alignedShare(ends, slack*em) < share {
		return false
	}
	begins := findBeginnings(text, stats.pitch*em, em)
	pieces, lower := 0, 0
	var first []sideLine
	for i, l := range text {
		switch {
		case begins[i] == 0 && unicode.IsLower(firstRune(l.first.GetText())):
			lower++
		case begins[i] == afterRoom:
			pieces++
		}
		if begins[i] != 0 {
			first = append(first, l)
		}
	}
	level, _ := matchSides(first, lines, em)
	return lower >= 2 && pieces < len(lines) && float64(level) <= begin*float64(len(lines))
}
