package layout

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// mostCells bounds the grid that lines may make. More than that is graph paper.
const mostCells = 20_000

// ruledTables finds the tables that lines rule, and returns them with the lines of text that are left. Coordinates are turned upright.
func ruledTables(lines []inputLine, r rules, t turn, em float64) ([]*table, []inputLine) {
	var tables []*table
	for _, m := range r.meshes() {
		g := newLattice(m)
		if g == nil {
			continue
		}
		tab := g.table()
		rest := tab.take(lines, g, t)
		tab.splitSpans(g, t, em)
		tab.splitRows(em)
		tab.trim()
		if !tab.plausible() {
			continue
		}
		tab.findHeader()
		tables, lines = append(tables, tab), rest
	}
	return tables, lines
}

// lattice is a grid of lines: its edges, and between which neighbouring cells there is a wall.
type lattice struct {
	xs, ys []float64
	// right[r][c] tells of a wall right of a cell, below[r][c] of one below it.
	right, below [][]bool
}

// newLattice makes the grid of lines that cross one another; nil if they make none.
func newLattice(m rules) *lattice {
	g := &lattice{xs: edges(m.down), ys: edges(m.across)}
	g.open(m)
	rows, columns := len(g.ys)-1, len(g.xs)-1
	if rows < 1 || columns < 1 || rows*columns < 2 || rows*columns > mostCells {
		return nil
	}
	g.right, g.below = make([][]bool, rows), make([][]bool, rows)
	for i := range rows {
		g.right[i], g.below[i] = make([]bool, columns), make([]bool, columns)
		for j := range columns {
			g.right[i][j] = j == columns-1 || covers(m.down, g.xs[j+1], g.ys[i], g.ys[i+1])
			g.below[i][j] = i == rows-1 || covers(m.across, g.ys[i+1], g.xs[j], g.xs[j+1])
		}
	}
	return g
}

// open adds the sides of a table that has none drawn: lines that reach well beyond the outermost ones at right angles.
func (g *lattice) open(m rules) {
	if len(g.xs) == 0 || len(g.ys) == 0 {
		return
	}
	const beyond = 12
	left, right, n := math.Inf(1), math.Inf(-1), 0
	for _, a := range m.across {
		left, right = min(left, a.from), max(right, a.to)
		if a.from < g.xs[0]-beyond || a.to > g.xs[len(g.xs)-1]+beyond {
			n++
		}
	}
	if n >= 2 {
		if left < g.xs[0]-beyond {
			g.xs = append([]float64{left}, g.xs...)
		}
		if right > g.xs[len(g.xs)-1]+beyond {
			g.xs = append(g.xs, right)
		}
	}
	top, bottom, n := math.Inf(1), math.Inf(-1), 0
	for _, d := range m.down {
		top, bottom = min(top, d.from), max(bottom, d.to)
		if d.from < g.ys[0]-beyond || d.to > g.ys[len(g.ys)-1]+beyond {
			n++
		}
	}
	if n >= 2 {
		if top < g.ys[0]-beyond {
			g.ys = append([]float64{top}, g.ys...)
		}
		if bottom > g.ys[len(g.ys)-1]+beyond {
			g.ys = append(g.ys, bottom)
		}
	}
}

// table makes the cells of a grid: neighbours without a wall between them are one, as long as they make a rectangle.
func (g *lattice) table() *table {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	t := &table{rect: rect{g.xs[0], g.ys[0], g.xs[columns], g.ys[rows]}, rows: rows, columns: columns, ruled: true}
	taken := make([]bool, rows*columns)
	for r := range rows {
		for c := range columns {
			if taken[r*columns+c] {
				continue
			}
			w, h := g.extent(r, c, taken)
			for i := r; i < r+h; i++ {
				for j := c; j < c+w; j++ {
					taken[i*columns+j] = true
				}
			}
			t.cells = append(t.cells, tableCell{
				rect: rect{g.xs[c], g.ys[r], g.xs[c+w], g.ys[r+h]}, row: r, column: c, rowSpan: h, columnSpan: w,
			})
		}
	}
	return t
}

