package layout

import "math"

// partSideHeadings makes rows of their own of headings that stand side by side on one line: pieces of words in bold type
// larger than the text's, far apart from each other. A number is no piece: it counts the heading, or is a page's. Authors
// below a title are seldom bold.
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

// isBesideLine reports whether a line stands right of another on one baseline, as a heading by itself.
func isBesideLine(prev, cur lineShape, em float64) bool {
	const slack = 0.2 // ems
	return cur.x0 > prev.x1 && math.Abs(cur.baseline-prev.baseline) < slack*em
}
