package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// frameOf returns the four sides of a frame.
func frameOf(x0, y0, x1, y1 float64) []*inkstreamv1.Ruling {
	return latticeOf([]float64{x0, x1}, []float64{y0, y1})
}

// TestFramesAreReadByThemselves reads an advertisement in a frame that stands in a list of names with numbers: its
// goods with their prices make no table with those.
func TestFramesAreReadByThemselves(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 12 {
		y := 60 + 12*float64(i)
		if i >= 6 {
			y += 84
		}
		lines = append(lines, at(50, y, 10, fmt.Sprint("Carver number ", i)), at(230, y, 10, fmt.Sprint("555 12", 10+i)))
	}
	for i, row := range []string{"Vogel and sons", "Lamps 3.40", "Chairs 5.10", "Shelves 7.25", "Harbour lane"} {
		y := 144 + 12*float64(i)
		words := strings.Fields(row)
		if len(words) == 2 && i < 4 {
			lines = append(lines, at(58, y, 10, words[0]), at(230, y, 10, words[1]))
		} else {
			lines = append(lines, at(100, y, 10, row))
		}
	}
	page := pageOf(lines)
	page.Rulings = frameOf(50, 138, 290, 210)
	ArrangePage(page)
	for _, table := range tablesOf(page) {
		if cells := strings.Join(cellsOf(table), " "); strings.Contains(cells, "Carver") && strings.Contains(cells, "Lamps") {
			t.Errorf("a table reaches into a frame: %q", cells)
		}
	}
	text := strings.Join(strings.Fields(page.GetText()), " ")
	if before, after := strings.Index(text, "Carver number 5"), strings.Index(text, "Carver number 6"); !strings.Contains(text[before:after], "Lamps 3.40 Chairs 5.10") {
		t.Errorf("the advertisement is not read where it stands: %q", text)
	}
}

// TestFramesBelowRows reads rows whose gap is level with the room between two frames below them as rows.
func TestFramesBelowRows(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 6 {
		lines = append(lines, at(50, 60+12*float64(i), 10, fmt.Sprint("Carver number ", i)), at(230, 60+12*float64(i), 10, fmt.Sprint("555 120", i)))
	}
	for i, text := range []string{"Vogel and sons", "mend lamps at home", "Harbour lane"} {
		lines = append(lines, at(58, 150+12*float64(i), 10, text), at(208, 150+12*float64(i), 10, text))
	}
	page := pageOf(lines)
	page.Rulings = append(frameOf(50, 142, 190, 216), frameOf(200, 142, 340, 216)...)
	ArrangePage(page)
	ad := "Vogel and sons mend lamps at home Harbour lane"
	text := strings.Join(strings.Fields(page.GetText()), " ")
	if !strings.Contains(text, ad+" "+ad) || !strings.Contains(text, "Carver number 5 555 1205") {
		t.Errorf("got %q", text)
	}
}

// TestFieldsAreNoFrames leaves the small box of a field in the line of its label.
func TestFieldsAreNoFrames(t *testing.T) {
	t.Parallel()
	page := pageOf([]*inkstreamv1.Line{at(50, 60, 10, "The name of the owner"), at(200, 60, 10, "Ruth"), at(50, 90, 10, "and where she lives")})
	page.Rulings = frameOf(195, 55, 300, 75)
	ArrangePage(page)
	if got, want := strings.Join(strings.Fields(page.GetText()), " "), "The name of the owner Ruth and where she lives"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFrameAroundAllIsNone reads a page with a line drawn around it as one without.
func TestFrameAroundAllIsNone(t *testing.T) {
	t.Parallel()
	lines := append(down(50, 60, 10, columnText(8)...), down(280, 60, 10, columnText(8)...)...)
	plain, page := pageOf(lines), pageOf(lines)
	page.Rulings = frameOf(20, 20, 560, 400)
	ArrangePage(plain)
	ArrangePage(page)
	if page.GetText() != plain.GetText() {
		t.Errorf("got %q, want %q", page.GetText(), plain.GetText())
	}
}

// TestBoxesAtTheEndsOfLines reads the lines of a form with a box for a number and one for a sum at the end of each.
func TestBoxesAtTheEndsOfLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	labels := []string{"1 Wages of the year", "2 Rent of rooms and halls", "3 Sales", "4 What is left of the year before", "5 All of these"}
	for i, label := range labels {
		y := 60 + 20*float64(i)
		lines = append(lines, at(50, y, 10, label), at(404, y, 10, fmt.Sprint(i+1)), at(430, y, 10, fmt.Sprint(i+3, ",250.00")))
	}
	lines = append(lines, at(62, 132, 10, "after it was taxed"))
	page := pageOf(lines)
	page.Rulings = latticeOf([]float64{400, 420, 480}, []float64{55, 75, 95, 115, 143, 163})
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetColumns() != 3 {
		t.Fatalf("got %v, want a table of 3 columns: %q", tables, page.GetText())
	}
	if got, want := cellsOf(tables[0])[3], "4 What is left of the year before after it was taxed | 4 | 6,250.00"; got != want {
		t.Errorf("got the row %q, want %q", got, want)
	}
}

