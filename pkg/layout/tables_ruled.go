package layout

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"unicode"
)

const (
	// maxGridCells bounds the grid that lines may make, and what parting its cells may make of it. More than that is
	// graph paper.
	maxGridCells = 20_000
	// maxWordLookups is in how many grids a word is looked for, on average, and maxWordMatches in how many it may be
	// found, as frames stand around one another: on real pages, two or three deep.
	maxWordLookups, maxWordMatches = 60, 8
	// severalRuledRows is how many rows that lines part show that lines part them all, mostCellLines how many lines of
	// text, with room between them, a cell of such a row may have.
	severalRuledRows, mostCellLines = 4, 3
)

// findRuledTables finds the tables that lines rule, and returns them with the lines of text that are left.
// Coordinates are turned upright.
func findRuledTables(lines []inputLine, r rulingSet, t rotation, em float64) ([]*table, []inputLine) {
	meshes := r.groupMeshes()
	if len(meshes) == 0 {
		return nil, lines
	}
	strips, all := newLineStrips(lines, t)
	looks, takes := maxWordLookups*all, maxWordMatches*all
	var tables []*table
	for _, m := range meshes {
		g := newLattice(m)
		if g == nil {
			continue
		}
		tab := ruledTable{g.buildTable(), g, t, em}
		near, words := tab.stripsNear(strips)
		if looks -= words; looks < 0 {
			break
		}
		rest, taken := tab.takeWords(near)
		if takes -= taken; takes < 0 {
			break
		}
		tab.splitSpanningCells()
		tab.splitItemCells()
		tab.splitRuledRows()
		tab.trimEmptyCells()
		if !tab.isPlausible() || hasLineNumbers(tab.table) || tab.holdsRows() || tab.holdsPanel() {
			continue
		}
		tab.findHeader()
		tables = append(tables, tab.table)
		for i, s := range near {
			s.remaining = rest[i]
		}
	}
	if len(tables) == 0 {
		return nil, lines
	}
	left := make([]inputLine, 0, len(lines))
	for i := range strips {
		left = append(left, strips[i].remaining...)
	}
	return tables, left
}

// lineStrip is a line of the input from which tables take words.
type lineStrip struct {
	remaining []inputLine
	words     int
	area      rect // around the middles of its words
}

// newLineStrips returns the lines as strips, and how many words they have.
func newLineStrips(lines []inputLine, t rotation) ([]lineStrip, int) {
	strips, words := make([]lineStrip, len(lines)), 0
	for i, line := range lines {
		area := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		for _, w := range line.words {
			x, y := boxCenter(t.rotateRect(rectFromBox(w.GetBbox())))
			area = area.union(rect{x, y, x, y})
		}
		strips[i] = lineStrip{lines[i : i+1 : i+1], len(line.words), area}
		words += len(line.words)
	}
	return strips, words
}

// ruledTable is a table in the making that a grid of lines rules.
type ruledTable struct {
	*table
	grid     *lattice
	rotation rotation
	em       float64
}

// stripsNear returns the strips that may have words in the table, and how many words those have.
func (t ruledTable) stripsNear(strips []lineStrip) (near []*lineStrip, words int) {
	for i := range strips {
		s := &strips[i]
		if spanDistance(s.area.x0, s.area.x1, t.x0, t.x1) <= 0 && spanDistance(s.area.y0, s.area.y1, t.y0, t.y1) <= 0 {
			near, words = append(near, s), words+s.words
		}
	}
	return near, words
}

// lattice is a grid of lines: its edges, and between which neighbouring cells there is a wall.
type lattice struct {
	xs, ys []float64
	// right[r][c] tells of a wall right of a cell, below[r][c] of one below it.
	right, below [][]bool
}

// newLattice makes the grid of lines that cross one another; nil if they make none.
func newLattice(m rulingSet) *lattice {
	g := &lattice{ys: mergeEdges(m.across)}
	m.down = joinShiftedEdges(m.down, g.ys)
	g.xs = mergeEdges(m.down)
	g.addOpenSides(m)
	rows, columns := len(g.ys)-1, len(g.xs)-1
	if rows < 1 || columns < 1 || rows*columns < 2 || rows*columns > maxGridCells {
		return nil
	}
	g.right, g.below = make([][]bool, rows), make([][]bool, rows)
	for i := range rows {
		g.right[i], g.below[i] = make([]bool, columns), make([]bool, columns)
		for j := range columns {
			g.right[i][j] = j == columns-1 || coversStretch(m.down, g.xs[j+1], g.ys[i], g.ys[i+1])
			g.below[i][j] = i == rows-1 || coversStretch(m.across, g.ys[i+1], g.xs[j], g.xs[j+1])
		}
	}
	return g
}

