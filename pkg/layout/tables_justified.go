package layout

import (
	"math"
	"slices"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// leaveStretchedLines says of lines whose blanks are stretched so far that they look like gaps that they are no rows of a
// table: all blanks of a line are as wide as each other, and the line is as long as a line of text above or below it, whose
// words do not stand in columns with its own.
func leaveStretchedLines(lines []tableLine, in textSetting) {
	const slack, indent = 0.15, 3.0 // ems
	isAsLong := func(l, other *tableLine) bool {
		return math.Abs(l.x1-other.x1) < slack*in.em && (math.Abs(l.x0-other.x0) < slack*in.em || other.x0 > l.x0 && other.x0 < l.x0+indent*in.em)
	}
	stretched := make([]bool, len(lines))
	for i := range lines {
		stretched[i] = lines[i].several && lines[i].hasEvenBlanks(in.style.rotation)
	}
	for i := range lines {
		if !stretched[i] {
			continue
		}
		for _, k := range []int{i - 1, i + 1} {
			if k >= 0 && k < len(lines) && (!lines[k].several || stretched[k]) && isAsLong(&lines[i], &lines[k]) && countRowWords(lines[k].row) > 1 &&
				!haveWordsInColumns(segmentWords(lines[i].cells), segmentWords(lines[k].cells), in) {
				lines[i].several = false
			}
		}
	}
}

// haveWordsInColumns reports whether two lines have as many words, and those of one begin where those of the other do, or
// all end or have their middle there, as the cells of rows do.
func haveWordsInColumns(line, other []*inkstreamv1.Word, in textSetting) bool {
	const slack = 0.15 // ems
	if len(line) != len(other) {
		return false
	}
	begin, end, centred := true, true, true
	for i := range line {
		a, b := in.style.rotation.rotateRect(rectFromBox(line[i].GetBbox())), in.style.rotation.rotateRect(rectFromBox(other[i].GetBbox()))
		begin = begin && math.Abs(a.x0-b.x0) < slack*in.em
		end = end && math.Abs(a.x1-b.x1) < slack*in.em
		centred = centred && math.Abs(a.x0+a.x1-b.x0-b.x1) < 2*slack*in.em
	}
	return begin || end || centred
}

// hasEvenBlanks reports whether the blanks between the words of a line, several of which look like gaps, are all as wide
// as each other. Typesetters add room behind a sentence or a part of one.
func (l *tableLine) hasEvenBlanks(tn rotation) bool {
	const fewest, uneven, stop, figures = 3, 1.35, 1.5, 0.5 // blanks; the widest to the narrowest; the same behind a stop to those; share of the words
	words := segmentWords(l.cells)
	least, most, n, numbers := math.Inf(1), 0.0, 0, 0
	for i, w := range words {
		if isNumeric(w.GetText()) {
			numbers++
		}
		if i == 0 {
			continue
		}
		before := tn.rotateRect(rectFromBox(words[i-1].GetBbox()))
		gap := tn.rotateRect(rectFromBox(w.GetBbox())).x0 - before.x1
		least = min(least, gap)
		if n++; unicode.IsPunct(lastRune(words[i-1].GetText())) {
			gap /= stop
		}
		most = max(most, gap)
	}
	return n >= fewest && least > 0 && most <= uneven*least && float64(numbers) < figures*float64(len(words)) &&
		!slices.ContainsFunc(l.cells, hasLeaderDots)
}

// isJustifiedText reports whether what looks like a table of two or three columns are a few lines of a narrow
// justified column with wide blanks: they fill it from edge to edge, the blanks end anywhere, and so wide is a line of
// text among them, right above or below too.
func (a *aligner) isJustifiedText(t *table, lines []tableLine, first, end int) bool {
	const mostRows, widest, slack, near, aligned = 16, 22.0, 0.15, 1.2, 0.6 // rows, ems, the share of them
	const byChance = 2.5                                                    // blanks that end below each other, at most
	if t.columns > 3 || end-first > mostRows || t.width() > widest*a.em {
		return false
	}
	var starts []float64 // of what stands right of the blanks
	figures := 0
	for _, r := range lines[first:end] {
		if !r.several {
			continue
		}
		last := r.cells[len(r.cells)-1]
		if r.x0 > t.x0+slack*a.em || r.x1 < t.x1-slack*a.em {
			return false
		}
		if isNumeric(segmentsText([]segment{last})) {
			figures++
		}
		starts = append(starts, last.x0)
	}
	n := alignedShare(starts, slack*a.em) * float64(len(starts))
	if 2*figures > len(starts) || n > aligned*float64(len(starts)) && (n > byChance || int(n+0.5) == len(starts)) {
		return false
	}
	for i := max(0, first-1); i < min(end+1, len(lines)); i++ {
		if r := &lines[i]; !r.several && math.Abs(r.x0-t.x0) < slack*a.em && math.Abs(r.x1-t.x1) < slack*a.em && countRowWords(r.row) > 1 &&
			spanDistance(r.y0, r.y1, t.y0, t.y1) < near*a.em {
			return true
		}
	}
	return false
}