// TestNumberedLinesAreNoTable keeps a transcript in a frame, whose numbers of lines a line parts from the text, from
// becoming a table.
func TestNumberedLinesAreNoTable(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i, text := range columnText(16) {
		lines = append(lines, at(54, 60+20*float64(i), 10, fmt.Sprint(i+1)), at(76, 60+20*float64(i), 10, text))
	}
	page := pageOf(lines)
	page.Rulings = latticeOf([]float64{50, 70, 260}, []float64{50, 390})
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) > 0 {
		t.Errorf("got a table: %v", cellsOf(tables[0]))
	}
}

// TestPagesInFramesAreNoTable reads two pages of a transcript side by side in frames that share a side, whose lines
// are level and set apart.
func TestPagesInFramesAreNoTable(t *testing.T) {
	t.Parallel()
	text := columnText(20)
	var lines []*inkstreamv1.Line
	for i := range 10 {
		lines = append(lines, at(54, 60+24*float64(i), 10, text[i]), at(274, 60+24*float64(i), 10, text[10+i]))
	}
	page := pageOf(lines)
	page.Rulings = latticeOf([]float64{50, 262, 480}, []float64{50, 310})
	ArrangePage(page)
	got := strings.Join(strings.Fields(page.GetText()), " ")
	if want := strings.Join(strings.Fields(strings.Join(text, " ")), " "); len(tablesOf(page)) > 0 || strings.ReplaceAll(got, "- ", "") != strings.ReplaceAll(want, "- ", "") {
		t.Errorf("got %d tables and %q, want the text %q", len(tablesOf(page)), got, want)
	}
}

// TestPanelsAreNoCells reads panels that a frame and a line down the page make as text, one after the other, though the
// lines of a table in one of them meet that line, and reads a long note beside the rows of a table as its cell.
func TestPanelsAreNoCells(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines   int
		isTable bool
	}{"a panel": {25, false}, "a note": {8, true}} {
		var lines []*inkstreamv1.Line
		lines = append(lines, at(60, 70, 10, "Pay by the tenth of May to"))
		for i := range 4 {
			y := 105 + 20*float64(i)
			lines = append(lines, at(60, y, 10, fmt.Sprint("Field ", i)), at(160, y, 10, fmt.Sprint("Value ", i)))
		}
		lines = append(lines, at(60, 200, 10, "Keep the slip for the office"))
		for i := range tt.lines {
			lines = append(lines, at(310, 60+13*float64(i), 10, fmt.Sprint("panel line with some words ", i)))
		}
		page := pageOf(lines)
		page.Rulings = append(latticeOf([]float64{50, 300, 500}, []float64{55, 400}),
			latticeOf([]float64{50, 150, 300}, []float64{100, 120, 140, 160, 180})...)
		ArrangePage(page)
		isTable := false
		for _, table := range tablesOf(page) {
			isTable = isTable || strings.Contains(strings.Join(cellsOf(table), " "), "panel line")
		}
		if isTable != tt.isTable {
			t.Errorf("%s: in a table: %v, want %v\n%s", name, isTable, tt.isTable, page.GetText())
		}
		text := strings.Join(strings.Fields(page.GetText()), " ")
		if !tt.isTable && strings.Index(text, "Keep the slip") > strings.Index(text, "panel line") {
			t.Errorf("%s: the panels are not read one after the other: %q", name, text)
		}
	}
}