// extent returns how many columns and rows the cell that begins at a place takes.
func (g *lattice) extent(r, c int, taken []bool) (w, h int) {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	w, h = 1, 1
	for c+w < columns && !g.right[r][c+w-1] && !taken[r*columns+c+w] {
		w++
	}
	for r+h < rows {
		for j := c; j < c+w; j++ {
			if g.below[r+h-1][j] || taken[(r+h)*columns+j] || j < c+w-1 && g.right[r+h][j] {
				return w, h
			}
		}
		if c+w < columns && !g.right[r+h][c+w-1] {
			return w, h // the row below is wider: no rectangle
		}
		h++
	}
	return w, h
}

// take puts the words that stand in the table into its cells, and returns the lines of what is left.
func (t *table) take(lines []inputLine, g *lattice, tn turn) []inputLine {
	at := make([]int, t.rows*t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		for r := c.row; r < c.row+c.rowSpan; r++ {
			for j := c.column; j < c.column+c.columnSpan; j++ {
				at[r*t.columns+j] = i
			}
		}
	}
	rest := make([]inputLine, 0, len(lines))
	order := 0
	for _, line := range lines {
		rtl, start, cell := rightToLeft(line.words), 0, -2
		flush := func(end int) {
			words := line.words[start:end:end]
			switch {
			case len(words) == 0:
			case cell < 0:
				rest = append(rest, inputLine{words, line.angle})
			default:
				s := newSeg(words, tn)
				s.order, s.rtl = order, rtl
				order++
				t.cells[cell].segments = append(t.cells[cell].segments, s)
			}
			start = end
		}
		for i, w := range line.words {
			now := -1
			if r, c, ok := g.find(tn.apply(boxOf(w.GetBbox()))); ok {
				now = at[r*t.columns+c]
			}
			if now != cell {
				flush(i)
				cell = now
			}
		}
		flush(len(line.words))
	}
	return rest
}

// find returns the elementary cell that the middle of a box lies in.
func (g *lattice) find(b rect) (row, column int, ok bool) {
	x, y := (b.x0+b.x1)/2, b.middle()
	row, column = sort.SearchFloat64s(g.ys, y)-1, sort.SearchFloat64s(g.xs, x)-1
	return row, column, row >= 0 && column >= 0 && row < len(g.ys)-1 && column < len(g.xs)-1
}

// splitSpans parts cells that reach over several columns for want of lines between them, where their text stands apart as the columns do.
func (t *table) splitSpans(g *lattice, tn turn, em float64) {
	for i := range t.cells {
		c := &t.cells[i]
		if c.columnSpan < 2 || len(c.segments) == 0 {
			continue
		}
		whole := *c
		parts := make([]tableCell, c.columnSpan)
		for k := range parts {
			parts[k] = whole
			parts[k].column, parts[k].columnSpan, parts[k].segments = whole.column+k, 1, nil
			parts[k].x0, parts[k].x1 = g.xs[whole.column+k], g.xs[whole.column+k+1]
		}
		if !deal(parts, whole.segments, tn, em) {
			continue
		}
		t.cells[i] = parts[0]
		t.cells = append(t.cells, parts[1:]...)
	}
}

// deal gives the words of segments to the parts of a cell that they stand in, and reports whether that went well: no word stands in two, there is
// more than a blank between words of different parts, and more than half of the parts have text.
func deal(parts []tableCell, segments []seg, tn turn, em float64) bool {
	filled := 0
	for _, s := range segments {
		start, at := 0, -1
		for i, w := range s.words {
			b := tn.apply(boxOf(w.GetBbox()))
			k := 0
			for k < len(parts)-1 && (b.x0+b.x1)/2 > parts[k].x1 {
				k++
			}
			if b.x1 > parts[k].x1+0.5*em || b.x0 < parts[k].x0-0.5*em {
				return false
			}
			if k == at || i == 0 {
				at = k
				continue
			}
			if last := tn.apply(boxOf(s.words[i-1].GetBbox())); beside(last.x0, last.x1, b.x0, b.x1) < 0.7*em {
				return false
			}
			parts[at].segments = append(parts[at].segments, part(s, start, i, tn))
			start, at = i, k
		}
		parts[at].segments = append(parts[at].segments, part(s, start, len(s.words), tn))
	}
	for k := range parts {
		if len(parts[k].segments) > 0 {
			filled++
		}
	}
	return filled >= 2 && 2*filled > len(parts)
}

