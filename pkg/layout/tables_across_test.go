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
