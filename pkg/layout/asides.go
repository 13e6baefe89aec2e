package layout

import (
	"math"
	"slices"
	"strings"
)

// aside is a few words at the right of a text, level with the first line of a piece of it: a date, an amount, who is to
// do what.
type aside struct {
	row, end    int // the row that they stand in, and that behind the last that goes on with the text beside
	text, words row // what stands left in their row, and they
}

// moveAsides returns rows in which words that stand right of a piece of text are rows of their own, below the piece: in
// its first row they would break the text that goes on in the next. The rows are those that no table has taken.
func (a *aligner) moveAsides(rows []row) []row {
	const fewest = 3
	if len(rows) < 2*fewest {
		return rows
	}
	asides := a.findAsides(rows)
	if len(asides) < fewest || !a.standBelowEachOther(asides) {
		return rows
	}
	below, marks := a.findContinuations(rows, asides), areMarksInBrackets(asides)
	asides = slices.DeleteFunc(asides, func(s aside) bool { return s.end == s.row+1 })
	if 2*len(asides) < below || !(marks && len(asides) > 0) && (len(asides) < fewest || !haveOwnColumn(rows, asides)) {
		return rows
	}
	out := make([]row, 0, len(rows)+len(asides))
	at := 0
	for _, s := range asides {
		out = append(out, rows[at:s.row]...)
		out = append(append(append(out, s.text), rows[s.row+1:s.end]...), s.words)
		at = s.end
	}
	return append(out, rows[at:]...)
}

// areMarksInBrackets reports whether asides are figures in brackets, as the marks are that questions of an
// examination earn: no text has those at its edge.
func areMarksInBrackets(asides []aside) bool {
	return !slices.ContainsFunc(asides, func(s aside) bool {
		text := segmentsText(s.words.segments)
		inner := strings.Trim(text, "[(])")
		return len(inner)+2 != len(text) || !strings.ContainsAny(inner[:min(1, len(inner))], "0123456789")
	})
}

// haveOwnColumn reports whether nearly all rows among the asides end left of them: else those are the ends of lines
// that have a wide blank.
func haveOwnColumn(rows []row, asides []aside) bool {
	const part = 10 // of the rows, one of which may reach over
	edge, over := math.Inf(1), 0
	for _, s := range asides {
		edge = min(edge, s.words.x0)
	}
	among, at := rows[asides[0].row:asides[len(asides)-1].end], 0
	for i, r := range among {
		if at < len(asides) && asides[at].row == asides[0].row+i {
			at++
		} else if r.x1 > edge {
			over++
		}
	}
	return part*over <= len(among)
}

// newRow returns a row of segments.
func newRow(segments []segment) row {
	r := row{rect: segments[0].rect, core: segments[0].rect}
	for _, s := range segments {
		r.addSegment(s)
	}
	return r
}

// findAsides returns what stands behind the last wide gap of rows that have text on its left, without leaders to it.
func (a *aligner) findAsides(rows []row) []aside {
	const words, text, wider = 4, 2, 1.5 // of an aside at most, of the text at least; times as wide as the aside
	var out []aside
	for i, r := range rows {
		cells := a.splitRowCells(r)
		n := len(cells) - 1 // the aside's
		if n < 1 || n > 2 || n == 2 && !isMark(cells[0].words) || cells[0].rtl || a.style.isMonospaced(cells[0].words) {
			continue
		}
		s := aside{row: i, end: i + 1, text: newRow(cells[:n]), words: newRow(cells[n:])}
		before := segmentWords(cells[:n])
		if countWords(before) < text || countWords(cells[n].words) > words || s.text.width() < wider*s.words.width() ||
			hasLeaderDots(segment{words: before}) || hasLeaderDots(cells[n]) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// standBelowEachOther reports whether asides begin or end at one edge.
func (a *aligner) standBelowEachOther(asides []aside) bool {
	const aligned, slack = 0.8, 0.3
	starts, ends := make([]float64, len(asides)), make([]float64, len(asides))
	for i, s := range asides {
		starts[i], ends[i] = s.words.x0, s.words.x1
	}
	return max(alignedShare(starts, slack*a.em), alignedShare(ends, slack*a.em)) >= aligned
}

// findContinuations finds the rows that go on with the text beside asides, and returns how many of those have text as
// close below as lines stand, whether it goes on or not.
func (a *aligner) findContinuations(rows []row, asides []aside) (below int) {
	const least, most, more = 0.8, 1.7, 0.2 // ems from one line to the next, and beyond the least that there is
	edge, right, pitch := math.Inf(1), math.Inf(-1), most*a.em
	for _, s := range asides {
		edge = min(edge, s.words.x0)
		if s.row+1 < len(rows) {
			pitch = min(pitch, rows[s.row+1].core.y1-rows[s.row].core.y1)
		}
	}
	for _, s := range asides {
		right = max(right, s.text.x1)
		if next := s.row + 1; next < len(rows) && rows[next].x1 < edge {
			right = max(right, rows[next].x1)
		}
	}
	pitch = max(pitch, least*a.em) + more*a.em
	for i := range asides {
		s := &asides[i]
		last := len(rows)
		if i+1 < len(asides) {
			last = asides[i+1].row
		}
		for before := s.text; s.end < last; s.end++ {
			next := rows[s.end]
			if next.x1 > s.words.x0-wideGap*a.em || next.core.y1-before.core.y1 > pitch {
				break
			}
			if s.end == s.row+1 {
				below++
			}
			if !a.goesOnWith(before, next, right) {
				break
			}
			before = next
		}
	}
	return below
}

// goesOnWith reports whether a row goes on with the text of the row above: it is of one kind of type, and the row above
// has no room for its first word before the right edge of the text.
func (a *aligner) goesOnWith(above, next row, right float64) bool {
	const blank, sized = 0.4, 0.5 // ems, and points
	words := segmentWords(next.segments)
	if len(words) == 0 { // a table
		return false
	}
	first := a.style.rotation.rotateRect(rectFromBox(words[0].GetBbox()))
	if above.x1+blank*a.em+first.width() < right {
		return false
	}
	x, y := a.style.lineStyleOf(segmentWords(above.segments)), a.style.lineStyleOf(words)
	return x.bold == y.bold && math.Abs(x.size-y.size) < sized
}
