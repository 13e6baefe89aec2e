package layout

import "math"

// isVerse reports whether the lines of a column are indented by turns, as those of verse are: many that stand indented
// above lines at the edge have room for the next word, where the first line of a paragraph is full, and hardly a line
// runs on.
func isVerse(p *textColumn) bool {
	const fewest, turns, apart, runOn = 3, 0.25, 0.75, 0.2 // lines that are indented; shares of all lines, and of those
	indented, short, goOn := 0, 0, 0
	for i := 0; i+1 < len(p.shapes); i++ {
		cur, next := p.shapes[i], p.shapes[i+1]
		if next.startsLower && !cur.endsSentence {
			goOn++
		}
		indent := cur.x0 - p.left
		if indent < leastFirstIndent*p.em || indent > mostFirstIndent*p.em || next.x0-p.left >= maxEdgeIndent*p.em || cur.marker != "" {
			continue
		}
		if indented++; !p.fillsLine(cur, next) {
			short++
		}
	}
	lines := float64(len(p.shapes))
	return short >= fewest && float64(short) >= max(turns*lines, apart*float64(indented)) && float64(goOn) <= runOn*lines && !p.isRunningText()
}

// takeTurns reports whether lines stand by turns at the edge and at an indent, as those of verse do, and hardly one
// runs on.
func takeTurns(shapes []brokenLine, em float64) bool {
	const fewest, runOn = 3, 4 // changes from line to line; one of so many lines
	left, indent := math.Inf(1), 0.0
	for _, s := range shapes {
		left = min(left, s.x0)
	}
	changes, goOn := 0, 0
	for i, s := range shapes {
		at := s.x0 - left
		switch {
		case at < maxEdgeIndent*em:
		case indent == 0:
			indent = at
		case math.Abs(at-indent) >= maxEdgeIndent*em:
			return false
		}
		if i > 0 && math.Abs(s.x0-shapes[i-1].x0) >= leastFirstIndent*em {
			changes++
		}
		if i > 0 && (s.startsLower && shapes[i-1].endsInText || shapes[i-1].hyphenated) {
			goOn++
		}
	}
	return changes >= fewest && runOn*goOn <= len(shapes)
}

// startAfresh reports whether every one of a few short lines starts afresh and none ends as text does, as the lines
// of an address or of a list of names do: of text that is broken where a line is full, most lines begin with a small
// letter.
func startAfresh(shapes []brokenLine, em float64) bool {
	const fewest, widest = 3, 16 // lines, ems
	if len(shapes) < fewest {
		return false
	}
	left, right := math.Inf(1), math.Inf(-1)
	for i, s := range shapes {
		left, right = min(left, s.x0), max(right, s.x1)
		if i > 0 && s.startsLower || !s.endsInText || s.hyphenated || s.unspaced {
			return false
		}
	}
	return right-left < widest*em
}

// isInColumn reports whether the text right above or below a block of the page runs from the same edge to the same
// place, as the entries of a narrow column do.
func (l *LineBreaks) isInColumn(block int, em float64) bool {
	const from, to = 2, 1 // ems
	if len(l.boxes) == 0 {
		return false
	}
	for _, i := range []int{block - 1, block + 1} {
		if i >= 0 && i < len(l.blocks) && len(l.blocks[i].GetLines()) > 1 && math.Abs(l.boxes[i].x0-l.boxes[block].x0) < from*em &&
			math.Abs(l.boxes[i].x1-l.boxes[block].x1) < to*em {
			return true
		}
	}
	return false
}
