package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// spacedRowsBy sets rows of two cells of several lines, with so much room between the rows.
func spacedRowsBy(room float64, rows [][2][]string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	y := 100.0
	for _, row := range rows {
		for i := range max(len(row[0]), len(row[1])) {
			for k, x := range []float64{50, 150} {
				if i < len(row[k]) {
					out = append(out, at(x, y+12*float64(i), 10, row[k][i]))
				}
			}
		}
		y += 12*float64(max(len(row[0]), len(row[1]))) + room
	}
	return out
}

// TestCellsThatWrapTogether reads rows of a table of which several cells wrap, between the lines that typographers draw
// above its head, below it and below its last row.
func TestCellsThatWrapTogether(t *testing.T) {
	t.Parallel()
	rows := [][2][]string{
		{{"Place"}, {"What was found there"}},
		{{"Old harbour in", "the north"}, {"The annual report of the", "council on the islands"}},
		{{"Mountain"}, {"Any valley has completed", "its long tradition"}},
		{{"University by", "the old tower"}, {"Each method repaired one", "result of the journal"}},
		{{"Private garden", "of the early", "morning"}, {"The general knowledge of", "every forest against one", "journal"}},
		{{"Warehouse"}, {"Improves our agreement"}},
	}
	page := ruledPage(across(48, 290, 97, 115, 268), spacedRowsBy(6, rows))
	ArrangePage(page)
	const want = "0: 0=Place 1=What was found there\n1: 0=Old harbour in the north 1=The annual report of the council on the islands\n" +
		"2: 0=Mountain 1=Any valley has completed its long tradition\n3: 0=University by the old tower 1=Each method repaired one result of the journal\n" +
		"4: 0=Private garden of the early morning 1=The general knowledge of every forest against one journal\n5: 0=Warehouse 1=Improves our agreement"
	if tables := tablesOf(page); len(tables) != 1 || tableOf(tables[0]) != want {
		t.Errorf("got %d tables, want:\n%s", len(tables), want)
		for _, table := range tables {
			t.Log(tableOf(table))
		}
	}
}

// TestGroupsOfRows keeps the rows of groups that room sets apart: their cells begin with capitals and had room above.
func TestGroupsOfRows(t *testing.T) {
	t.Parallel()
	cell := func(text string, x0, x1 float64, column int) tableCell {
		s := newSegment(at(x0, 100, 10, text).GetWords(), 0)
		return tableCell{rect: rect{x0, 100, x1, 110}, segments: []segment{s}, column: column, columnSpan: 1}
	}
	w := wrappedRows{textSetting{em: 10}}
	reach := map[int]float64{0: 140, 1: 290}
	for _, tt := range []struct {
		name         string
		above, below tableCell
		want         bool
	}{
		{"a small letter", cell("Harbour", 50, 90, 0), cell("of it", 50, 80, 0), true},
		{"a capital that had room", cell("Harbour", 50, 90, 0), cell("Quay", 50, 75, 0), false},
		{"a capital without room", cell("Harbour in the", 50, 128, 0), cell("North", 50, 75, 0), true},
		{"a figure", cell("Harbour in the", 50, 128, 0), cell("1,950", 50, 75, 0), false},
		{"another column", cell("Harbour", 50, 90, 0), cell("of it", 150, 190, 1), false},
	} {
		if got := w.areWrappedLines([][]tableCell{{tt.above}, {tt.below}}, reach); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestRowsWithHead takes parts between three lines of one length for the columns of a table, one of which has few words
// in a line, and neither those between two lines nor columns of text.
func TestRowsWithHead(t *testing.T) {
	t.Parallel()
	part := func(lines []*inkstreamv1.Line) (out []segment) {
		for _, line := range lines {
			out = append(out, newSegment(line.GetWords(), 0))
		}
		return out
	}
	labels := func() []segment { return part(down(50, 100, 10, "Limits", "Garden", "Harbour in", "the north")) }
	text := func(x float64) []segment {
		return part(down(x, 100, 10, "The people of", "it were in the way of", "any of those who had", "been at the quay of it"))
	}
	for _, tt := range []struct {
		name  string
		rules []float64
		parts [][]segment
		want  bool
	}{
		{"three lines", []float64{97, 111, 150}, [][]segment{labels(), text(150)}, true},
		{"a column without text in its last lines", []float64{97, 111, 150}, [][]segment{labels(), text(150)[:3]}, true},
		{"two lines", []float64{97, 150}, [][]segment{labels(), text(150)}, false},
		{"columns of text", []float64{97, 111, 150}, [][]segment{text(50), text(150)}, false},
	} {
		c := columnSplitter{gutterJudge{em: 10}}
		for _, y := range tt.rules {
			c.rulings.across = append(c.rulings.across, ruling{y, 48, 290})
		}
		if got := c.areRowsWithHead(tt.parts); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
