package layout

import (
	"math"
	"unicode"
)

// areHeadedRows reports whether what stands on the two sides of a gutter are the rows of a table below its head: both
// sides begin level with a line in a font of its own, as no line below is set, and the pieces that room parts the lines of
// one side into begin level with those of the other, or with lines that begin something, though some have more lines.
// Texts side by side, each with its heading, begin new paragraphs where they happen to.
func areHeadedRows(left, right []sideLine, em float64) bool {
	const fewest, slack, label, phrase = 3, 0.3, 8.0, 20.0 // rows; ems; words of a piece at most, on average, of the side with fewer and of the other
	if len(left) == 0 || len(right) == 0 {
		return false
	}
	l, r, ok := cutHeads(linesFrom(left, right[0].y0-slack*em), linesFrom(right, left[0].y0-slack*em), slack*em)
	if !ok || countMarkers(l) > 1 || countMarkers(r) > 1 {
		return false
	}
	pitch := min(leastStep(l, em), leastStep(r, em))
	a, b := splitAtSteps(l, pitch, em), splitAtSteps(r, pitch, em)
	rows := float64(max(len(a), len(b)))
	words := [2]float64{countSideWords(l) / rows, countSideWords(r) / rows}
	return rows >= fewest && min(words[0], words[1]) <= label && max(words[0], words[1]) <= phrase &&
		(areCentredPieces(a, b, 1, slack*em) || areLevelWithBeginnings(a, r, slack*em) && areLevelWithBeginnings(b, l, slack*em))
}

// areLevelWithBeginnings reports whether pieces all begin level with lines that begin something.
func areLevelWithBeginnings(pieces []rect, lines []sideLine, slack float64) bool {
	at := 0
	for _, piece := range pieces {
		for at < len(lines) && lines[at].y0 < piece.y0-slack {
			at++
		}
		if at == len(lines) || lines[at].y0 > piece.y0+slack || unicode.IsLower(firstRune(lines[at].first.GetText())) {
			return false
		}
	}
	return true
}

// cutHeads returns the lines below the heads of two sides, which begin level; false if they have no heads in a font of
// their own.
func cutHeads(left, right []sideLine, slack float64) (l, r []sideLine, ok bool) {
	const most = 3 // lines of a head
	if len(left) == 0 || len(right) == 0 || math.Abs(left[0].y0-right[0].y0) > slack {
		return nil, nil, false
	}
	font := left[0].first.GetFont()
	below := func(side []sideLine) []sideLine {
		n := 0
		for n < len(side) && side[n].first.GetFont() == font {
			n++
		}
		for _, line := range side[n:] {
			if line.first.GetFont() == font {
				return nil
			}
		}
		if n == 0 || n > most {
			return nil
		}
		return side[n:]
	}
	l, r = below(left), below(right)
	return l, r, len(l) > 0 && len(r) > 0
}

// linesFrom returns the lines that begin below a height.
func linesFrom(lines []sideLine, top float64) []sideLine {
	for len(lines) > 0 && lines[0].y0 < top {
		lines = lines[1:]
	}
	return lines
}

// countMarkers returns how many lines begin with the marker of an item, or with one that stands by itself.
func countMarkers(lines []sideLine) int {
	n := 0
	for _, l := range lines {
		if parseSpacedMarker(l.first.GetText()) != "" {
			n++
		}
	}
	return n
}

// countSideWords returns how many words lines have.
func countSideWords(lines []sideLine) float64 {
	n := 0
	for _, l := range lines {
		n += l.words
	}
	return float64(n)
}

// haveHeadsAboveFigures reports whether parts are the columns of a table: each begins with a head in a font of its own, as
// no line below is set, those begin or end level, and one column is of figures. Texts side by side, each with its heading,
// and lists have none.
func (c columnSplitter) haveHeadsAboveFigures(parts [][]segment) bool {
	const columns, most, slack = 3, 60, 0.3 // parts at least and at most; ems
	if len(parts) < columns || len(parts) > most {
		return false
	}
	last := buildSide(parts[len(parts)-1], c.em)
	if len(last) == 0 {
		return false
	}
	top := last[0].y0 - slack*c.em // text above the table may end left of a gutter
	first := linesFrom(buildSide(parts[0], c.em), top)
	figures, tops, ends := false, true, true
	for i, part := range parts {
		side := linesFrom(buildSide(part, c.em), top)
		l, r, ok := cutHeads(first, side, 3*c.em)
		if !ok {
			return false
		}
		head, other := first[:len(first)-len(l)], side[:len(side)-len(r)]
		tops = tops && math.Abs(head[0].y0-other[0].y0) < slack*c.em
		ends = ends && math.Abs(head[len(head)-1].y1-other[len(other)-1].y1) < slack*c.em
		level, _ := matchSides(r, first, c.em)
		figures = figures || i > 0 && len(r) > 1 && areMostlyFigures(r) && 2*level > len(r)
	}
	return figures && (tops || ends)
}
