package layout

import "math"

// partSideHeadings makes rows of their own of headings that stand side by side on one line: pieces of words in bold
// type larger than the text's, far apart from each other. A number is no piece: it counts the heading, or is a
// page's. Authors below a title are seldom bold.
func (a *aligner) partSideHeadings(rows []row) []row {
	var out []row
	for i, r := range rows {
		parts := a.sideHeadings(r)
		if parts != nil && out == nil {
			out = append(make([]row, 0, len(rows)+len(parts)), rows[:i]...)
		}
		switch {
		case parts != nil:
			out = append(out, parts...)
		case out != nil:
			out = append(out, r)
		}
	}
	if out == nil {
		return rows
	}
	return out
}

// sideHeadings returns the headings that a row is; nil if it is one line.
func (a *aligner) sideHeadings(r row) []row {
	const larger, apart = 1.15, 3.0 // times the text's type; of their own type
	if parts := a.titleBeside(r); parts != nil {
		return parts
	}
	for _, s := range r.segments {
		if s.size < larger*a.em || s.rtl || !a.style.lineStyleOf(s.words).bold {
			return nil
		}
	}
	var parts []row
	for _, cell := range a.splitRowCells(r) {
		if len(parts) > 0 && cell.x0-parts[len(parts)-1].x1 < apart*cell.size || isNumeric(segmentsText([]segment{cell})) {
			return nil
		}
		parts = append(parts, row{rect: cell.rect, segments: []segment{cell}, core: cell.rect})
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// titleBeside returns a title and what stands far right of it in much smaller type, as the number and the date of an
// issue do; nil if a row is none.
func (a *aligner) titleBeside(r row) []row {
	const larger, apart, near = 1.4, 2.0, 0.6 // times the text's type, and the other's; ems of the title's type; of its height
	if r.height() < larger*a.em {
		return nil
	}
	cells := a.splitRowCells(r)
	if len(cells) != 2 || cells[0].rtl || cells[0].size < larger*max(a.em, cells[1].size) || cells[1].x0-cells[0].x1 < apart*cells[0].size ||
		cells[1].height() > near*cells[0].height() {
		return nil
	}
	return []row{{rect: cells[0].rect, segments: cells[:1:1], core: cells[0].rect}, {rect: cells[1].rect, segments: cells[1:], core: cells[1].rect}}
}

// isBesideLine reports whether a line stands right of another on one baseline, as a heading by itself.
func isBesideLine(prev, cur lineShape, em float64) bool {
	const slack = 0.2 // ems
	return cur.x0 > prev.x1 && math.Abs(cur.baseline-prev.baseline) < slack*em
}
