package textlayer

import (
	"cmp"
	"math"
	"slices"
)

const (
	// rowHeightPoints is that of the rows, in points, in which words are looked for beside others.
	rowHeightPoints = 2
	// maxRows bounds the rows that one text lies in: the first ones tell as much of a larger one.
	maxRows = 16
	// ownText stands for a line of the page's own text.
	ownText = -1
)

// rowExtent is what a text takes up of a row.
type rowExtent struct {
	row      int
	from, to float64
	line     int
	word     *placedWord
}

// avoidOverlaps has lines written in the small face whose words lie on text of the page's own, or beside words of
// another line with hardly anything between. Readers that go by places would make one line of both, with words of
// both joined or cut in two.
func (t *textLayer) avoidOverlaps(lines []*textLine, own []OwnText) {
	for _, angle := range [4]int32{0, 90, 180, 270} {
		var extents []rowExtent
		for i, l := range lines {
			for _, w := range l.words {
				if w.angle == angle {
					// Base lines of one line are up to half a size apart.
					extents = addExtent(extents, w, w.base-w.fontSize(regularFace)/4, w.base+w.fontSize(regularFace)/4, i)
				}
			}
		}
		if len(extents) == 0 {
			continue
		}
		for _, o := range own {
			if box, ok := t.toPageBox(o.Box); ok {
				w := &placedWord{}
				w.setFrame(box, angle)
				extents = addExtent(extents, w, w.base, w.top, ownText)
			}
		}
		for _, pair := range overlappingPairs(extents) {
			for _, e := range pair {
				if e.line != ownText {
					lines[e.line].face = smallFace
				}
			}
			if pair[0].line != ownText && pair[1].line != ownText {
				separateWords([]*placedWord{pair[0].word, pair[1].word}, t.maxShift(), smallFace)
			}
		}
	}
}

// addExtent adds what a text takes up of the rows between two heights.
func addExtent(extents []rowExtent, w *placedWord, low, high float64, line int) []rowExtent {
	first := int(math.Floor(low / rowHeightPoints))
	last := min(int(math.Floor(high/rowHeightPoints)), first+maxRows-1)
	for row := first; row <= last; row++ {
		extents = append(extents, rowExtent{row, w.from, w.to + minWordGap*w.fontSize(regularFace), line, w})
	}
	return extents
}

// overlappingPairs returns what shares a part of a row with another line, or with the page's own text, each with what
// it does so with.
func overlappingPairs(extents []rowExtent) (pairs [][2]rowExtent) {
	slices.SortFunc(extents, func(a, b rowExtent) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.from, b.from))
	})
	// Of what began further left in the row, far reaches the farthest, and next the farthest of other lines than far's.
	var far, next rowExtent
	for i, e := range extents {
		if i == 0 || e.row != far.row {
			far, next = e, rowExtent{line: e.line, to: math.Inf(-1)}
			continue
		}
		beside := far
		if far.line == e.line {
			beside = next
		}
		if beside.line != e.line && beside.to > e.from {
			pairs = append(pairs, [2]rowExtent{beside, e})
		}
		switch {
		case e.to > far.to && e.line == far.line:
			far = e
		case e.to > far.to:
			far, next = e, far
		case e.line != far.line && e.to > next.to:
			next = e
		}
	}
	return pairs
}