// joinShiftedEdges moves lines that stand for one edge of a column to one place: rows that were each drawn as boxes of
// their own need not have them at the same. Two edges are one where they are too near for text between them, and no row
// has both. The rows are parted at ys.
func joinShiftedEdges(down []ruling, ys []float64) []ruling {
	const nearest = 7.0 // points
	xs := mergeEdges(down)
	moved := false
	for k := 1; k < len(xs); k++ {
		left, right := xs[k-1], xs[k]
		if right-left >= nearest || len(ys) < 3 || haveRowInCommon(down, left, right, ys) {
			continue
		}
		if !moved {
			down, moved = slices.Clone(down), true
		}
		for i := range down {
			if math.Abs(down[i].at-left) <= maxEdgeOffset {
				down[i].at = right
			}
		}
	}
	return down
}

// haveRowInCommon reports whether lines run along one row at both of two places.
func haveRowInCommon(down []ruling, left, right float64, ys []float64) bool {
	for i := 1; i < len(ys); i++ {
		if coversStretch(down, left, ys[i-1], ys[i]) && coversStretch(down, right, ys[i-1], ys[i]) {
			return true
		}
	}
	return false
}

// addOpenSides adds the sides of a table that has none drawn: lines that reach well beyond the outermost ones at
// right angles.
func (g *lattice) addOpenSides(m rulingSet) {
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

// buildTable makes the cells of a grid: neighbours without a wall between them are one, as long as they make a
// rectangle.
func (g *lattice) buildTable() *table {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	t := &table{rect: rect{g.xs[0], g.ys[0], g.xs[columns], g.ys[rows]}, rows: rows, columns: columns, ruled: true}
	taken := make([]bool, rows*columns)
	for r := range rows {
		for c := range columns {
			if taken[r*columns+c] {
				continue
			}
			w, h := g.cellExtent(r, c, taken)
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

// cellExtent returns how many columns and rows the cell that begins at a place takes.
func (g *lattice) cellExtent(r, c int, taken []bool) (w, h int) {
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

// takeWords puts the words that stand in the table into its cells, and returns what is left of each strip, and how
// many words it took.
func (t ruledTable) takeWords(strips []*lineStrip) (rest [][]inputLine, taken int) {
	at := make([]int, t.rows*t.columns)
	for i := range t.cells {
		c := &t.cells[i]
		for r := c.row; r < c.row+c.rowSpan; r++ {
			for j := c.column; j < c.column+c.columnSpan; j++ {
				at[r*t.columns+j] = i
			}
		}
	}
	rest = make([][]inputLine, len(strips))
	filler := cellFiller{table: t.table, rotation: t.rotation, cellAt: func(box rect) int {
		if r, c, ok := t.grid.findCell(box); ok {
			return at[r*t.columns+c]
		}
		return -1
	}}
	for i, s := range strips {
		for _, line := range s.remaining {
			taken += len(line.words)
			rest[i] = filler.takeLine(rest[i], line)
		}
		for _, line := range rest[i] {
			taken -= len(line.words)
		}
	}
	return rest, taken
}

// cellFiller puts words into the cells of a table that they stand in.
type cellFiller struct {
	table    *table
	rotation rotation
	// cellAt returns the cell that a box stands in; -1 if it stands in none.
	cellAt func(box rect) int
	order  int // of the next segment
}

// takeLine puts the words of a line into the cells that they stand in, and appends the others to the rest.
func (f *cellFiller) takeLine(rest []inputLine, line inputLine) []inputLine {
	rtl, start, cell := isRightToLeft(line.words), 0, -1
	flush := func(end int) {
		words := line.words[start:end:end]
		switch {
		case len(words) == 0:
		case cell < 0:
			rest = append(rest, inputLine{words, line.angle})
		default:
			s := newSegment(words, f.rotation)
			s.order, s.rtl = f.order, rtl
			f.order++
			f.table.cells[cell].segments = append(f.table.cells[cell].segments, s)
		}
		start = end
	}
	for i, w := range line.words {
		if now := f.cellAt(f.rotation.rotateRect(rectFromBox(w.GetBbox()))); now != cell {
			flush(i)
			cell = now
		}
	}
	flush(len(line.words))
	return rest
}

// boxCenter returns the place by which a box lies in a cell.
func boxCenter(b rect) (x, y float64) { return (b.x0 + b.x1) / 2, b.centerY() }

// findCell returns the elementary cell that the middle of a box lies in.
func (g *lattice) findCell(b rect) (row, column int, ok bool) {
	x, y := boxCenter(b)
	row, column = sort.SearchFloat64s(g.ys, y)-1, sort.SearchFloat64s(g.xs, x)-1
	return row, column, row >= 0 && column >= 0 && row < len(g.ys)-1 && column < len(g.xs)-1
}

// splitSpanningCells parts cells that reach over several columns for want of lines between them, where their text
// stands apart as the columns do. No more cells come of it than the grid has.
func (t ruledTable) splitSpanningCells() {
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
			parts[k].x0, parts[k].x1 = t.grid.xs[whole.column+k], t.grid.xs[whole.column+k+1]
		}
		if !distributeSegments(parts, whole.segments, t.rotation, t.em) {
			continue
		}
		t.cells[i] = parts[0]
		t.cells = append(t.cells, parts[1:]...)
	}
}

// distributeSegments gives the words of segments to the parts of a cell that they stand in, and reports whether that
// went well: no word stands in two, there is more than a blank between words of different parts, and more than half
// of the parts have text.
func distributeSegments(parts []tableCell, segments []segment, tn rotation, em float64) bool {
	filled := 0
	for _, s := range segments {
		start, at := 0, -1
		for i, w := range s.words {
			b := tn.rotateRect(rectFromBox(w.GetBbox()))
			k := sort.Search(len(parts)-1, func(k int) bool { return (b.x0+b.x1)/2 <= parts[k].x1 })
			if b.x1 > parts[k].x1+0.5*em || b.x0 < parts[k].x0-0.5*em {
				return false
			}
			if k == at || i == 0 {
				at = k
				continue
			}
			if last := tn.rotateRect(rectFromBox(s.words[i-1].GetBbox())); spanDistance(last.x0, last.x1, b.x0, b.x1) < 0.7*em {
				return false
			}
			parts[at].segments = append(parts[at].segments, segmentPart(s, start, i, tn))
			start, at = i, k
		}
		parts[at].segments = append(parts[at].segments, segmentPart(s, start, len(s.words), tn))
	}
	for k := range parts {
		if len(parts[k].segments) > 0 {
			filled++
		}
	}
	return filled >= 2 && 2*filled > len(parts)
}

// splitRuledRows parts the rows of a table that has lines between its columns but not between all of its rows: where
// a column holds several numbers one below the other, each is a row, for numbers do not wrap; a range of them may. So
// are the lines of cells that list entries side by side. A row that would make more than maxGridCells of the table's
// cells stays whole.
func (t ruledTable) splitRuledRows() {
	starts := make([][]int, t.rows) // the cells that begin in each row
	reached := make([]bool, t.rows) // by a cell of several rows
	for i := range t.cells {
		c := &t.cells[i]
		starts[c.row] = append(starts[c.row], i)
		for r := c.row; r < c.row+c.rowSpan && c.rowSpan > 1; r++ {
			reached[r] = true
		}
	}
	out := make([]tableCell, 0, len(t.cells))
	more, ruled := 0, t.rows
	for r, cells := range starts {
		var at []float64
		if !reached[r] {
			if at = t.findRowStarts(cells); len(at) < 2 {
				at = t.findListedRows(cells)
			}
			if len(at) < 2 {
				if at = t.findRowGaps(cells); ruled >= severalRuledRows && len(at) <= mostCellLines {
					at = nil // lines part the rows, and between those the cells have lines of text
				}
			}
		}
		split := len(at) > 1 && (t.rows+len(at)-1)*t.columns <= maxGridCells
		for _, i := range cells {
			c := t.cells[i]
			c.row += more
			if split {
				out = c.appendSplitCells(out, at)
			} else {
				out = append(out, c)
			}
		}
		if split {
			more += len(at) - 1
			t.rows += len(at) - 1
		}
	}
	t.cells = out
	t.sortCells()
}

// findRowStarts returns where the rows within one ruled row begin: at the lines of the column with the most numbers,
// and at lines of text that stand as far from the line before as rows do. There are none if no column holds but
// numbers, or if most cells have fewer lines: where those have one, a narrow column has broken a number.
func (t ruledTable) findRowStarts(cells []int) []float64 {
	const pair = 2 // figures in the first column alone that may be the two ends of a range
	var at, others []float64
	firstOnly := true
	var lines []int // of each cell with text
	for _, i := range cells {
		c := &t.cells[i]
		rows := leaf{slices.Clone(c.segments)}.buildRows(t.em)
		figures := len(rows) > 0
		if figures {
			lines = append(lines, len(rows))
		}
		mids := make([]float64, len(rows))
		for k, row := range rows {
			mids[k] = row.core.centerY()
			text := segmentsText(row.segments)
			figures = figures && isNumeric(text) && (k == len(rows)-1 || !isUnfinishedText(text))
		}
		if figures && len(rows) > 1 && c.column > 0 {
			firstOnly = false
		}
		if figures && len(rows) > len(at) {
			at, mids = mids, at
		}
		others = append(others, mids...)
	}
	fewer := slices.DeleteFunc(slices.Clone(lines), func(n int) bool { return n >= len(at) })
	if len(at) < 2 || firstOnly && len(at) == pair || 2*len(fewer) > len(lines) {
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
		at = mergeDistantPlaces(at, others, 0.75*pitch)
	}
	return at
}

// mergeDistantPlaces returns the places with those of the others that are as far as that from all before them. Both
// come sorted, and so does what is returned.
func mergeDistantPlaces(at, others []float64, far float64) []float64 {
	added := math.Inf(-1) // the last: no other of them is nearer to what follows
	out := slices.Clone(at)
	for _, y := range others {
		i := sort.SearchFloat64s(at, y)
		if y-added < far || i < len(at) && at[i]-y < far || i > 0 && y-at[i-1] < far {
			continue
		}
		added = y
		out = append(out, y)
	}
	slices.Sort(out)
	return out
}

// findRowGaps returns where rows within one ruled row begin that are set apart by room: all columns are free there,
// and the first column's text and that of others begins again on one line.
func (t ruledTable) findRowGaps(cells []int) []float64 {
	const runsOn = 0.25 // of the lines of the first column, which are text and no labels then
	type textLine struct {
		rect
		first bool
	}
	var lines []textLine
	small, labels := 0, 0
	for _, i := range cells {
		c := &t.cells[i]
		if c.columnSpan > 1 {
			return nil
		}
		for _, row := range (leaf{slices.Clone(c.segments)}).buildRows(t.em) {
			lines = append(lines, textLine{row.rect, c.column == 0})
			if c.column == 0 {
				labels++
				if unicode.IsLower(firstRune(segmentsText(row.segments))) {
					small++
				}
			}
		}
	}
	if len(lines) == 0 || labels > mostCellLines && float64(small) > runsOn*float64(labels) {
		return nil
	}
	slices.SortFunc(lines, func(a, b textLine) int { return cmp.Compare(a.y0, b.y0) })
	at := []float64{lines[0].centerY()}
	reach := lines[0].y1
	for i, l := range lines[1:] {
		if l.y0-reach > 0.4*t.em {
			first, others := false, false
			for _, o := range lines[i+1:] {
				if o.y0 > l.centerY() {
					break
				}
				first, others = first || o.first, others || !o.first
			}
			if !first || !others {
				return nil
			}
			at = append(at, l.centerY())
		}
		reach = max(reach, l.y1)
	}
	return at
}

// appendSplitCells appends the parts of a cell that begin at the places given, as far as they have text.
func (c *tableCell) appendSplitCells(out []tableCell, at []float64) []tableCell {
	if len(c.segments) == 0 {
		return out
	}
	parts := make([][]segment, len(at))
	for _, s := range c.segments {
		k := max(0, sort.SearchFloat64s(at, s.centerY()+0.35*s.height())-1)
		parts[k] = append(parts[k], s)
	}
	for k, segments := range parts {
		if len(segments) == 0 {
			continue
		}
		p := *c
		p.row, p.segments = c.row+k, segments
		if k > 0 {
			p.y0 = (at[k-1] + at[k]) / 2
		}
		if k < len(at)-1 {
			p.y1 = (at[k] + at[k+1]) / 2
		}
		out = append(out, p)
	}
	return out
}
