package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// columnFinder finds the columns of rows, between the stretches that the rows leave free.
type columnFinder struct{ textSetting }

// widestBlank returns how far apart words are at most that only a blank parts: that of the rows' own text may be wide.
func (f columnFinder) widestBlank(rows []tableLine) float64 {
	const usual, widest, wider, fewest = 0.45, 0.6, 1.25, 3 // ems; times as wide as the blanks of the text; blanks
	var blanks []float64
	for _, r := range rows {
		for _, s := range r.segments {
			for i := 1; i < len(s.words); i++ {
				if isNumeric(s.words[i-1].GetText()) || isNumeric(s.words[i].GetText()) {
					continue
				}
				before, next := f.style.rotation.rotateRect(rectFromBox(s.words[i-1].GetBbox())), f.style.rotation.rotateRect(rectFromBox(s.words[i].GetBbox()))
				blanks = append(blanks, next.x0-before.x1)
			}
		}
	}
	if len(blanks) < fewest {
		return usual * f.em
	}
	return max(usual*f.em, min(widest*f.em, wider*median(blanks)))
}

// mostNarrowGaps is how many stretches are looked at that are too narrow by themselves.
const mostNarrowGaps = 16

// findGutters returns the stretches that nearly all rows leave free: between words, for the blanks of running text do
// not stand one above the other.
func (f columnFinder) findGutters(rows []tableLine) []span {
	type edge struct {
		x    float64
		open int
	}
	var at []edge
	x0, blank, heads := rows[0].x0, f.widestBlank(rows), f.findHeadSpans(rows)
	for _, r := range rows {
		x0 = min(x0, r.x0)
		for _, s := range r.segments {
			from, to := 0.0, -1.0
			for _, w := range s.words {
				b := f.style.rotation.rotateRect(rectFromBox(w.GetBbox()))
				if _, isHead := findHeadSpan(heads, b); isHead {
					continue
				}
				if to >= from && (b.x0 <= to+blank || b.x1 <= r.labelEdge+maxEdgeOffset) && b.x0 >= from {
					to = max(to, b.x1)
					continue
				}
				if to >= from {
					at = append(at, edge{from, 1}, edge{to, -1})
				}
				from, to = b.x0, b.x1
			}
			if to >= from {
				at = append(at, edge{from, 1}, edge{to, -1})
			}
		}
	}
	slices.SortFunc(at, func(a, b edge) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.open, a.open)) })
	most := len(rows) / 7
	least := 0.45 * f.em
	sure := least // in few rows, blanks stand one above the other by chance, but for those before figures
	if len(rows) < 5 {
		most, sure = 0, 0.8*f.em
	}
	var out []span
	tries := 0
	depth, from, free := 0, x0, false
	for _, e := range at {
		was := depth
		depth += e.open
		switch {
		case was <= most && depth > most:
			gap := span{from, e.x}
			isGap := free && e.x-from >= least && (e.x-from >= sure || f.beginsFigures(rows, gap))
			if free && !isGap && was == 0 && tries < mostNarrowGaps {
				tries++
				isGap = f.partsAllWidely(rows, gap)
			}
			if isGap {
				out = append(out, gap)
			}
			free = false
		case was > most && depth <= most:
			from, free = e.x, true
		}
	}
	return out
}

// partsAllWidely reports whether a narrow stretch parts all rows, each of which leaves much room there: the figures of
// one column end at the right, and a wide head begins at the left of the next.
func (f columnFinder) partsAllWidely(rows []tableLine, gap span) bool {
	const room, fewest = 0.8, 3 // ems, rows
	for _, r := range rows {
		left, right := math.Inf(-1), math.Inf(1)
		for _, s := range r.segments {
			for _, w := range s.words {
				if b := f.style.rotation.rotateRect(rectFromBox(w.GetBbox())); b.x1 <= gap.from+0.01 {
					left = max(left, b.x1)
				} else {
					right = min(right, b.x0)
				}
			}
		}
		if right-left < room*f.em {
			return false
		}
	}
	return len(rows) >= fewest
}

// beginsFigures reports whether figures stand right of a gap and something left of it, in all rows but one at most.
func (f columnFinder) beginsFigures(rows []tableLine, gap span) bool {
	figures := 0
	for _, r := range rows {
		left := false
		var right *inkstreamv1.Word
		for _, s := range r.segments {
			for _, w := range s.words {
				if f.style.rotation.rotateRect(rectFromBox(w.GetBbox())).x1 <= gap.from+1 {
					left = true
				} else if right == nil {
					right = w
				}
			}
		}
		if left && right != nil && isNumeric(right.GetText()) {
			figures++
		}
	}
	return figures > 1 && figures >= len(rows)-1
}

