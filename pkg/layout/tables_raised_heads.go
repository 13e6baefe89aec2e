package layout

import (
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// attachRaisedHead gives the table the line before it as a head of its first row, over the columns that have none there
// but in the next row: their neighbours' heads of one line stand in the middle of both rows, half a line below this one.
func (h headAbove) attachRaisedHead(before []*inkstreamv1.Block) {
	if len(before) == 0 {
		return
	}
	b := before[len(before)-1]
	if b.GetTable() != nil || b.GetType() == Figure || len(b.GetLines()) != 1 || b.GetLines()[0].GetAngle() != 0 ||
		!isValidBox(b.GetBbox()) {
		return
	}
	p := rectFromBox(b.GetBbox())
	first, last, ok := h.findHeadlessColumns()
	if !ok || p.y0 >= h.y0 || p.y1 <= h.y0 || p.x0 < h.columns[first].from-h.em || p.x1 > h.columns[last].to+h.em ||
		math.Abs(p.x0+p.x1-h.columns[first].from-h.columns[last].to) > 2*h.em {
		return
	}
	t, lines := h.block.GetTable(), b.GetLines()
	at := slices.IndexFunc(t.GetCells(), func(c *inkstreamv1.Cell) bool { return c.GetRow() > 0 || int(c.GetColumn()) > last })
	t.Cells = slices.Insert(t.GetCells(), at, &inkstreamv1.Cell{Column: int32(first), ColumnSpan: int32(last - first + 1), RowSpan: 1,
		Bbox: b.GetBbox(), Text: joinCellText(lines)})
	t.HeaderRows = max(t.GetHeaderRows(), 2)
	h.block.Lines, b.Lines = append(lines, h.block.GetLines()...), nil
	h.block.Bbox = h.rect.union(p).toBox()
}

// findHeadlessColumns returns the neighbouring columns behind the first, several of them, that have cells in the second
// row and none in the first.
func (h headAbove) findHeadlessColumns() (first, last int, ok bool) {
	var filled [2][]bool
	for row := range filled {
		filled[row] = make([]bool, len(h.columns))
	}
	for _, c := range h.block.GetTable().GetCells() {
		if row := c.GetRow(); row < 2 {
			for j := c.GetColumn(); j < c.GetColumn()+max(1, c.GetColumnSpan()) && int(j) < len(h.columns); j++ {
				filled[row][j] = true
			}
		}
	}
	first, last = -1, -1
	for j := range h.columns {
		if filled[0][j] == filled[1][j] {
			return 0, 0, false
		}
		if filled[1][j] {
			if first < 0 {
				first = j
			} else if last != j-1 {
				return 0, 0, false
			}
			last = j
		}
	}
	return first, last, first > 0 && last > first
}
