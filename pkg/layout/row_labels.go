package layout

import "slices"

// haveFiguresOfRows reports whether a part holds the labels of a table's rows, of which a part farther to the right
// holds the figures: each label of a few words, which may wrap, is level with one of those.
func (c columnSplitter) haveFiguresOfRows(labels []segment, parts [][]segment) bool {
	const fewest, most, runsOn, level = 4, 12, 0.1, 0.9 // rows; parts; shares of rows
	const words, wordsOfWrapped = 3.0, 6.0              // of a row
	if len(parts) == 0 || len(parts) > most {
		return false
	}
	lines := buildSide(labels, c.em)
	if len(lines) < fewest || areMostlyFigures(lines) {
		return false
	}
	return slices.ContainsFunc(parts, func(part []segment) bool {
		figures, longest := buildSide(part, c.em), words
		rows := joinWrappedLabels(lines, figures, c.em)
		if len(rows) < len(lines) {
			longest = wordsOfWrapped
		}
		if stats := measureSide(rows, c.em); len(rows) < fewest || stats.words > longest || stats.runsOn > runsOn {
			return false
		}
		both, _ := matchSides(rows, figures, c.em)
		return float64(both) >= level*float64(max(len(rows), len(figures))) && areFiguresOfRows(figures, rows, c.em)
	})
}

// joinWrappedLabels returns the labels of the rows that figures tell: each begins level with one, and goes on in the
// lines right below it that are level with none. It returns the lines as they are if they are no such labels.
func joinWrappedLabels(lines, figures []sideLine, em float64) []sideLine {
	const near, most, level = 0.6, 4, 0.3 // ems; lines of a label; ems
	out := make([]sideLine, 0, len(lines))
	at, n := 0, 0
	for i, l := range lines {
		for at < len(figures) && figures[at].centerY() < l.centerY()-level*em {
			at++
		}
		if at < len(figures) && figures[at].centerY() <= l.centerY()+level*em {
			out, n = append(out, l), 1
			continue
		}
		if n++; i == 0 || n > most || l.y0-lines[i-1].y1 > near*em {
			return lines
		}
		row := &out[len(out)-1]
		row.last, row.words, row.letters, row.number, row.figures = l.last, row.words+l.words, row.letters+l.letters, false, false
	}
	return out
}
