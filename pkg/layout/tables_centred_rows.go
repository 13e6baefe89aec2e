package layout

import (
	"cmp"
	"math"
	"slices"
)

// centredRows joins the lines of rows whose cells stand in the middle of their row's height: cells of one and of two
// lines have no baseline in common, so that a row is several lines, each level with none of the next cell's.
type centredRows struct {
	lines []tableLine
	pitch float64 // of the lines of one cell
	// least and most are the heights of those lines.
	least, most float64
}

// joinCentredRows returns lines with those joined that are rows with centred cells, and their rows; the same where
// there are none.
func joinCentredRows(lines []tableLine, rows []row) ([]tableLine, []row) {
	const fewest, most, others = 2, 12, 4 // rows that are joined, lines of one; of how many rows one may be none
	const certain = 3                     // columns by which one row is told
	c := centredRows{lines: lines}
	if c.measurePitch(); c.pitch == 0 {
		return lines, rows
	}
	out := make([]tableLine, 0, len(lines))
	joined, failed := 0, 0
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && c.continuesRow(i, end) {
			end++
		}
		columns := stackCells(lines[i:end])
		switch {
		case end-i == 1 || len(columns) < 2:
			out = append(out, lines[i:end]...)
		case end-i <= most && c.areCentred(columns):
			out, joined = append(out, joinLines(lines[i:end])), joined+1
			if len(columns) >= certain && c.standApart(columns) {
				joined = max(joined, fewest)
			}
		default:
			out, failed = append(out, lines[i:end]...), failed+1
		}
		i = end
	}
	if joined < fewest || others*failed > joined {
		return lines, rows
	}
	rows = make([]row, len(out))
	for i := range out {
		rows[i] = out[i].row
	}
	return out, rows
}

// standApart reports whether columns have the room of cells between them: the words of a line have less, and a fraction among
// them is two lines level with it at their middle.
func (c centredRows) standApart(columns []rect) bool {
	const room = 0.7 // of a line's height
	for i := 1; i < len(columns); i++ {
		if columns[i].x0-columns[i-1].x1 < room*c.most {
			return false
		}
	}
	return true
}

// isStaggered reports whether line k stands beside the line above it, lower by a part of its height.
func (c centredRows) isStaggered(k int) bool {
	const overlap = 0.05 // of the lower line's height: boxes may be as tight as the letters
	above, line := &c.lines[k-1], &c.lines[k]
	if above.core.y1-line.core.y0 < overlap*min(above.core.height(), line.core.height()) {
		return false
	}
	return !slices.ContainsFunc(line.cells, func(s segment) bool {
		return slices.ContainsFunc(above.cells, func(o segment) bool { return spanDistance(s.x0, s.x1, o.x0, o.x1) < 0 })
	})
}

// measurePitch finds out how far apart the lines of cells stand in rows with staggered lines, and how high these are.
func (c *centredRows) measurePitch() {
	const least, most = 0.7, 1.9 // of a line's height
	var steps, heights []float64
	first := 0
	for k := 1; k < len(c.lines); k++ {
		if !c.isStaggered(k) {
			first = k
			continue
		}
		for _, s := range c.lines[k].cells {
			if step := c.stepAbove(s, first, k); step > least*s.height() && step < most*s.height() && s.text > 0 {
				steps, heights = append(steps, step), append(heights, s.height())
			}
		}
	}
	if len(steps) > 0 {
		c.pitch, c.least, c.most = median(steps), slices.Min(heights), slices.Max(heights)
	}
}

// stepAbove returns how far below the last of the lines from first to before k that has text above it a cell's line
// stands; 0 if none has.
func (c centredRows) stepAbove(s segment, first, k int) float64 {
	for i := k - 1; i >= first; i-- {
		for _, o := range c.lines[i].cells {
			if spanDistance(s.x0, s.x1, o.x0, o.x1) < 0 {
				return s.y1 - o.y1
			}
		}
	}
	return 0
}

// continuesRow reports whether line k belongs to the row that begins with line first: it is staggered, or goes on
// with a cell of it.
func (c centredRows) continuesRow(first, k int) bool {
	const wider, slack = 1.1, 0.03 // times the pitch; of a height
	return c.isStaggered(k) || slices.ContainsFunc(c.lines[k].cells, func(s segment) bool {
		step := c.stepAbove(s, first, k)
		return step > 0 && step < wider*c.pitch && s.height() > (1-slack)*c.least && s.height() < (1+slack)*c.most
	})
}

// areCentred reports whether what stands in the columns of a row has its middle at one height.
func (c centredRows) areCentred(columns []rect) bool {
	const slack = 0.25 // of the pitch
	top, bottom := columns[0].y0, columns[0].y1
	for _, r := range columns {
		top, bottom = min(top, r.y0), max(bottom, r.y1)
	}
	return !slices.ContainsFunc(columns, func(r rect) bool { return math.Abs(r.centerY()-(top+bottom)/2) > slack*c.pitch })
}

// stackCells returns the boxes of the columns that the cells of lines stand in, one above the other.
func stackCells(lines []tableLine) []rect {
	var cells []rect
	for _, line := range lines {
		for _, s := range line.cells {
			cells = append(cells, s.rect)
		}
	}
	slices.SortFunc(cells, func(a, b rect) int { return cmp.Compare(a.x0, b.x0) })
	var out []rect
	for _, r := range cells {
		if n := len(out); n > 0 && r.x0 < out[n-1].x1 {
			out[n-1] = out[n-1].union(r)
			continue
		}
		out = append(out, r)
	}
	return out
}

// joinLines returns lines as one, whose parts they are.
func joinLines(lines []tableLine) tableLine {
	out := tableLine{row: row{rect: lines[0].rect, core: lines[0].core}}
	for _, line := range lines {
		out.parts = append(out.parts, line.row)
		out.rect = out.rect.union(line.rect)
		out.segments = append(out.segments, line.segments...)
		out.cells = append(out.cells, line.cells...)
	}
	slices.SortStableFunc(out.cells, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	return out
}

// rowsOf returns the rows of lines that are no table's: those of a line that was joined cell by cell, as a person reads
// the number of a question, the question, and the marks for it.
func rowsOf(lines []tableLine) []row {
	out := make([]row, 0, len(lines))
	for i := range lines {
		if lines[i].parts == nil {
			out = append(out, lines[i].row)
			continue
		}
		for _, column := range stackCells(lines[i : i+1]) {
			for _, part := range lines[i].parts {
				out = part.appendColumn(out, column)
			}
		}
	}
	return out
}

// appendColumn appends a row of those segments that stand in a column, if there are any.
func (r *row) appendColumn(out []row, column rect) []row {
	var own row
	for _, s := range r.segments {
		switch x, _ := boxCenter(s.rect); {
		case x < column.x0 || x > column.x1:
		case own.segments == nil:
			own = row{rect: s.rect, segments: []segment{s}, core: s.rect}
		default:
			own.addSegment(s)
		}
	}
	if own.segments == nil {
		return out
	}
	return append(out, own)
}