// countColumns returns how many columns the rows with text in several places have; 0 where those are too few to tell.
func (f columnFinder) countColumns(rows []tableLine) int {
	several := slices.DeleteFunc(slices.Clone(rows), func(r tableLine) bool { return !r.several })
	if len(several) < 2 {
		return 0
	}
	return len(f.findGutters(several)) + 1
}

// fillTable puts the text of the rows into cells between the gutters.
func (f columnFinder) fillTable(rows []tableLine, gaps []span) *table {
	const apart = 0.8 // ems
	t := &table{rect: rows[0].rect, rows: len(rows), columns: len(gaps) + 1}
	heads := f.findHeadSpans(rows)
	for r, line := range rows {
		t.rect = t.rect.union(line.rect)
		var parts []segment
		for _, s := range line.cells {
			if _, isHead := findHeadSpan(heads, s.rect); isHead {
				parts = append(parts, s)
				continue
			}
			parts = append(parts, f.cutSegment(s, gaps)...)
		}
		for i, s := range parts {
			end := s.x1
			if i > 0 && s.x0-parts[i-1].x1 < apart*f.em {
				end = s.x0 // it may go on with what stands before it
			}
			first := columnIndex(gaps, s.x0+0.1*f.em, end)
			last := lastColumnIndex(gaps, first, s.rect, 0.1*f.em)
			if i+1 < len(parts) && isNumeric(segmentsText(parts[i+1:i+2])) && !isNumeric(segmentsText(parts[i:i+1])) {
				last = max(first, min(last, columnIndex(gaps, parts[i+1].x0+0.1*f.em, parts[i+1].x1)-1)) // the figure is no part of the text
			}
			if head, isHead := findHeadSpan(heads, s.rect); isHead {
				first, last = head.coverColumns(gaps)
			} else if last == first+1 && s.x1 <= gaps[first].to && f.isWrappedLabel(rows, r) {
				last = first // wider than the labels that figures stand beside
			}
			if n := len(t.cells); n > 0 && t.cells[n-1].row == r && t.cells[n-1].column+t.cells[n-1].columnSpan > first {
				c := &t.cells[n-1]
				c.columnSpan = max(c.columnSpan, last-c.column+1)
				c.segments, c.rect = append(c.segments, s), c.rect.union(s.rect)
				continue
			}
			t.cells = append(t.cells, tableCell{
				rect: s.rect, row: r, column: first, rowSpan: 1, columnSpan: last - first + 1, segments: []segment{s},
			})
		}
	}
	return t
}

// columnIndex returns between which gutters a text begins. One that begins in a gutter and ends in the column right of
// it, as the head of figures does, has nothing to do with the column on its left; one that ends farther on heads
// several.
func columnIndex(gaps []span, x0, x1 float64) int {
	n := 0
	for n < len(gaps) && (x0 > (gaps[n].from+gaps[n].to)/2 || x0 > gaps[n].from && x1 > gaps[n].to && (n+1 == len(gaps) || x1 <= gaps[n+1].to)) {
		n++
	}
	return n
}

// lastColumnIndex returns between which gutters a text ends that begins in column first. In an inner column one that
// begins left of a gutter may reach into it without being in the column on its right, as a cell's text that goes on;
// in the first, it heads rows.
func lastColumnIndex(gaps []span, first int, text rect, slack float64) int {
	n := first
	for n < len(gaps) {
		limit := (gaps[n].from + gaps[n].to) / 2
		if first > 0 && text.x0 <= gaps[n].from {
			limit = gaps[n].to
		}
		if text.x1-slack <= limit {
			break
		}
		n++
	}
	return n
}

// cutSegment parts a segment where a blank between its words lies on a gutter.
func (f columnFinder) cutSegment(s segment, gaps []span) []segment {
	var out []segment
	start := 0
	tn := f.style.rotation
	for i := 1; i < len(s.words); i++ {
		left, right := tn.rotateRect(rectFromBox(s.words[i-1].GetBbox())), tn.rotateRect(rectFromBox(s.words[i].GetBbox()))
		if right.x0-left.x1 < 0.42*f.em {
			continue
		}
		on := slices.ContainsFunc(gaps, func(g span) bool {
			return min(g.to, right.x0)-max(g.from, left.x1) > min(0.25*f.em, 0.9*(g.to-g.from))
		})
		if on {
			out = append(out, segmentPart(s, start, i, tn))
			start = i
		}
	}
	if start == 0 {
		return []segment{s}
	}
	return append(out, segmentPart(s, start, len(s.words), tn))
}

func segmentPart(s segment, start, end int, tn rotation) segment {
	out := newSegment(s.words[start:end:end], tn)
	out.order, out.rtl = s.order, s.rtl
	return out
}
