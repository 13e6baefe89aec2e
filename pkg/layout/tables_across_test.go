package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// lineTexts returns the texts of lines.
func lineTexts(lines []*inkstreamv1.Line) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = segmentsText([]segment{{words: line.GetWords()}})
	}
	return out
}

// TestTableAcrossColumns keeps a table in one piece that stands above two columns of text, whose gutter runs on in a gap
// between its columns.
func TestTableAcrossColumns(t *testing.T) {
	t.Parallel()
	left := down(50, 163, 10, "The mole of the north and all of the stone", "in the harbour was closed for the winter, so", "that nobody came to see what became of it",
		"before the first ships of the spring were in.", "Then the keepers of the tower opened again,", "and there was light on the water all night.",
		"The nets were mended and the boats were tarred", "and the smoke of the fires stood on the hill.")
	right := down(300, 163, 10, "A second count of the boats was made in May", "when the last of the ice had left the river", "and the ferry could cross to the far side. It",
		"was found that there were fewer than before.", "Some had been sold to the north, and others", "were broken up for their timber on the shore.",
		"The smallest of them lay on the grass below", "the church until the children burnt it there.")
	for i := range 3 {
		left = append(left, down(50, 259+96*float64(i), 10, lineTexts(left)[:8]...)...)
		right = append(right, down(300, 259+96*float64(i), 10, lineTexts(right)[:8]...)...)
	}
	p := pageOf(gridLines(100, []float64{100, 160, 220, 300, 370, 430}, "Place Pages Lines Tables Tongue Years", "Ledger 18300 12 4110 Dutch 1640", "Gazette 9870 26 220 English 1780",
		"Minutes 3004 1 15 German 1850"), left, right)
	p.Rulings = across(96, 470, 96, 112, 155)
	ArrangePage(p)
	got := tablesOf(p)
	if len(got) != 1 || got[0].GetColumns() != 6 || got[0].GetRows() != 4 {
		t.Errorf("got %d tables, want one of 4 rows and 6 columns: %q", len(got), p.GetText())
	}
	if at := strings.Index(p.GetText(), "smoke of the fires"); at < 0 || at > strings.Index(p.GetText(), "second count") {
		t.Errorf("columns are not read one after the other: %q", p.GetText())
	}
}

// TestInvoice keeps the rows of an invoice in one table: descriptions of several lines above a line, one as wide as its
// column, and totals of which one stands in one piece.
func TestInvoice(t *testing.T) {
	t.Parallel()
	row := func(y float64, cells ...string) (out []*inkstreamv1.Line) {
		for i, x := range []float64{50, 70, 560, 590, 650} {
			if cells[i] != "" {
				out = append(out, at(x, y, 10, cells[i]))
			}
		}
		return out
	}
	text := func(y float64, lines ...string) (out []*inkstreamv1.Line) {
		for i, line := range lines {
			out = append(out, at(70, y+12*float64(i), 10, line))
		}
		return out
	}
	total := at(586, 232, 10, "Net of all 33,874.67")
	total.Words[3].Bbox = rect{637, 232, 682, 241}.toBox()
	p := pageOf(row(100, "No", "What", "Qty", "Price", "Amount"), row(118, "1", "Common station", "21", "1,024.76", "519.95"),
		text(130, "the bridge beside the mill and the water in the old canal, the wall along the road and the gate to it", "and what is left of them."),
		row(160, "2", "The cargo", "33", "1,005.33", "175.87"), row(178, "3", "Golden sample", "27", "1,036.91", "996.62"),
		text(190, "again the kitchen of the hall", "and the room above it", "as in March."),
		[]*inkstreamv1.Line{total, at(590, 248, 10, "Tax"), at(650, 248, 10, "110.25"), at(590, 264, 10, "Total"),
			at(650, 264, 10, "984.92")})
	p.Rulings = across(50, 680, 114, 156, 174, 225)
	ArrangePage(p)
	got := tablesOf(p)
	if len(got) != 1 || got[0].GetRows() != 7 {
		t.Fatalf("got %d tables: %q", len(got), p.GetText())
	}
	var cells []string
	for _, c := range got[0].GetCells() {
		cells = append(cells, c.GetText())
	}
	for _, want := range []string{"Golden sample again the kitchen of the hall and the room above it as in March."} {
		if !strings.Contains("|"+strings.Join(cells, "|")+"|", "|"+want+"|") {
			t.Errorf("no cell is %q: %q", want, cells)
		}
	}
}

