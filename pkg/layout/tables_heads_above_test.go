package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// figuresBelow is a table of figures that has no head, as blocks before it may hold one: its columns end at 100, 200,
// 260 and 320 points.
func figuresBelow(y float64) *inkstreamv1.Block {
	b := &inkstreamv1.Block{Type: Table, Table: &inkstreamv1.Table{Rows: 3, Columns: 4, HeaderRows: 1}}
	for row, label := range []string{"Austria", "Belgium", "Bulgaria"} {
		for column, end := range []float64{100, 200, 260, 320} {
			text := label
			if column > 0 {
				text = "1,234"
			}
			width := 5 * float64(len(text))
			line := at(end-width, y+12*float64(row), 10, text)
			b.Lines = append(b.Lines, newLine(line.GetWords(), 0))
			b.Table.Cells = append(b.Table.Cells, &inkstreamv1.Cell{Row: int32(row), Column: int32(column), RowSpan: 1, ColumnSpan: 1,
				Bbox: boundingBox(line.GetWords()).toBox(), Text: text})
		}
	}
	b.Bbox = newBlock(b.GetLines()).GetBbox()
	return b
}

// textBlock is a block of lines.
func textBlock(lines ...*inkstreamv1.Line) *inkstreamv1.Block {
	for _, l := range lines {
		l.Bbox = boundingBox(l.GetWords()).toBox()
	}
	return newBlock(lines)
}

func TestAttachHeads(t *testing.T) {
	t.Parallel()
	caption := textBlock(at(65, 40, 10, "A table of four countries of the union and what they pay"))
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string // the first rows of the table; nothing where it gets no head
		left   int    // blocks
	}{
		{"heads of several lines, level at their lower edges", []*inkstreamv1.Block{caption, textBlock(at(65, 88, 10, "Country")),
			textBlock(at(160, 64, 10, "Paid in"), at(170, 76, 10, "former"), at(177, 88, 10, "years")), textBlock(at(242, 88, 10, "Paid")),
			textBlock(at(302, 76, 10, "Due")), figuresBelow(100)}, "Country|Paid in former years|Paid|Due", 2},
		{"a head over two columns", []*inkstreamv1.Block{textBlock(at(197.5, 76, 10, "Payments")), textBlock(at(180, 88, 10, "Made")),
			textBlock(at(240, 88, 10, "Left")), textBlock(at(300, 88, 10, "Sum")), figuresBelow(100)}, "Payments (2)|Sum\nMade|Left", 1},
		{"text above figures", []*inkstreamv1.Block{textBlock(at(65, 88, 10, "These are the figures of the countries of the union")), figuresBelow(100)}, "", 2},
		{"heads of too few columns", []*inkstreamv1.Block{textBlock(at(180, 88, 10, "Made")), figuresBelow(100)}, "", 2},
		{"heads far above", []*inkstreamv1.Block{textBlock(at(180, 60, 10, "Made"), at(240, 60, 10, "Left")),
			textBlock(at(300, 60, 10, "Sum")), figuresBelow(100)}, "", 3},
		{"lines that stand with others", []*inkstreamv1.Block{textBlock(at(65, 64, 10, "a paragraph that goes on above all columns of it"),
			at(180, 76, 10, "Made Left")), textBlock(at(300, 76, 10, "Sum")), figuresBelow(88)}, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			blocks := attachHeads(slices.Clone(tt.blocks), 10)
			table := blocks[len(blocks)-1].GetTable()
			var rows []string
			for row := range table.GetHeaderRows() {
				var cells []string
				for _, c := range table.GetCells() {
					if text := c.GetText(); c.GetRow() == row {
						if c.GetColumnSpan() > 1 {
							text += " (2)"
						}
						cells = append(cells, text)
					}
				}
				rows = append(rows, strings.Join(cells, "|"))
			}
			got := strings.Join(rows, "\n")
			if table.GetRows() == 3 {
				got = ""
			}
			if got != tt.want || len(blocks) != tt.left {
				t.Errorf("got %q and %d blocks, want %q and %d", got, len(blocks), tt.want, tt.left)
			}
		})
	}
}

// TestAttachHeadsToOddTables has tables without cells, places and lines.
func TestAttachHeadsToOddTables(t *testing.T) {
	t.Parallel()
	odd := figuresBelow(100)
	odd.Table.Columns, odd.Table.Cells[3].Column, odd.Table.Cells[4].Bbox = 5, -7, nil
	blocks := attachHeads([]*inkstreamv1.Block{nil, {}, {Table: &inkstreamv1.Table{Columns: 4}}, odd, figuresBelow(100)}, 0)
	if len(blocks) == 0 || blocks[len(blocks)-1].GetTable().GetRows() != 3 {
		t.Errorf("got %d blocks, want the tables as they were", len(blocks))
	}
}

