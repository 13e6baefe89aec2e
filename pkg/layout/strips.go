package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// strip is a stretch of a page that rows one below the other leave free, with words on both sides of it in some of
// them: the gutter between columns, a gap between the cells of a table, or blanks that stand so by chance.
type strip struct {
	span
	first, end int   // the rows that it runs through
	both       []int // those with words on both sides
}

const (
	// minStripWidth is the least width of a strip in ems: the narrowest gutters of newspapers.
	minStripWidth = 0.4
	// minStripRows is how many rows with words on both sides make a strip: fewer are chance.
	minStripRows = 3
	// maxStripGap is how far apart, in ems, the rows may be that a strip runs through.
	maxStripGap = 4.0
	// maxOpenStrips bounds the strips that are followed at once.
	maxOpenStrips = 256
)

// stripRow is a row of words as strips see it: what is free in it.
type stripRow struct {
	rect
	words []placedWord
	texts []*inkstreamv1.Word // those of words
	free  []freeGap           // between words, wide enough, from left to right
}

type placedWord struct {
	rect
	word    *inkstreamv1.Word
	letters int
	from    int // the segment, by its place among all
}

// freeGap is a gap before word at of a row.
type freeGap struct {
	span
	at int
}

// newStripRows returns the rows of segments, which must be upright.
func newStripRows(segments []segment, em float64, t rotation) []stripRow {
	indexed := slices.Clone(segments)
	for i := range indexed {
		indexed[i].order = i
	}
	words := 0
	for _, s := range indexed {
		words += len(s.words)
		if s.table != nil {
			words++ // which is placed as one
		}
	}
	rows := leaf{indexed}.buildRows(em)
	out := make([]stripRow, 0, len(rows))
	placed, texts := make([]placedWord, 0, words), make([]*inkstreamv1.Word, 0, words) // of all rows
	for _, r := range rows {
		row := stripRow{rect: r.rect, words: placed[len(placed):]}
		for _, s := range r.segments {
			if s.table != nil {
				row.words = append(row.words, placedWord{s.rect, nil, 0, s.order})
			}
			for _, w := range s.words {
				row.words = append(row.words, placedWord{t.rotateRect(rectFromBox(w.GetBbox())), w, countLetters(w.GetText()), s.order})
			}
		}
		slices.SortStableFunc(row.words, func(a, b placedWord) int { return cmp.Compare(a.x0, b.x0) })
		placed = placed[:len(placed)+len(row.words)]
		row.texts = texts[len(texts):]
		for _, w := range row.words {
			row.texts = append(row.texts, w.word)
		}
		texts = texts[:len(texts)+len(row.texts)]
		reach := row.words[0].x1
		for i, w := range row.words[1:] {
			if w.x0-reach >= minStripWidth*em && len(row.free) < maxGutters {
				row.free = append(row.free, freeGap{span{reach, w.x0}, i + 1})
			}
			reach = max(reach, w.x1)
		}
		row.x0, row.x1 = row.words[0].x0, reach
		out = append(out, row)
	}
	return out
}

// findStrips returns the strips of rows, each as tall as it can be at its width.
func findStrips(rows []stripRow, em float64) []strip {
	var done, open []strip
	finish := func(s strip) {
		s.trimNarrowEnds(rows)
		if len(s.both) >= minStripRows {
			s.end = s.both[len(s.both)-1] + 1
			done = append(done, s)
		}
	}
	for i, row := range rows {
		kept := open[:0]
		for _, s := range open {
			if row.y0-rows[s.both[len(s.both)-1]].y1 > maxStripGap*em {
				finish(s)
				continue
			}
			if next, both, ok := row.narrowStrip(s.span, em); !ok {
				finish(s)
			} else {
				s.span = next
				if both {
					s.both = append(s.both, i)
				}
				kept = append(kept, s)
			}
		}
		open = kept
		for _, g := range row.free {
			known := slices.ContainsFunc(open, func(s strip) bool {
				return s.from >= g.from-1e-6 && s.to <= g.to+1e-6 &&
					s.to-s.from > 0.7*(g.to-g.from)
			})
			if !known && len(open) < maxOpenStrips {
				open = append(open, strip{span: g.span, first: i, both: []int{i}})
			}
		}
	}
	for _, s := range open {
		finish(s)
	}
	return done
}

// widerWithout is how many times as wide a strip must be without its first or last row for that not to be of it.
const widerWithout = 1.3

// trimNarrowEnds takes off the first and last rows that make a strip much narrower: a headline above columns has a
// blank over their gutter by chance.
func (s *strip) trimNarrowEnds(rows []stripRow) {
	for len(s.both) >= minStripRows {
		first, last := s.spanOf(rows, s.both[1:]), s.spanOf(rows, s.both[:len(s.both)-1])
		limit := widerWithout * (s.to - s.from)
		switch {
		case first.to-first.from >= max(limit, last.to-last.from):
			s.span, s.both, s.first = first, s.both[1:], s.both[1]
		case last.to-last.from >= limit:
			s.span, s.both = last, s.both[:len(s.both)-1]
		default:
			return
		}
	}
}

// spanOf returns the part of the gaps around the strip that some of its rows have in common.
func (s *strip) spanOf(rows []stripRow, both []int) span {
	out := span{-maxCoordinate, maxCoordinate}
	for _, i := range both {
		for _, g := range rows[i].free {
			if g.from <= s.from+1e-6 && g.to >= s.to-1e-6 {
				out.from, out.to = max(out.from, g.from), min(out.to, g.to)
			}
		}
	}
	return out
}

