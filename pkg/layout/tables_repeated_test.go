package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestHeadBeginsAnotherTable tells two tables below each other apart by the head that the second repeats, though its
// columns stand elsewhere.
func TestHeadBeginsAnotherTable(t *testing.T) {
	t.Parallel()
	page := pageOf(gridLines(100, []float64{50, 180, 230, 280, 330}, "Team Won Drawn Lost Points", "Mill 10 2 0 32", "Ford 8 0 4 24", "Lane 3 3 6 12", "Gate 1 2 9 5"),
		[]*inkstreamv1.Line{at(50, 180, 10, "Second league")},
		gridLines(198, []float64{50, 158, 212, 269, 330}, "Side Won Drawn Lost Points", "Hill 9 1 2 28", "Tide 5 5 2 20", "Moor 2 2 8 8", "Well 0 1 11 1"))
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 2 || tables[0].GetRows() != 5 || tables[1].GetRows() != 5 {
		t.Errorf("got %v, want two tables of 5 rows: %q", tables, page.GetText())
	}
}

// TestLabelOfHeadBeginsAnotherTable tells timetables below each other apart, whose heads have a word in common and
// figures otherwise.
func TestLabelOfHeadBeginsAnotherTable(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 180, 250, 320}
	first := []string{"Train 282 284 286", "Harwick 4.45 5.56 6.14", "Marlow 5.13 6.20 6.25", "Brackley 5.19 6.26 6.28", "Glenford 5.30 6.31 6.30"}
	second := []string{"Train 1629 1631 1633", "Carrow 4.46 5.51 7.15", "Belmont 4.58 6.10 7.34", "Tilbury 5.34 6.40 7.52"}
	third := []string{"Train 1956 1958", "Kelton 6.46 7.51", "Northam 6.58 8.10", "Millbrook 7.34 8.40"} // two trains run
	for _, below := range [][]string{second, third} {
		page := pageOf(gridLines(100, columns, first...), gridLines(184, columns, below...))
		ArrangePage(page)
		tables := tablesOf(page)
		if len(tables) != 2 || tables[0].GetRows() != 5 || tables[1].GetRows() != 4 {
			t.Errorf("got %v, want tables of 5 and of 4 rows: %q", tables, page.GetText())
		}
	}
}

// TestTablesBelowHeadingsSideBySide tells two tables apart that stand side by side below headings of their own, of
// which one is shorter.
func TestTablesBelowHeadingsSideBySide(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 100, 170, 220}
	right := []float64{310, 360, 430, 480}
	for _, head := range []string{"No. Article Unit Price", "Id Article Unit Price"} {
		page := pageOf([]*inkstreamv1.Line{at(50, 84, 10, "Payment by the week"), at(310, 84, 10, "General winter goods")},
			gridLines(100, columns, "No. Article Unit Price", "W70 Answer each 45.26", "H37 Show kilo 10.79", "M95 Clinic dozen 30.86"),
			gridLines(100, right, head, "F49 Common each 13.99", "X48 Mountain kilo 25.10", "Z49 Member each 44.75", "U20 Election dozen 18.04",
				"J33 Tradition each 58.22", "X54 Trial kilo 12.16", "A87 Matter each 24.17"))
		ArrangePage(page)
		tables := tablesOf(page)
		if len(tables) != 2 || tables[0].GetColumns() != 4 || tables[1].GetColumns() != 4 {
			t.Errorf("%s: got %v, want two tables of 4 columns: %q", head, tables, page.GetText())
		}
	}
}

// TestNamesAtTheEndsOfLines reads who plays whom: the names end at one edge and begin anywhere.
func TestNamesAtTheEndsOfLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	parts := []string{"Memory", "The valley", "An extraordinary territory", "Model", "Gentle lecture", "Heavy bridge", "Significant building", "Ancient tide"}
	for i, name := range []string{"David D. Lindqvist", "Daniel Prescott", "Ulrich Keating", "Hanna Fontaine", "Nils Langley", "Judith Prescott", "Alice Q. Jansen", "Felix Marsh"} {
		line := at(0, 60+14*float64(i), 10, name)
		shift := 500 - line.GetWords()[len(line.GetWords())-1].GetBbox()[2]
		for _, w := range line.GetWords() {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+shift, w.Bbox[2]+shift
		}
		lines = append(lines, at(50, 60+14*float64(i), 10, parts[i]), line)
	}
	page := pageOf(lines)
	ArrangePage(page)
	if text := strings.Join(strings.Fields(page.GetText()), " "); !strings.Contains(text, "Model Hanna Fontaine") || !strings.Contains(text, "Ancient tide Felix Marsh") {
		t.Errorf("the names are not read with the parts: %q", text)
	}
}

// TestFiguresInOneColumnOrAnother reads rows with room between them, of which each has its sum in one column or
// another.
func TestFiguresInOneColumnOrAnother(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	var rulings []float64
	for i, row := range []string{"Date|Description|Money out|Money in|Balance", "|Balance brought forward|||8,958.96", "1 Jan|IVANOV HOUSE|30.10||",
		"3 Jan|NORRIS SPEECH/Ref. 489896 pupil|61.15||7,682.46", "4 Jan|WHITLOCK RAILWAY/Ref. 71217 show||3,789.24|82.67", "6 Jan|CRANE MACHINE|952.56||",
		"7 Jan|JARVIS WINTER|67.71||", "8 Jan|ZIMMER WORKS||4,525.42|656.56"} {
		for j, cell := range strings.Split(row, "|") {
			for k, text := range strings.Split(cell, "/") {
				x := []float64{60, 110, 375, 460, 550}[j]
				if j > 1 {
					x -= 5 * float64(len(text))
				}
				if text != "" {
					lines = append(lines, at(x, 100+22*float64(i)+10*float64(k), 9, text))
				}
			}
		}
		rulings = append(rulings, 95+22*float64(i))
	}
	page := pageOf(lines)
	page.Rulings = across(58, 552, rulings...)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 8 {
		t.Errorf("got %v, want a table of 8 rows: %q", tables, page.GetText())
	}
}

