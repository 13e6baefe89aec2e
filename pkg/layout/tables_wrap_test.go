package layout

import (
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestFiguresGoOnBelowText puts the second lines of cells to their rows, figures too where they stand below text: room sets
// the rows apart.
func TestFiguresGoOnBelowText(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 100.0
	for _, row := range [][2]string{{"Mill 6.21, Ford 6.32,", "6.48"}, {"Hill 7.05, Gate 7.30", ""}, {"Tide 8.02, Marlow", "8.40"}, {"Moor 9.10, Lane 9.20,", "9.44"}, {"Well 9.50", ""}} {
		lines = append(lines, at(50, y, 10, "05:06"), at(110, y, 10, row[0]), at(300, y, 10, "Harwick"), at(380, y, 10, "Platform"))
		if row[1] != "" {
			y += 12
			lines = append(lines, at(110, y, 10, row[1]))
		}
		y += 18
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 5 {
		t.Errorf("got %v, want a table of 5 rows: %q", tables, page.GetText())
	}
}

// TestBoxesInTheMiddleOfLabels reads a table whose boxes to tick are alike in all rows, and stand in the middle of the
// height of labels that wrap, with a line drawn between the rows. The options of the question below are no row of it.
func TestBoxesInTheMiddleOfLabels(t *testing.T) {
	t.Parallel()
	lines := gridLines(100, []float64{200, 260, 320, 380}, "Agree Partly Hardly Never")
	var rulings []*inkstreamv1.Ruling
	row := func(y, boxes float64, label ...string) {
		for i, text := range label {
			lines = append(lines, at(50, y+12*float64(i), 10, text))
		}
		for _, x := range []float64{212, 272, 332, 392} {
			lines = append(lines, at(x, boxes, 14, "☐"))
		}
		rulings = append(rulings, &inkstreamv1.Ruling{Bbox: rect{48, y - 5, 420, y - 4.5}.toBox()})
	}
	row(120, 117, "a) The ferry leaves the quay", "in time.")
	row(152, 157, "b) The boats are clean and", "well kept.")
	row(192, 189, "c) The crew is kind.")
	row(212, 209, "d) The fare is fair.")
	row(232, 229, "e) The stops are dry.")
	lines = append(lines, at(50, 250, 10, "2. How did you come here?"), at(50, 266, 10, "☐ Ferry"), at(120, 266, 10, "☐ Railway"), at(200, 266, 10, "☐ Motor"))
	page := pageOf(lines)
	page.Rulings = rulings
	ArrangePage(page)
	tables := tablesOf(page)
	isWhole := func(c *inkstreamv1.Cell) bool { return c.GetText() == "b) The boats are clean and well kept." }
	if len(tables) != 1 || tables[0].GetRows() != 6 || !slices.ContainsFunc(tables[0].GetCells(), isWhole) {
		t.Errorf("got %v, want a table of 6 rows: %q", tables, page.GetText())
	}
}

// TestClausesHang keeps numbered clauses of two lines whole, whose second line begins below the text of the first.
func TestClausesHang(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 72.0
	clause := func(number string, text ...string) {
		lines = append(lines, at(72, y, 10, number))
		for _, line := range text {
			lines = append(lines, at(106, y, 10, line))
			y += 12
		}
		y += 3
	}
	item := func(letter string) {
		lines = append(lines, at(106, y, 10, letter), at(140, y, 10, "the boats that lie in the harbour;"))
		y += 15
	}
	clause("1.1", "The harbour master keeps the keys of all the gates and the", "light of the quay.")
	clause("1.2", "The keeper of the old tower minds the boats and the nets of", "others, with the ice.")
	item("(a)")
	item("(b)")
	clause("1.3", "The council of the town pays for the coal and the sand that", "they need in winter.")
	page := pageOf(lines)
	ArrangePage(page)
	if got, want := linesOfBlocks(page), []int{2, 2, 1, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got blocks of %v lines, want %v: %q", got, want, page.GetText())
	}
}

// TestLabelsWiderThanOthers puts the figures of a row to its label, which is wider than those that have figures beside them
// and goes on in another line, as high as the figures or below them.
func TestLabelsWiderThanOthers(t *testing.T) {
	t.Parallel()
	lines := gridLines(100, []float64{300, 360}, "2021(a) 2022")
	lines = append(lines, gridLines(114, []float64{50, 300, 360}, "Instruments 112.4 104.1", "Services 38.9 35.5")...)
	lines = append(lines, at(50, 142, 10, "Expenses, including the amortisation of all"), at(50, 154, 10, "assets"), at(300, 150, 10, "31.0"), at(360, 150, 10, "29.9"))
	lines = append(lines, gridLines(168, []float64{50, 300, 360}, "Profit 32.2 27.0")...)
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	isWhole := func(c *inkstreamv1.Cell) bool {
		return c.GetText() == "Expenses, including the amortisation of all assets" && c.GetColumnSpan() == 1
	}
	if len(tables) != 1 || tables[0].GetRows() != 5 || !slices.ContainsFunc(tables[0].GetCells(), isWhole) {
		t.Errorf("got %v, want a table of 5 rows: %q", tables, page.GetText())
	}
}

// TestDatesAreOneColumn makes one column of days and months below their head.
func TestDatesAreOneColumn(t *testing.T) {
	t.Parallel()
	lines := gridLines(100, []float64{50, 120, 250}, "Date Details Balance")
	for i, day := range []string{"01", "02", "07", "09"} {
		y := 116 + 14*float64(i)
		lines = append(lines, at(50, y, 10, day), at(66, y, 10, "Mar"), at(120, y, 10, "Payment"), at(250, y, 10, "1204.55"))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 3 {
		t.Errorf("got %v, want a table of 3 columns: %q", tables, page.GetText())
	}
}
