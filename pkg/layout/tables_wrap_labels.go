package layout

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// labelColumn is what is known of the labels in a table's first column.
type labelColumn struct {
	width      float64 // of the widest line
	areWrapped bool    // some label certainly goes on in another line
}

// labelWrap tells how sure it is that a label goes on in the next line.
type labelWrap int

const (
	noLabelWrap labelWrap = iota
	// possibleLabelWrap is a line that would not have fitted above: a label goes on, or the heading of a group stands
	// there.
	possibleLabelWrap
	// certainLabelWrap is such a line in the middle of a word or a sentence.
	certainLabelWrap
)

// measureLabels returns how wide the first column of rows is, and whether labels are wrapped in it.
func (w wrappedRows) measureLabels(rows [][]tableCell) labelColumn {
	var out labelColumn
	for _, cells := range rows {
		if len(cells) > 0 && cells[0].column == 0 && cells[0].columnSpan == 1 {
			out.width = max(out.width, cells[0].width())
		}
	}
	for r := 1; r < len(rows) && !out.areWrapped; r++ {
		out.areWrapped = w.continuesLabel(rows[r-1], rows[r], out) == certainLabelWrap
	}
	return out
}

// continuesLabel tells whether a row is nothing but the next line of the label that begins or goes on in the row above:
// its first word would not have fitted there. Nothing else sets such lines apart from rows where all lines have one
// distance.
func (w wrappedRows) continuesLabel(above, cells []tableCell, labels labelColumn) labelWrap {
	const near, edge, blank, slack = 0.6, 0.3, 0.25, 0.1 // ems
	if len(cells) != 1 || len(above) == 0 {
		return noLabelWrap
	}
	before, label := &above[0], &cells[0]
	if before.column > 0 || label.column > 0 || before.columnSpan > 1 || label.columnSpan > 1 || math.Abs(before.x0-label.x0) > edge*w.em ||
		label.y0-cellsBottom(above) > near*w.em || w.across.hasBetween(cellsBottom(above)-edge*w.em, label.y0+edge*w.em, label.x0, label.x1) {
		return noLabelWrap
	}
	wordsAbove, words := segmentWords(before.segments), segmentWords(label.segments)
	text, next := wordsAbove[len(wordsAbove)-1].GetText(), words[0].GetText()
	if isNumeric(next) || w.style.lineStyleOf(wordsAbove).bold != w.style.lineStyleOf(words).bold {
		return noLabelWrap
	}
	end, size := utf8.DecodeLastRuneInString(text)
	beforeEnd, _ := utf8.DecodeLastRuneInString(text[:len(text)-size])
	isHyphenated := (end == '-' || end == '\u2010' || end == '\u00ad') && unicode.IsLetter(beforeEnd)
	width := w.style.rotation.rotateRect(rectFromBox(words[0].GetBbox())).width()
	switch {
	case startsLower(next) && isHyphenated:
		return certainLabelWrap
	case before.width()+width+blank*w.em < labels.width-slack*w.em:
		return noLabelWrap
	case startsLower(next):
		return certainLabelWrap
	}
	return possibleLabelWrap
}

// fewestWrappedWords is how many words a line of a label has at least that certainly goes on: an address of mail may
// stand below one of fewer.
const fewestWrappedWords = 3

// endsLabel reports whether a row begins with the last line of the label that is all of the row above, in the middle
// of a sentence: the figures of a row may stand in the middle of its height, or level with its last line.
func (w wrappedRows) endsLabel(above, cells []tableCell, labels labelColumn) bool {
	return len(above) == 1 && len(cells) > 1 && len(segmentWords(above[0].segments)) >= fewestWrappedWords && w.continuesLabel(above, cells[:1], labels) == certainLabelWrap
}

// isWrappedLabel reports whether row k is nothing but a line of a label that goes on in the row below, which has
// figures, in the middle of a sentence.
func (f columnFinder) isWrappedLabel(rows []tableLine, k int) bool {
	const edge, near = 0.3, 0.6 // ems
	if k+1 >= len(rows) || len(rows[k].cells) != 1 || len(rows[k].cells[0].words) < fewestWrappedWords {
		return false
	}
	line, below := rows[k].cells[0], rows[k+1].cells[0]
	isFigure := func(s segment) bool { return isNumeric(segmentsText([]segment{s})) }
	return slices.ContainsFunc(rows[k+1].cells[1:], isFigure) && startsLower(below.words[0].GetText()) && !isSentenceEnd(lastRune(line.words[len(line.words)-1].GetText())) &&
		math.Abs(below.x0-line.x0) < edge*f.em && below.y0-line.y1 < near*f.em
}
