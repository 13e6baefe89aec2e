package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// stretchedLabel is a label of a row whose next line goes on with a small letter: if its column is set justified, its
// first pieces are one line, whose blanks are stretched to the column's edge.
type stretchedLabel struct {
	line int     // of the row
	end  int     // behind the last of its pieces
	edge float64 // where that one ends
	sure bool    // it ends in the middle of a word, or several blanks of it are alike
}

// joinStretchedLabels makes one cell of the pieces of labels that a narrow column sets justified, as TeX does with
// paragraphs in tables: wide blanks part them as gaps part cells, but each line ends at the column's edge, and the
// words within stand below each other by no design.
func (a *aligner) joinStretchedLabels(lines []tableLine) {
	const most = 100 // labels: what more there are is no table
	var found []stretchedLabel
	for i := range lines[:max(0, len(lines)-1)] {
		if len(found) < most && a.goesOnBelow(lines[i], lines[i+1]) {
			found = append(found, a.listStretched(lines, i)...)
		}
	}
	var labels []stretchedLabel
	for _, l := range found {
		alike, sure := 0, false
		for _, other := range found {
			if math.Abs(other.edge-l.edge) < maxEdgeOffset {
				alike, sure = alike+1, sure || other.sure
			}
		}
		if sure && (alike > 1 || endsWithHyphen(lines[l.line].cells[l.end-1].words)) && !a.isColumnOf(found, l, lines) {
			labels = append(labels, l)
		}
	}
	for i, l := range labels {
		if i+1 < len(labels) && labels[i+1].line == l.line { // the longest of a line
			continue
		}
		cells := lines[l.line].cells
		lines[l.line].cells = append([]segment{joinAll(cells[:l.end])}, cells[l.end:]...)
	}
	a.measureLabelEdge(lines)
}

// joinAll returns segments as one.
func joinAll(segments []segment) segment {
	whole := segments[0]
	whole.words = slices.Clip(whole.words)
	for _, s := range segments[1:] {
		whole.appendSegment(s)
	}
	return whole
}

// measureLabelEdge keeps where labels end that go on in the next line, and of which several end at one place.
func (a *aligner) measureLabelEdge(lines []tableLine) {
	var wrapped []int
	for i := range lines[:max(0, len(lines)-1)] {
		if len(lines[i].cells) > 1 && len(lines[i].cells[0].words) > 1 && a.goesOnBelow(lines[i], lines[i+1]) {
			wrapped = append(wrapped, i)
		}
	}
	for _, i := range wrapped {
		edge := lines[i].cells[0].x1
		if endsWithHyphen(lines[i].cells[0].words) || slices.ContainsFunc(wrapped, func(o int) bool {
			return o != i && math.Abs(lines[o].cells[0].x1-edge) < maxEdgeOffset
		}) {
			lines[i].labelEdge = edge
			lines[i].joinLabel()
		}
	}
}

// joinLabel makes one segment of those of the row's label.
func (l *tableLine) joinLabel() {
	slices.SortStableFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	n := 0
	for n < len(l.segments) && l.segments[n].x1 <= l.labelEdge+maxEdgeOffset {
		n++
	}
	if n > 1 {
		l.segments = append([]segment{joinAll(l.segments[:n])}, l.segments[n:]...)
	}
}

// goesOnBelow reports whether the row below a line holds nothing but the next line of its first cell, which begins with
// a small letter.
func (a *aligner) goesOnBelow(line, below tableLine) bool {
	const edge, near, fewest = 0.3, 0.6, 2 // ems; cells
	return len(line.cells) >= fewest && len(below.cells) == 1 && !line.cells[0].rtl &&
		startsLower(below.cells[0].words[0].GetText()) &&
		math.Abs(below.cells[0].x0-line.cells[0].x0) < edge*a.em && below.cells[0].y0-line.cells[0].y1 < near*a.em
}

// listStretched returns what may be a line's label: its first two and more pieces, none of them a number. All pieces
// are a label's where they end in the middle of a word below the row that the label begins in.
func (a *aligner) listStretched(lines []tableLine, i int) []stretchedLabel {
	const widest, mostPieces, near = 3.0, 6, 6 // ems; of a blank; lines
	var out []stretchedLabel
	cells := lines[i].cells
	for end := 2; end < min(len(cells), mostPieces)+1; end++ {
		last := cells[end-1]
		if isNumeric(segmentsText(cells[end-1:end])) || last.x0-cells[end-2].x1 > widest*a.em ||
			end == len(cells) && !(endsWithHyphen(last.words) && a.isBelowLabel(lines[max(0, i-near):i+1])) {
			break
		}
		sure := endsWithHyphen(last.words) || a.haveEvenBlanks(cells[:end])
		out = append(out, stretchedLabel{line: i, end: end, edge: last.x1, sure: sure})
	}
	return out
}

// isBelowLabel reports whether the last of the lines begins where a row above it does, which has a figure on the right.
func (a *aligner) isBelowLabel(lines []tableLine) bool {
	const edge = 0.3 // ems
	line := lines[len(lines)-1]
	return slices.ContainsFunc(lines[:len(lines)-1], func(row tableLine) bool {
		n := len(row.cells)
		return n > 1 && math.Abs(row.x0-line.x0) < edge*a.em && row.cells[n-1].x0 > line.x1 && isNumeric(segmentsText(row.cells[n-1:]))
	})
}

// haveEvenBlanks reports whether two blanks and more between the words of cells are alike.
func (a *aligner) haveEvenBlanks(cells []segment) bool {
	const slack = 0.2 // of the widest
	var blanks []float64
	words := segmentWords(cells)
	for i := 1; i < len(words); i++ {
		before := a.style.rotation.rotateRect(rectFromBox(words[i-1].GetBbox()))
		blanks = append(blanks, a.style.rotation.rotateRect(rectFromBox(words[i].GetBbox())).x0-before.x1)
	}
	return len(blanks) >= 2 && slices.Min(blanks) >= (1-slack)*slices.Max(blanks)
}

// isColumnOf reports whether the last piece of a label is a cell of a column: pieces of rows whose label does not go on
// begin or end where it does, or those of all others begin there.
func (a *aligner) isColumnOf(found []stretchedLabel, l stretchedLabel, lines []tableLine) bool {
	const edge = 0.3 // ems
	start := lines[l.line].cells[l.end-1].x0
	stretched := make(map[int]bool, len(found))
	others, alike := 0, 0
	for _, o := range found {
		stretched[o.line] = true
		if o.line != l.line && math.Abs(o.edge-l.edge) < maxEdgeOffset {
			if others++; math.Abs(lines[o.line].cells[o.end-1].x0-start) < edge*a.em {
				alike++
			}
		}
	}
	if others > 0 && alike == others {
		return true
	}
	for i, line := range lines {
		if stretched[i] || len(line.cells) == 0 {
			continue
		}
		for _, c := range line.cells[1:] {
			if math.Abs(c.x0-start) < edge*a.em || math.Abs(c.x1-l.edge) < maxEdgeOffset {
				return true
			}
		}
	}
	return false
}

// endsWithHyphen reports whether words end in the middle of one.
func endsWithHyphen(words []*inkstreamv1.Word) bool {
	text := words[len(words)-1].GetText()
	hyphen := trailingHyphenLength(text)
	return hyphen > 0 && hyphen < len(text)
}
