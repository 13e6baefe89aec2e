package layout

import (
	"math"
	"slices"
)

// headSpan is a head in one of a table's first rows that stands over several columns, and from where to where those
// reach.
type headSpan struct {
	rect
	columns span
}

// mostHeadRows is how many of a table's first rows may have heads over several columns.
const mostHeadRows = 2

// findHeadSpans returns those heads of rows that stand over several columns: a piece of a line runs below one and over
// several texts of the next row, or it stands in the middle above several words that are heads themselves.
func (f columnFinder) findHeadSpans(rows []tableLine) []headSpan {
	var out []headSpan
	if len(rows) < 3 {
		return nil
	}
	all := rows[0].rect
	for _, r := range rows[1:] {
		all = all.union(r.rect)
	}
	for k := range mostHeadRows {
		below, top := f.splitRowTexts(rows[k+1]), rows[k+1].y0
		cells := rows[k].cells
		for i := 0; i < len(cells); {
			line := f.findPartialLine(cells[i].rect, all, top)
			end := i + 1
			for line.to > line.from && end < len(cells) && f.findPartialLine(cells[end].rect, all, top) == line {
				end++ // the pieces of a line that meet are one
			}
			out = append(out, f.divideColumns(cells[i:end], below, line)...)
			i = end
		}
	}
	return out
}

// rowText is a text in a row, and whether it is a figure.
type rowText struct {
	span
	figure bool
}

// splitRowTexts returns where the texts of a row stand that are farther apart than words.
func (f columnFinder) splitRowTexts(r tableLine) []rowText {
	const apart = 0.8 // ems
	var out []rowText
	for _, cell := range r.cells {
		start := 0
		for i := 1; i <= len(cell.words); i++ {
			if i < len(cell.words) && f.wordRect(cell, i).x0-f.wordRect(cell, i-1).x1 < apart*f.em {
				continue
			}
			text := segmentsText([]segment{{words: cell.words[start:i]}})
			out = append(out, rowText{span{f.wordRect(cell, start).x0, f.wordRect(cell, i-1).x1}, isNumeric(text) && !isYear(text)})
			start = i
		}
	}
	return out
}

func (f columnFinder) wordRect(s segment, i int) rect {
	return f.style.rotation.rotateRect(rectFromBox(s.words[i].GetBbox()))
}

// findPartialLine returns a line that runs between a head and the next row, under the whole head but not over all
// columns; none of no length.
func (f columnFinder) findPartialLine(head, all rect, top float64) (line span) {
	const slack, partial, near = 0.3, 1.0, 2 // ems, and points
	for _, r := range f.across[f.across.indexAt(head.y1-near):] {
		if r.at > max(head.y1, top)+near {
			break
		}
		if r.from <= head.x0+slack*f.em && r.to >= head.x1-slack*f.em && (r.from > all.x0+partial*f.em || r.to < all.x1-partial*f.em) {
			line = span{r.from, r.to}
		}
	}
	return line
}

// divideColumns returns the heads of those that stand over several texts of the next row: over those that their line
// runs over, or else over words that are heads themselves, in the middle of them. Heads over one line share what stands
// below it, each in the middle of its part.
func (f columnFinder) divideColumns(heads []segment, below []rowText, line span) []headSpan {
	const slack, centred = 0.3, 0.5 // ems
	hasLine := line.to > line.from
	under := make([]rowText, 0, len(below))
	for _, text := range below {
		if hasLine && text.from > line.from-slack*f.em && text.to < line.to+slack*f.em ||
			!hasLine && text.from < heads[0].x1 && text.to > heads[0].x0 {
			under = append(under, text)
		}
	}
	var out []headSpan
	for i, head := range heads {
		if len(under) < len(heads)-i {
			return nil
		}
		count, off := len(under), math.Inf(1)
		if others := len(heads) - i - 1; others > 0 {
			for n := 1; n <= len(under)-others; n++ {
				if d := math.Abs(under[0].from + under[n-1].to - head.x0 - head.x1); d < off {
					count, off = n, d
				}
			}
		}
		part := under[:count]
		under = under[count:]
		reach := span{part[0].from, part[count-1].to}
		isCentred := math.Abs(reach.from+reach.to-head.x0-head.x1) < 2*centred*f.em
		text := segmentsText(heads[i : i+1])
		if count > 1 && (hasLine || isCentred && !slices.ContainsFunc(part, func(t rowText) bool { return t.figure })) &&
			(!isNumeric(text) || isYear(text)) {
			out = append(out, headSpan{head.rect, reach})
		}
	}
	return out
}

// findHeadSpan returns the head that something is part of.
func findHeadSpan(heads []headSpan, part rect) (headSpan, bool) {
	x, y := (part.x0+part.x1)/2, part.centerY()
	for _, h := range heads {
		if x > h.x0 && x < h.x1 && y > h.y0 && y < h.y1 {
			return h, true
		}
	}
	return headSpan{}, false
}

// coverColumns returns the first and the last column that a head stands over.
func (h headSpan) coverColumns(gaps []span) (first, last int) {
	for _, g := range gaps {
		switch {
		case g.from < h.columns.from: // one row may reach into a gap
			first, last = first+1, last+1
		case g.to <= h.columns.to:
			last++
		}
	}
	return first, last
}
