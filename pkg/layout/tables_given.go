package layout

import (
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxGivenLookups bounds the words times cells of the tables that are given for a page.
	maxGivenLookups = 20_000_000
	// maxGivenRows and maxGivenColumns bound a grid that is given.
	maxGivenRows, maxGivenColumns = 2_000, 500
)

// findGivenTables returns the tables that the page's recogniser saw, with the words that stand in their cells, and the
// lines of text that are left. Coordinates are turned upright.
func findGivenTables(lines []inputLine, regions []*inkstreamv1.Region, t rotation) ([]*table, []inputLine) {
	var tables []*table
	words := 0
	for _, line := range lines {
		words += len(line.words)
	}
	looks := maxGivenLookups
	for _, region := range regions {
		tab := newGivenTable(region, t)
		if tab == nil {
			continue
		}
		if looks -= words * len(tab.cells); looks < 0 {
			break
		}
		left := make([]inputLine, 0, len(lines))
		filler := cellFiller{table: tab, rotation: t, cellAt: tab.findGivenCell}
		for _, line := range lines {
			left = filler.takeLine(left, line)
		}
		tab.trimEmptyCells()
		if len(tab.cells) < 2 || tab.rows*tab.columns < 2 {
			continue
		}
		tab.sortCells()
		tables, lines = append(tables, tab), left
	}
	return tables, lines
}

// newGivenTable returns a table without words; nil where the region is none, or its grid is not sound.
func newGivenTable(region *inkstreamv1.Region, t rotation) *table {
	grid := region.GetTable()
	rows, columns := int(grid.GetRows()), int(grid.GetColumns())
	if region.GetType() != Table || rows < 1 || columns < 1 || rows > maxGivenRows || columns > maxGivenColumns {
		return nil
	}
	tab := &table{rows: rows, columns: columns, header: min(max(int(grid.GetHeaderRows()), 0), rows)}
	taken := map[[2]int]bool{}
	for _, c := range grid.GetCells() {
		row, column := int(c.GetRow()), int(c.GetColumn())
		rowSpan, columnSpan := max(1, int(c.GetRowSpan())), max(1, int(c.GetColumnSpan()))
		if !isValidBox(c.GetBbox()) || row < 0 || column < 0 || row+rowSpan > rows || column+columnSpan > columns {
			return nil
		}
		for r := row; r < row+rowSpan; r++ {
			for k := column; k < column+columnSpan; k++ {
				if taken[[2]int{r, k}] {
					return nil
				}
				taken[[2]int{r, k}] = true
			}
		}
		box := t.rotateRect(rectFromBox(c.GetBbox()))
		if len(tab.cells) == 0 {
			tab.rect = box
		} else {
			tab.rect = tab.union(box)
		}
		tab.cells = append(tab.cells, tableCell{rect: box, row: row, column: column, rowSpan: rowSpan, columnSpan: columnSpan})
	}
	if len(tab.cells) < 2 {
		return nil
	}
	return tab
}

// findGivenCell returns the cell that the middle of a box stands in; -1 if it stands in none.
func (t *table) findGivenCell(box rect) int {
	x, y := boxCenter(box)
	if x < t.x0 || x > t.x1 || y < t.y0 || y > t.y1 {
		return -1
	}
	for i := range t.cells {
		if c := &t.cells[i]; x >= c.x0 && x <= c.x1 && y >= c.y0 && y <= c.y1 {
			return i
		}
	}
	return -1
}

// markFormulas makes a block of what stands in each region that the page's recogniser saw a formula in.
func markFormulas(page *inkstreamv1.Page) {
	for _, region := range page.GetRegions() {
		if region.GetType() != Formula || region.GetLatex() == "" || !isValidBox(region.GetBbox()) {
			continue
		}
		around := rectFromBox(region.GetBbox())
		first, end := -1, -1
		for i, b := range page.GetBlocks() {
			inside := b.GetTable() == nil && isValidBox(b.GetBbox()) && isInside(rectFromBox(b.GetBbox()), around)
			if inside && first < 0 {
				first, end = i, i+1
			} else if inside && i == end {
				end++
			}
		}
		if first < 0 {
			continue
		}
		var lines []*inkstreamv1.Line
		for _, b := range page.GetBlocks()[first:end] {
			lines = append(lines, b.GetLines()...)
		}
		if len(lines) == 0 {
			continue
		}
		formula := newBlock(lines)
		formula.Type, formula.Latex = Formula, region.GetLatex()
		page.Blocks = append(append(page.GetBlocks()[:first:first], formula), page.GetBlocks()[end:]...)
	}
}