// TestHeadingsInLists keeps bold headings out of lists of names and numbers, which may be read as tables.
func TestHeadingsInLists(t *testing.T) {
	t.Parallel()
	plain, bold := &inkstreamv1.Font{Name: "Serif"}, &inkstreamv1.Font{Name: "Serif-Bold"}
	var lines []*inkstreamv1.Line
	y := 60.0
	for _, row := range []string{"Crane 8|784 5242", "Hathaway 9|294 1829", "Norris 7|235 9076", "Wycliffe 1|919 3377", "Annual measurement", "Yilmaz 9|467 8799",
		"Drummond 3|307 3409", "Carver 6|974 8689", "Vance 4|531 2207", "Uncertain harbour", "Grant 6|355 0054", "Mercer 2|118 4471", "Adler 1|690 2213"} {
		cells := strings.Split(row, "|")
		if len(cells) == 1 {
			y += 7
			lines = append(lines, inFont(2, []*inkstreamv1.Line{at(50, y, 10, row)})...)
			y += 13
			continue
		}
		lines = append(lines, inFont(1, []*inkstreamv1.Line{at(50, y, 10, cells[0]), at(180, y, 10, cells[1])})...)
		y += 12
	}
	page := withFonts(pageOf(lines), plain, bold)
	ArrangePage(page)
	for _, table := range tablesOf(page) {
		if cells := strings.Join(cellsOf(table), " "); strings.Contains(cells, "measurement") || strings.Contains(cells, "harbour") {
			t.Errorf("a heading is in a table: %q", cells)
		}
	}
}

// TestTableHeadBelowAddresses keeps the heads of a table's columns and its first row with the table, though they leave
// the gutter free between what stands side by side above them.
func TestTableHeadBelowAddresses(t *testing.T) {
	t.Parallel()
	lines := append(down(50, 60, 10, "Marta Fairfax", "38 Eastleigh Road", "Brackley 68033"), down(320, 60, 10, "Number: 590320", "Date: 16.05.2005",
		"Customer: 455081")...)
	for i, row := range []string{"Pos|Description|Qty|Price|Amount", "1|Lamps and chairs|26|86.42|74.83", "2|A distance of one reasonable distance between towns|39|71.05|3,920.68",
		"3|Shelves|27|4.23|57.19", "4|After the theatre of an uncertain family of the coast|8|80.36|9.00", "5|Tables|2|5.00|10.00"} {
		for j, text := range strings.Split(row, "|") {
			lines = append(lines, at([]float64{50, 80, 345, 385, 430}[j], 116+16*float64(i), 10, text))
		}
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 6 || cellsOf(tables[0])[0] != "Pos | Description | Qty | Price | Amount" {
		t.Errorf("got %v, want a table of 6 rows with its head: %q", tables, page.GetText())
	}
}

// TestSortedNamesInColumns reads names that are set in two columns one column after the other, though all rows are
// level.
func TestSortedNamesInColumns(t *testing.T) {
	t.Parallel()
	left := strings.Fields("Abbott Adler Barlow Bianchi Carver Crane Dubois Ellery")
	right := strings.Fields("Everett Fontaine Garrick Hollis Ivanov Jansen Keating Langley")
	var lines []*inkstreamv1.Line
	for i := range left {
		y := 60 + 14*float64(i)
		lines = append(lines, at(50, y, 10, left[i]), at(200, y, 10, fmt.Sprint(300+i, " ", 4211+17*i)), at(320, y, 10, right[i]), at(470, y, 10, fmt.Sprint(310+i, " ", 3004+31*i)))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if text := page.GetText(); strings.Index(text, "Ellery") > strings.Index(text, "Everett") {
		t.Errorf("the columns are read across: %q", text)
	}
}

// TestBlanksOfNumbers keeps numbers whole whose blanks stand below each other, and are as wide as those of the text
// beside them.
func TestBlanksOfNumbers(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	widened := func(x, y float64, text string) *inkstreamv1.Line {
		line := at(x, y, 10, text)
		for i, w := range line.GetWords() {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+2.4*float32(i), w.Bbox[2]+2.4*float32(i)
		}
		return line
	}
	for i, name := range []string{"Pereira Nina", "Schneider Ivo", "Hollis Ruth", "Norris Kai"} {
		y := 60 + 13*float64(i)
		lines = append(lines, widened(50, y, name), widened(220, y, fmt.Sprint(361+i, " ", 8671-i)))
	}
	page := pageOf(lines)
	ArrangePage(page)
	for _, b := range page.GetBlocks() {
		if n := b.GetTable().GetColumns(); n > 2 {
			t.Errorf("got a table of %d columns, want the numbers whole: %q", n, page.GetText())
		}
	}
}

// TestAlikeCellsInOneTable keeps a wide table whole, whose first row holds the same signs in both halves.
func TestAlikeCellsInOneTable(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 150, 210, 250, 300, 345}
	page := pageOf(gridLines(100, columns, "Plan Basic Extra Larger Family Company", "Calls – ✓ – – ✓",
		"Letters none – none ✓ ✓", "Boats none – 12 none ✓",
		"Nets 12 12 none none –", "Sails 12 none ✓ none –", "Oars 12 ✓ ✓ – 12"))
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 1 || got[0].GetColumns() != int32(len(columns)) {
		t.Errorf("got %d tables, want one of %d columns: %q", len(got), len(columns), page.GetText())
	}
}
