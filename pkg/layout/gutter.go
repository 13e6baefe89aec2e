package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// splitColumns parts the segments of a band at those of its gutters that lie between columns of text. Gutters within
// a table part nothing. The columns stand one after the other in the band's own array, for columns within columns
// must not each take a page's memory.
func (c *cutter) splitColumns(band pageBand) [][]segment {
	parts := make([][]segment, len(band.freeSpans)+1)
	for _, s := range band.segments {
		i, _ := slices.BinarySearchFunc(band.freeSpans, s.x0, func(g span, x float64) int { return cmp.Compare(g.from, x) })
		parts[i] = append(parts[i], s)
	}
	parts = slices.DeleteFunc(parts, func(p []segment) bool { return len(p) == 0 })
	if len(parts) < 2 {
		return nil
	}
	ends := []int{len(parts[0])} // of the columns
	for i, part := range parts[1:] {
		last := len(ends) - 1
		if c.areSeparateColumns(parts[i], part) {
			ends = append(ends, ends[last]+len(part))
		} else {
			ends[last] += len(part)
		}
	}
	if len(ends) < 2 {
		return nil
	}
	rtl, start := 0, 0
	copy(band.segments, slices.Concat(parts...))
	columns := make([][]segment, len(ends))
	for i, end := range ends {
		columns[i], start = band.segments[start:end:end], end
	}
	for _, s := range band.segments {
		if s.rtl {
			rtl++
		}
	}
	if 2*rtl > len(band.segments) {
		slices.Reverse(columns)
	}
	return columns
}

// columnStats is what is known of the text on one side of a gutter.
type columnStats struct {
	rect
	rows    int     // lines of text
	words   float64 // a segment, on average
	fill    float64 // how much of the side's width a segment takes, on average
	middles []float64
}

func measureColumn(segments []segment) columnStats {
	s := columnStats{rect: segments[0].rect}
	width, words := 0.0, 0
	s.middles = make([]float64, len(segments))
	for i, g := range segments {
		s.rect = s.rect.union(g.rect)
		width += g.width()
		if g.table != nil { // it fills its column, and reads by itself
			words += 4
		}
		words += countWords(g.words)
		s.middles[i] = g.centerX()
	}
	slices.Sort(s.middles)
	last := 0.0
	for i, m := range s.middles {
		if i == 0 || m-last > 0.5*(segments[0].height()) {
			s.rows++
		}
		last = m
	}
	n := float64(len(segments))
	s.words = float64(words) / n
	if w := s.rect.width(); w > 0 {
		s.fill = width / n / w
	}
	return s
}

// countWords counts words; a long run of a script written without blanks counts as one for every three characters.
func countWords(words []*inkstreamv1.Word) int {
	n := 0
	for _, w := range words {
		n++
		if text := w.GetText(); len(text) > 12 {
			wide := 0
			for _, r := range text {
				if r >= 0x0e00 && r <= 0x0eff || r >= 0x2e80 && r < 0xfb00 {
					wide++
				}
			}
			n += wide / 3
		}
	}
	return n
}

// looksLikeProse reports whether the side looks like running text: several words a line, and lines that fill the
// column.
func (s columnStats) looksLikeProse() bool { return s.words >= 3 && s.fill >= 0.5 }

// areSeparateColumns reports whether the segments left and right of a gutter are columns that are read one after the
// other, and not the cells of rows that are read across.
func (c *cutter) areSeparateColumns(left, right []segment) bool {
	l, r := measureColumn(left), measureColumn(right)
	rows := min(l.rows, r.rows)
	if spanDistance(l.y0, l.y1, r.y0, r.y1) > 0 { // one above the other: no row has both
		return true
	}
	if rows < 2 {
		return !areLinesAligned(l, r, c.em, 0.5) && max(l.rows, r.rows) > 2
	}
	jumps := countCrossings(left, right)
	down := jumps <= 1+rows/4 // the document was drawn column by column
	level := areLinesAligned(l, r, c.em, 0.5)
	switch {
	case level && c.isRuledTable(l, r):
		return false
	case l.looksLikeProse() && r.looksLikeProse():
		return down || rows >= 4 || !level
	case level && (l.words < 2 || r.words < 2):
		return false // a column of labels or figures beside what they belong to
	case down:
		return rows >= 3 || !level
	default:
		return !level && rows >= 3
	}
}

// isRuledTable reports whether lines are drawn across the gutter above and below the text on its sides, and across
// most of both: a table's.
func (c *cutter) isRuledTable(l, r columnStats) bool {
	both := l.rect.union(r.rect)
	above, below := false, false
	for _, line := range c.across {
		if min(line.to, both.x1)-max(line.from, both.x0) < 0.8*both.width() {
			continue
		}
		above = above || line.at > both.y0-2*c.em && line.at < both.y0+2.5*c.em
		below = below || line.at > both.y1-2.5*c.em && line.at < both.y1+2*c.em
	}
	return above && below
}

// areLinesAligned reports whether at least that share of the lines on the shorter side have a line level with them on
// the other.
func areLinesAligned(l, r columnStats, em, share float64) bool {
	a, b := l.middles, r.middles
	if len(a) > len(b) {
		a, b = b, a
	}
	level, j := 0, 0
	for _, m := range a {
		for j < len(b) && b[j] < m-0.3*em {
			j++
		}
		if j < len(b) && b[j] <= m+0.3*em {
			level++
		}
	}
	return float64(level) >= share*float64(len(a))
}

// countCrossings counts how often the order in which segments were drawn goes from one side to the other.
func countCrossings(left, right []segment) int {
	type drawn struct {
		order int
		right bool
	}
	all := make([]drawn, 0, len(left)+len(right))
	for _, s := range left {
		all = append(all, drawn{s.order, false})
	}
	for _, s := range right {
		all = append(all, drawn{s.order, true})
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Compare(a.order, b.order) })
	n := 0
	for i := 1; i < len(all); i++ {
		if all[i].right != all[i-1].right {
			n++
		}
	}
	return n
}
