package layout

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// row is a line of text: segments that share a baseline.
type row struct {
	rect
	segments []segment
	core     rect // of the segment that says where the line runs: the one with the most text
}

// maxOpenRows is how many rows a segment is compared with. Segments come sorted by their place on the page, so that
// the row that one belongs to is among the last few; the bound keeps a page of nothing but overlaps fast.
const maxOpenRows = 6

// maxMarkLetters is how much text a segment has at most to be no line by itself: a raised mark, a bullet, a sign of
// an equation. Such are put to the lines once these stand, because their boxes say little about where their line
// runs.
const maxMarkLetters = 2

// buildRows puts the segments of a leaf together into rows, from top to bottom.
func (l leaf) buildRows(em float64) []row {
	slices.SortStableFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.centerY(), b.centerY()) })
	rows := make([]row, 0, len(l.segments))
	var marks []segment
	for _, s := range l.segments {
		if s.text <= maxMarkLetters && len(l.segments) > 1 {
			marks = append(marks, s)
			continue
		}
		if best := findNearestRow(rows[max(0, len(rows)-maxOpenRows):], s, 0.5, em); best != nil {
			best.addSegment(s)
		} else {
			rows = append(rows, row{rect: s.rect, segments: []segment{s}, core: s.rect})
		}
	}
	rows = addMarksToRows(rows, marks, em)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.core.centerY(), b.core.centerY()) })
	return rows
}

// addMarksToRows puts the marks, sorted by their place, to the rows that they overlap most, or in rows of their own.
func addMarksToRows(rows []row, marks []segment, em float64) []row {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.core.centerY(), b.core.centerY()) })
	lines := len(rows)
	for _, s := range marks {
		i, _ := slices.BinarySearchFunc(rows[:lines], s.centerY(),
			func(r row, y float64) int { return cmp.Compare(r.core.centerY(), y) })
		best := findNearestRow(rows[max(0, i-maxOpenRows/2):min(lines, i+maxOpenRows/2)], s, 0.25, em)
		if best == nil {
			best = findNearestRow(rows[max(lines, len(rows)-maxOpenRows):], s, 0.3, em)
		}
		if best != nil {
			best.addSegment(s)
		} else {
			rows = append(rows, row{rect: s.rect, segments: []segment{s}, core: s.rect})
		}
	}
	return rows
}

// findNearestRow returns the row that a segment stands on: its core and the segment overlap by that share of the
// lower of both, or more, and the place is free. If several do, it is the one that they overlap most on, and of
// equals the one with text close by.
func findNearestRow(rows []row, s segment, share, em float64) *row {
	var best *row
	bestOverlap, bestGap := 0.0, 0.0
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		small, large := min(r.core.height(), s.height()), max(r.core.height(), s.height())
		if large > 2*small && large > 1.6*em {
			continue // a drop cap, a tall bracket, a box gone wrong: it would tie lines together that it only stands beside
		}
		overlap := -spanDistance(r.core.y0, r.core.y1, s.y0, s.y1)
		if overlap < 0 || overlap < share*small || r.isHalfLineOff(s) || (overlap == 0 && small > 0) || !r.hasRoomFor(s, large) {
			continue
		}
		gap := max(0, spanDistance(r.x0, r.x1, s.x0, s.x1))
		if best == nil || overlap > bestOverlap+0.1*em || overlap > bestOverlap-0.1*em && gap < bestGap {
			best, bestOverlap, bestGap = r, overlap, gap
		}
	}
	return best
}

// isHalfLineOff reports whether a segment in the type of the row's stands half a line higher or lower.
func (r *row) isHalfLineOff(s segment) bool {
	return len(s.words) > 0 && len(r.segments[0].words) > 0 && areHalfLineApart(r.core, r.segments[0].words[0], s.rect, s.words[0])
}

// maxComparedSegments is how many segments of a row one is compared with: a real row has a dozen, and a row of
// thousands must not take their square.
const maxComparedSegments = 48

// hasRoomFor reports whether the row has room for a segment where that stands. A short one may stand over the words
// that it was drawn apart from.
func (r *row) hasRoomFor(s segment, height float64) bool {
	if s.text <= maxMarkLetters || spanDistance(r.x0, r.x1, s.x0, s.x1) >= 0 {
		return true
	}
	for _, o := range r.segments[max(0, len(r.segments)-maxComparedSegments):] {
		if clash := -spanDistance(o.x0, o.x1, s.x0, s.x1); clash > 0.6*min(o.width(), s.width()) && clash > 0.5*height {
			return false
		}
	}
	return true
}