// TestSectionsThatHoldRows makes no table of lines that part a page into sections with rows and columns of their own.
func TestSectionsThatHoldRows(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i, name := range []string{"Iowa", "Minnesota", "Nebraska", "Dakota", "Wisconsin", "Illinois"} {
		y := 104 + 12*float64(i)
		lines = append(lines, at(72, y, 10, name), at(180, y, 10, "1.35"), at(240, y, 10, "1.38"), at(300, y, 10, "1.27"))
	}
	page := ruledPage(latticeOf([]float64{70, 340, 500}, []float64{80, 100, 180, 260}), down(72, 85, 10, "Ethanol"), lines,
		down(350, 110, 10, "Prices", "of a week"), down(72, 190, 10, "Biodiesel"), down(350, 190, 10, "unquoted"))
	ArrangePage(page)
	for _, tab := range tablesOf(page) {
		if tab.GetColumns() >= 4 && tab.GetRows() >= 6 {
			return
		}
	}
	t.Errorf("got %d tables, want one of the rows in a section", len(tablesOf(page)))
}

// TestLabelsBesideFigures makes the words left of a grid of figures its first column.
func TestLabelsBesideFigures(t *testing.T) {
	t.Parallel()
	xs, ys := []float64{200, 260, 320, 380, 440}, []float64{100, 115, 130, 145, 160, 175}
	lines := []*inkstreamv1.Line{at(72, 103, 10, "Category")}
	for j, head := range []string{"Funds", "Costs", "Direct", "Other"} {
		lines = append(lines, at(xs[j]+3, 103, 10, head))
	}
	for i, label := range []string{"Salaries", "Benefits", "Travel", "Office"} {
		lines = append(lines, at(72, ys[i+1]+3, 10, label))
		for j := range 4 {
			if i != 2 || j == 1 { // many are empty
				lines = append(lines, at(xs[j]+20, ys[i+1]+3, 10, "1,234"))
			}
		}
	}
	page := ruledPage(latticeOf(xs, ys), lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 5 {
		t.Errorf("got %v, want one table of five columns", tables)
	}
}

// TestRaisedHeads gives a table the head that stands over several of its columns, half a line above the heads beside it,
// and none that stands over one of them, or a whole line above.
func TestRaisedHeads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		head *inkstreamv1.Line
		want string // the first row
	}{
		{"over the columns without a head", at(228, 100, 10, "Payments"), "Country|Payments (3)"},
		{"over one of them", at(280, 100, 10, "Payments"), "Country"},
		{"a line above", at(228, 92, 10, "Payments"), "Country"},
	} {
		table := figuresBelow(124)
		for _, c := range table.GetTable().GetCells() {
			c.Row += 2
		}
		var heads []*inkstreamv1.Cell
		for i, head := range []struct {
			text string
			x, y float32
		}{{"Country", 65, 106}, {"Made", 180, 112}, {"Left", 240, 112}, {"Sum", 305, 112}} {
			line := at(float64(head.x), float64(head.y), 10, head.text)
			table.Lines = append(table.Lines, newLine(line.GetWords(), 0))
			heads = append(heads, &inkstreamv1.Cell{Row: int32(min(i, 1)), Column: int32(i), RowSpan: 1, ColumnSpan: 1,
				Bbox: boundingBox(line.GetWords()).toBox(), Text: head.text})
		}
		table.Table.Rows, table.Table.HeaderRows, table.Table.Cells = 5, 1, append(heads, table.GetTable().GetCells()...)
		table.Bbox = newBlock(table.GetLines()).GetBbox()
		above := textBlock(tt.head)
		blocks := attachHeads([]*inkstreamv1.Block{above, table}, 10)
		var first []string
		for _, c := range table.GetTable().GetCells() {
			if text := c.GetText(); c.GetRow() == 0 {
				if c.GetColumnSpan() > 1 {
					text += fmt.Sprintf(" (%d)", c.GetColumnSpan())
				}
				first = append(first, text)
			}
		}
		if got := strings.Join(first, "|"); got != tt.want || (len(blocks) == 1) != strings.Contains(tt.want, "|") {
			t.Errorf("%s: got %s in %d blocks, want %s", tt.name, got, len(blocks), tt.want)
		}
	}
}

// TestAttachHeadsInTheirFont gives a table of words the line right above it that heads each column in a font of its own,
// and not one in the font of its cells.
func TestAttachHeadsInTheirFont(t *testing.T) {
	t.Parallel()
	for font, want := range map[int32]int32{1: 4, 0: 3} {
		table := figuresBelow(100)
		for i, c := range table.GetTable().GetCells() {
			c.Text = []string{"lock", "The cell has one", "Written by it", "Stores where"}[i%4]
		}
		heads := set(font, at(65, 88, 10, "Column"), at(180, 88, 10, "Use"), at(240, 88, 10, "By"), at(300, 88, 10, "Data"))
		blocks := attachHeads([]*inkstreamv1.Block{textBlock(heads...), table}, 10)
		if got := blocks[len(blocks)-1].GetTable().GetRows(); got != want {
			t.Errorf("heads in font %d: got %d rows, want %d", font, got, want)
		}
	}
}