// endAt moves a line so that it ends at a place.
func endAt(x float64, line *inkstreamv1.Line) *inkstreamv1.Line {
	by := float32(x - rectFromBox(line.Words[len(line.Words)-1].GetBbox()).x1)
	for _, w := range line.Words {
		w.Bbox = []float32{w.Bbox[0] + by, w.Bbox[1], w.Bbox[2] + by, w.Bbox[3]}
	}
	return line
}

// TestInvoiceWithoutRules keeps the rows of an invoice whole below addresses side by side, and reads the notes beside its
// sums by themselves.
func TestInvoiceWithoutRules(t *testing.T) {
	t.Parallel()
	lines := append(down(50, 50, 10, "Lind & Bell", "7 Church Row", "Ripon HG4 1PT", "Ruth Hartley", "14 Mill Lane", "Wetherby LS22 6PN"), endAt(540, at(0, 50, 18, "INVOICE")))
	for i, pair := range []string{"Date:|12 Mar 2024", "Payment:|30 days", "Due:|11 Apr 2024"} {
		label, value, _ := strings.Cut(pair, "|")
		y := 80 + 14*float64(i)
		lines = append(lines, at(400, y, 10, label), endAt(540, at(0, y, 10, value)))
	}
	for i, row := range []string{"Item|Quantity|Rate|Amount", "Hedge cutting, front and side|4 h|£ 32.00|£ 128.00", "Removal of cuttings to the tip, with charges for two loads|2|£ 45.00|£ 90.00",
		"Lawn seed, shade mix|5 kg|£ 11.10|£ 55.50", "Labour, lawn repair|2.5 h|£ 28.00|£ 70.00"} {
		y := 150 + 19*float64(i)
		cells := strings.Split(row, "|")
		lines = append(lines, at(50, y, 10, cells[0]), endAt(430, at(0, y, 10, cells[1])), endAt(485, at(0, y, 10, cells[2])), endAt(540, at(0, y, 10, cells[3])))
	}
	lines = append(lines, down(50, 252, 10, "Notes", "The library van will come on Thursdays from", "September on, and readers who cannot reach it", "may ask for books to be brought home, which",
		"the volunteers of the parish will see to.")...)
	for i, pair := range []string{"Subtotal:|£ 343.50", "VAT (20%):|£ 68.70", "Total:|£ 412.20"} {
		label, value, _ := strings.Cut(pair, "|")
		y := 246 + 19*float64(i)
		lines = append(lines, endAt(457, at(0, y, 10, label)), endAt(540, at(0, y, 10, value)))
	}
	p := pageOf(lines)
	ArrangePage(p)
	if got := tablesOf(p); len(got) == 0 || got[0].GetColumns() != 4 || got[0].GetRows() != 5 {
		t.Errorf("got %d tables, want the first of 5 rows and 4 columns: %q", len(got), p.GetText())
	}
	followEachOther(t, p, "Labour, lawn repair", "Notes", "volunteers of the parish", "Subtotal:", "£ 343.50", "Total:", "£ 412.20")
}

// TestFigureRows counts the rows of a table as wide as the text, and none where lines of text stand level with the rows of
// a table in the next column.
func TestFigureRows(t *testing.T) {
	t.Parallel()
	figures := [][3]string{{"Place", "Pages", "Lines"}, {"Ledger", "18,300", "12"}, {"Gazette", "9,870", "26"}, {"Minutes", "3,004", "41"}}
	for _, tt := range []struct {
		first []string
		want  int
	}{
		{[]string{"Item", "Old ledger", "New ledger of the port", "Gazette"}, 4},
		{[]string{"The mole of the north and all of the stone", "in the harbour was closed for the winter", "so that nobody came to see what became", "of it before the first ships came in."}, 0},
	} {
		var slabs []pageBand
		for i, text := range tt.first {
			y := 100 + 12*float64(i)
			row := []segment{newSegment(at(50, y, 10, text).GetWords(), 0)}
			for k, x := range []float64{340, 400, 460} { // flush right
				width := boundingBox(at(0, 0, 10, figures[i][k]).GetWords()).x1
				row = append(row, newSegment(at(x-width, y, 10, figures[i][k]).GetWords(), 0))
			}
			slabs = append(slabs, pageBand{segments: row, y0: y, y1: y + 10, rows: 1})
		}
		if got := (ruledBands{em: 10}).countFigureRows(slabs, 0, 50, 460); got != tt.want {
			t.Errorf("below %q: got %d rows, want %d", tt.first[0], got, tt.want)
		}
	}
}