// addSegment puts a segment on the row. The one with the most text comes first, and is the row's core.
func (r *row) addSegment(s segment) {
	r.rect = r.rect.union(s.rect)
	r.segments = append(r.segments, s)
	if first := &r.segments[0]; s.text > first.text {
		r.core = s.rect
		*first, r.segments[len(r.segments)-1] = s, *first
	}
}

// wordsInOrder returns the words of the row in reading order.
func (r *row) wordsInOrder(em float64, t rotation) []*inkstreamv1.Word {
	if len(r.segments) == 1 {
		return r.segments[0].words
	}
	rtl := 0
	for _, s := range r.segments {
		if s.rtl {
			rtl++
		}
	}
	segments := r.segments
	if 2*rtl > len(segments) {
		slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(b.x1, a.x1) })
		var words []*inkstreamv1.Word
		for _, s := range segments {
			words = append(words, s.words...)
		}
		return words
	}
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	var words []*inkstreamv1.Word
	for i := 0; i < len(segments); {
		end, reach := i+1, segments[i].x1
		for end < len(segments) && segments[end].x0 < reach-0.2*em {
			reach = max(reach, segments[end].x1)
			end++
		}
		if end == i+1 {
			words = appendRowWords(words, segments[i].words, em, t)
		} else {
			for _, w := range orderOverlaidWords(segments[i:end], t) {
				words = appendRowWords(words, []*inkstreamv1.Word{w}, em, t)
			}
		}
		i = end
	}
	return words
}

// orderOverlaidWords returns the words of segments that lie over one another, as when raised marks are drawn after
// the line that they stand in: from left to right, each for itself.
func orderOverlaidWords(segments []segment, t rotation) []*inkstreamv1.Word {
	var words []*inkstreamv1.Word
	for _, s := range segments {
		words = append(words, s.words...)
	}
	slices.SortStableFunc(words, func(a, b *inkstreamv1.Word) int {
		return cmp.Compare(t.rotateRect(rectFromBox(a.GetBbox())).x0, t.rotateRect(rectFromBox(b.GetBbox())).x0)
	})
	return words
}

// maxMergedWordBytes is how many bytes a word may have that is put together of parts: many more than a formula's, but
// not a page's.
const maxMergedWordBytes = 1024

// appendRowWords appends words to a row. A word of another size that touches the last one is a raised or lowered part
// of it, as in CO₂ or a note's mark, and becomes one word with it.
func appendRowWords(words, more []*inkstreamv1.Word, em float64, t rotation) []*inkstreamv1.Word {
	if len(words) == 0 || len(more) == 0 {
		return append(words, more...)
	}
	last, next := words[len(words)-1], more[0]
	if len(last.GetText())+len(next.GetText()) > maxMergedWordBytes || !isAttachedScript(last, next, em, t) {
		return append(words, more...)
	}
	words[len(words)-1] = mergeWords(last, next)
	return append(words, more[1:]...)
}

// isAttachedScript reports whether a word of another size is set right behind a word, raised or lowered.
func isAttachedScript(a, b *inkstreamv1.Word, em float64, t rotation) bool {
	x, y := t.rotateRect(rectFromBox(a.GetBbox())), t.rotateRect(rectFromBox(b.GetBbox()))
	gap, limit := y.x0-x.x1, 0.03*em // what is written close in a formula are words of it
	if isProseWord(a.GetText()) {
		limit = 0.12 * em
	}
	if gap < -0.25*em || gap > limit || a.Confidence != nil || b.Confidence != nil {
		return false
	}
	raised := x.y1-y.y1 > 0.12*em || y.y1-x.y1 > 0.12*em
	small := min(x.height(), y.height())
	return raised && small < 0.85*max(x.height(), y.height())
}

// isProseWord reports whether a word is one of running text: it has three letters, or ends with a mark of punctuation.
func isProseWord(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			if n++; n >= 3 {
				return true
			}
		}
	}
	return strings.ContainsAny(text[max(0, len(text)-1):], ".,;:!?)]\"")
}

// mergeWords makes one word of two. The larger part says which font it is set in.
func mergeWords(a, b *inkstreamv1.Word) *inkstreamv1.Word {
	text := a.GetText() + b.GetText()
	box := rectFromBox(a.GetBbox()).union(rectFromBox(b.GetBbox()))
	word := a
	if b.GetSize() > a.GetSize() {
		word = b
	}
	word.Text, word.Bbox = text, box.toBox()
	return word
}