// narrowStrip returns what a row leaves free of a strip, and whether it has words on both sides of that.
func (r *stripRow) narrowStrip(s span, em float64) (next span, both, ok bool) {
	if s.from >= r.x1 || s.to <= r.x0 {
		return s, false, true
	}
	if free := min(s.to, r.x0) - s.from; free >= minStripWidth*em {
		return span{s.from, r.x0}, false, true
	}
	if free := s.to - max(s.from, r.x1); free >= minStripWidth*em {
		return span{r.x1, s.to}, false, true
	}
	i, _ := slices.BinarySearchFunc(r.free, s.from, func(g freeGap, x float64) int { return cmp.Compare(g.to, x) })
	for ; i < len(r.free) && r.free[i].from < s.to; i++ {
		if next = (span{max(s.from, r.free[i].from), min(s.to, r.free[i].to)}); next.to-next.from >= minStripWidth*em {
			return next, true, true
		}
	}
	return s, false, false
}

// splitAtGutters parts segments that reach over the gutter between two columns, where that is no wider than a blank of
// a justified line.
func (j *gutterJudge) splitAtGutters(segments []segment, t rotation) []segment {
	rows := newStripRows(segments, j.em, t)
	cuts := map[*inkstreamv1.Word]bool{} // the words that begin a segment
	for _, s := range findStrips(rows, j.em) {
		if !s.crossesSegment(rows) {
			continue
		}
		left, right := s.sides(rows, j.em)
		if !j.isColumnGutter(left, right, s.span, 1) {
			continue
		}
		for _, row := range s.crossingRows(rows) {
			cuts[row.words[row.gapAt(s.span)].word] = true
		}
	}
	if len(cuts) == 0 {
		return segments
	}
	out := make([]segment, 0, len(segments)+len(cuts))
	for _, s := range segments {
		start := 0
		for i := 1; i < len(s.words); i++ {
			if cuts[s.words[i]] && !(s.numbered && i == 1) {
				part := segmentPart(s, start, i, t)
				part.continuesLine = s.continuesLine || start > 0
				out = append(out, part)
				start = i
			}
		}
		if start > 0 {
			last := segmentPart(s, start, len(s.words), t)
			last.continuesLine = true
			s = last
		}
		out = append(out, s)
	}
	return numberSegments(out)
}

// numberSegments counts the segments again, as they were drawn.
func numberSegments(segments []segment) []segment {
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.order, b.order) })
	for i := range segments {
		segments[i].order = i
	}
	return segments
}

// crossesSegment reports whether a segment reaches over the strip in some of its rows.
func (s *strip) crossesSegment(rows []stripRow) bool {
	return slices.ContainsFunc(s.both, func(i int) bool { return rows[i].crosses(s.span) })
}

// crosses reports whether a segment of the row reaches over a strip.
func (r *stripRow) crosses(s span) bool {
	g := r.gapAt(s)
	return g > 0 && r.words[g].from == r.words[g-1].from
}

// maxCrossings is which part of a strip's rows few segments cross at most, and minCrossingGap how wide the gap in
// those must be, in parts of the narrowest of the other rows.
const maxCrossings, minCrossingGap = 0.15, 0.8

// crossingRows returns the rows of which a segment reaches over the strip and is to be parted there. Where few do, and
// leave less room there than all the others, they are headings over the gutter, with a blank there by chance.
func (s *strip) crossingRows(rows []stripRow) []*stripRow {
	var out []*stripRow
	gutter := float64(maxCoordinate)
	for _, i := range s.both {
		row := &rows[i]
		if row.crosses(s.span) {
			out = append(out, row)
		} else if g := row.gapAt(s.span); g > 0 {
			gutter = min(gutter, row.words[g].x0-row.words[g-1].x1)
		}
	}
	if float64(len(out)) > max(1, maxCrossings*float64(len(s.both))) || len(s.both) <= minStripRows {
		return out
	}
	return slices.DeleteFunc(out, func(r *stripRow) bool {
		g := r.gapAt(s.span)
		return r.words[g].x0-r.words[g-1].x1 < minCrossingGap*gutter
	})
}

// gapAt returns the first word right of a strip that runs between two words of the row; 0 if it does not.
func (r *stripRow) gapAt(s span) int {
	for _, g := range r.free {
		if g.from <= s.from+1e-6 && g.to >= s.to-1e-6 {
			return g.at
		}
	}
	return 0
}

// sides returns the lines of text left and right of a strip, as far as the next wide gap.
func (s *strip) sides(rows []stripRow, em float64) (left, right []sideLine) {
	left, right = make([]sideLine, 0, len(s.both)), make([]sideLine, 0, len(s.both))
	for _, i := range s.both {
		row := &rows[i]
		at := row.gapAt(s.span)
		if at == 0 {
			continue
		}
		from, to := at-1, at+1
		for from > 0 && row.words[from].x0-row.words[from-1].x1 < wideGap*em && row.words[from-1].word != nil {
			from--
		}
		for to < len(row.words) && row.words[to].x0-row.words[to-1].x1 < wideGap*em && row.words[to].word != nil {
			to++
		}
		if row.words[at-1].word == nil || row.words[at].word == nil {
			continue
		}
		left = append(left, row.sideLine(from, at))
		right = append(right, row.sideLine(at, to))
	}
	return left, right
}

// sideLine returns the words from one to before another, of which none is a table, as a line beside a gutter.
func (r *stripRow) sideLine(from, to int) sideLine {
	placed, words := r.words[from:to], r.texts[from:to]
	line := newSideLine(words)
	line.rect, line.order = placed[0].rect, placed[0].from
	for _, p := range placed {
		line.rect = line.rect.union(p.rect)
		line.letters += p.letters
	}
	return line
}
