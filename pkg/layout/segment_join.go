package layout

import (
	"cmp"
	"slices"
)

// joinSplitSegments puts segments together again that only a gap parts, where no gutter came between them: an engine
// that saw them on one line is the best witness that they are, on a page that lies askew above all.
func joinSplitSegments(segments []segment) []segment {
	if !slices.ContainsFunc(segments, func(s segment) bool { return s.continuesLine }) {
		return segments
	}
	slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.order, b.order) })
	out := segments[:0]
	for i, s := range segments {
		if last := len(out) - 1; i > 0 && s.continuesLine && s.order == segments[i-1].order+1 {
			out[last].appendSegment(s)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// appendSegment appends what follows a segment on its line. Segments are made with no room behind their words, so the
// first append copies them.
func (s *segment) appendSegment(next segment) {
	s.rect = s.rect.union(next.rect)
	s.words = append(s.words, next.words...)
	s.text += next.text
	s.size = max(s.size, next.size)
}

// maxJoinDistance is how far apart, in ems, segments of one baseline are one.
const maxJoinDistance = 0.6

// joinSegments puts segments together that an engine set apart although they follow one another on one baseline, as
// when a document draws each word by itself. How wide columns are, and how much text their lines hold, can be told
// from whole segments only.
func joinSegments(segments []segment, em float64) []segment {
	words, lines := 0, 0
	for _, s := range segments {
		words += len(s.words)
		if !s.continuesLine {
			lines++
		}
	}
	if 4*lines <= words { // the engine's lines are whole
		return segments
	}
	level := leaf{slices.Clone(segments)}.buildRows(em)
	out := segments[:0]
	for _, r := range level {
		slices.SortStableFunc(r.segments, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
		for i := range r.segments {
			r.segments[i].continuesLine = false // where every word stands by itself, the order that they came in tells nothing
		}
		cur := r.segments[0]
		for _, s := range r.segments[1:] {
			gap := s.x0 - cur.x1
			if s.table != nil || cur.table != nil || gap > maxJoinDistance*em || gap < -0.2*em || s.rtl || cur.rtl ||
				s.size > 1.3*cur.size || cur.size > 1.3*s.size {
				out = append(out, cur)
				cur = s
				continue
			}
			cur.appendSegment(s)
			cur.order = min(cur.order, s.order)
		}
		out = append(out, cur)
	}
	return out
}
