package layout

import (
	"cmp"
	"slices"
)

// whole puts segments together again that only a gap parts, where no gutter came between them: an engine that saw them on one line is the
// best witness that they are, on a page that lies askew above all.
func whole(segments []seg) []seg {
	if !slices.ContainsFunc(segments, func(s seg) bool { return s.goes }) {
		return segments
	}
	slices.SortFunc(segments, func(a, b seg) int { return cmp.Compare(a.order, b.order) })
	out := segments[:0]
	for i, s := range segments {
		if last := len(out) - 1; i > 0 && s.goes && s.order == segments[i-1].order+1 {
			out[last].add(s)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// add appends what follows a segment on its line. Segments are made with no room behind their words, so the first append copies them.
func (s *seg) add(next seg) {
	s.rect = s.rect.union(next.rect)
	s.words = append(s.words, next.words...)
	s.text += next.text
	s.size = max(s.size, next.size)
}

// closeBy is how far apart, in ems, segments of one baseline are one.
const closeBy = 0.6

// join puts segments together that an engine set apart although they follow one another on one baseline, as when a document draws each word
// by itself. How wide columns are, and how much text their lines hold, can be told from whole segments only.
func join(segments []seg, em float64) []seg {
	words, lines := 0, 0
	for _, s := range segments {
		words += len(s.words)
		if !s.goes {
			lines++
		}
	}
	if 4*lines <= words { // the engine's lines are whole
		return segments
	}
	level := leaf{slices.Clone(segments)}.rows(em)
	out := segments[:0]
	for _, r := range level {
		slices.SortStableFunc(r.segments, func(a, b seg) int { return cmp.Compare(a.x0, b.x0) })
		for i := range r.segments {
			r.segments[i].goes = false // where every word stands by itself, the order that they came in tells nothing
		}
		cur := r.segments[0]
		for _, s := range r.segments[1:] {
			gap := s.x0 - cur.x1
			if s.table != nil || cur.table != nil || gap > closeBy*em || gap < -0.2*em || s.rtl || cur.rtl || s.size > 1.3*cur.size || cur.size > 1.3*s.size {
				out = append(out, cur)
				cur = s
				continue
			}
			cur.add(s)
			cur.order = min(cur.order, s.order)
		}
		out = append(out, cur)
	}
	return out
}