// splitRows parts the rows of a table that has lines between its columns but not between all of its rows: where a column holds several
// numbers one below the other, each is a row, for numbers do not wrap; a range of them may.
func (t *table) splitRows(em float64) {
	for r := 0; r < t.rows; r++ {
		var cells []int
		whole := true
		for i := range t.cells {
			c := &t.cells[i]
			if c.row <= r && r < c.row+c.rowSpan {
				cells = append(cells, i)
				whole = whole && (c.row == r && c.rowSpan == 1)
			}
		}
		if !whole {
			continue
		}
		at := t.anchors(cells, em)
		if len(at) < 2 {
			at = t.gaps(cells, em)
		}
		if len(at) > 1 {
			t.split(r, cells, at)
			r += len(at) - 1
		}
	}
	t.sortCells()
}

// anchors returns where the rows within one ruled row begin: at the lines of the column with the most numbers, and at lines of text that
// stand as far from the line before as rows do. There are none if no column holds but numbers.
func (t *table) anchors(cells []int, em float64) []float64 {
	var at, others []float64
	for _, i := range cells {
		c := &t.cells[i]
		rows := leaf{slices.Clone(c.segments)}.rows(em)
		figures := len(rows) > 0
		mids := make([]float64, len(rows))
		for k, row := range rows {
			mids[k] = row.core.middle()
			text := segmentsText(row.segments)
			figures = figures && number(text) && (k == len(rows)-1 || !unfinished(text))
		}
		if figures && len(rows) > len(at) {
			at, mids = mids, at
		}
		others = append(others, mids...)
	}
	if len(at) < 2 {
		return nil
	}
	steps := make([]float64, len(at)-1)
	for i := range steps {
		steps[i] = at[i+1] - at[i]
	}
	slices.Sort(steps)
	pitch := steps[len(steps)/2]
	slices.Sort(others)
	if len(at) >= 3 {
		for _, y := range others {
			near := slices.ContainsFunc(at, func(a float64) bool { return math.Abs(a-y) < 0.75*pitch })
			if !near {
				at = append(at, y)
				slices.Sort(at)
			}
		}
	}
	return at
}

// gaps returns where rows within one ruled row begin that are set apart by room: all columns are free there, and the first column's text and
// that of others begins again on one line.
func (t *table) gaps(cells []int, em float64) []float64 {
	type textLine struct {
		rect
		first bool
	}
	var lines []textLine
	for _, i := range cells {
		c := &t.cells[i]
		if c.columnSpan > 1 {
			return nil
		}
		for _, row := range (leaf{slices.Clone(c.segments)}).rows(em) {
			lines = append(lines, textLine{row.rect, c.column == 0})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	slices.SortFunc(lines, func(a, b textLine) int { return cmp.Compare(a.y0, b.y0) })
	at := []float64{lines[0].middle()}
	reach := lines[0].y1
	for i, l := range lines[1:] {
		if l.y0-reach > 0.4*em {
			first, others := false, false
			for _, o := range lines[i+1:] {
				if o.y0 > l.middle() {
					break
				}
				first, others = first || o.first, others || !o.first
			}
			if !first || !others {
				return nil
			}
			at = append(at, l.middle())
		}
		reach = max(reach, l.y1)
	}
	return at
}

// split parts row r at the places given.
func (t *table) split(r int, cells []int, at []float64) {
	more := len(at) - 1
	for i := range t.cells {
		if c := &t.cells[i]; c.row > r {
			c.row += more
		}
	}
	t.rows += more
	for _, i := range cells {
		c := t.cells[i]
		parts := make([]tableCell, len(at))
		for k := range parts {
			parts[k] = c
			parts[k].row, parts[k].segments = r+k, nil
			if k > 0 {
				parts[k].y0 = (at[k-1] + at[k]) / 2
			}
			if k < more {
				parts[k].y1 = (at[k] + at[k+1]) / 2
			}
		}
		for _, s := range c.segments {
			k := max(0, sort.SearchFloat64s(at, s.middle()+0.35*s.height())-1)
			parts[k].segments = append(parts[k].segments, s)
		}
		t.cells[i] = parts[0]
		t.cells = append(t.cells, parts[1:]...)
	}
}
