package layout

import (
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// hasCell reports whether a table has a cell with a text.
func hasCell(t *inkstreamv1.Table, text string) bool {
	return slices.ContainsFunc(t.GetCells(), func(c *inkstreamv1.Cell) bool { return c.GetText() == text })
}

// TestCentredRows reads a table whose cells stand in the middle of their row's height: those of one line are level with
// none of the lines beside. Rows below, set smaller, stand as close as the lines of one cell, and stay apart.
func TestCentredRows(t *testing.T) {
	t.Parallel()
	lines := gridLines(80, []float64{50, 260, 330, 400}, "Benefit Basic Plus Premium")
	for i, row := range [][5]string{
		{"The ferry leaves the quay in the", "morning and at noon", "40.10", "60.20", "80.30"}, {"The boats are clean and dry", "", "41.10", "61.20", "81.30"},
		{"The crew is kind to all who come", "on board of them", "42.10", "62.20", "82.30"}, {"The fare is fair at the weekend", "and at night", "43.10", "63.20", "83.30"},
	} {
		y := 98 + 34*float64(i)
		figures := y + 6
		if row[1] == "" {
			figures = y
		} else {
			lines = append(lines, at(50, y+12, 10, row[1]))
		}
		lines = append(lines, at(50, y, 10, row[0]), at(260, figures, 10, row[2]), at(330, figures, 10, row[3]), at(400, figures, 10, row[4]))
	}
	lines = append(lines, at(50, 260, 14, "The timetable"))
	for i := range 5 {
		y := 290 + 12*float64(i)
		lines = append(lines, at(50, y, 8, "Millbrook"), at(260, y, 8, "9.10"), at(330, y, 8, "10.20"), at(400, y, 8, "11.30"))
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) == 0 || tables[0].GetRows() != 5 || strings.Contains(page.GetText(), "Millbrook Millbrook") {
		t.Fatalf("got %v, want a table of 5 rows: %q", tables, page.GetText())
	}
	for _, want := range []string{"The ferry leaves the quay in the morning and at noon", "The boats are clean and dry"} {
		if !hasCell(tables[0], want) {
			t.Errorf("no cell is %q: %q", want, page.GetText())
		}
	}
}

// TestHalfLineOff puts what stands half a line lower in a row of its own, though boxes are as high as lines are apart.
func TestHalfLineOff(t *testing.T) {
	t.Parallel()
	var segments []segment
	for _, line := range []*inkstreamv1.Line{at(50, 100, 10, "The ferry leaves"), at(50, 111.5, 10, "in the morning"), at(200, 105.75, 10, "40.10"), at(260, 105.75, 10, "41.10")} {
		for _, w := range line.Words {
			w.Bbox[3] = w.Bbox[1] + 12
		}
		segments = append(segments, newSegment(line.Words, 0))
	}
	if rows := (leaf{segments}).buildRows(10); len(rows) != 3 {
		t.Errorf("got %d rows, want 3", len(rows))
	}
}

// TestCellsAtTheFoot puts the lines of cells to one row whose other cells are level with the last of them: a little more
// room parts the rows.
func TestCellsAtTheFoot(t *testing.T) {
	t.Parallel()
	lines := gridLines(80, []float64{50, 290, 350, 410}, "Subject Grade Effort Hours")
	y := 96.0
	for _, label := range [][]string{{"The ferry leaves the quay in", "Morning and at noon."}, {"The boats are clean."}, {"The crew is kind to all of", "Those on board of them."},
		{"The fare is fair at the end", "Of the week."}, {"The mole is dry."}} {
		for _, line := range label {
			lines = append(lines, at(50, y, 10, line))
			y += 12
		}
		foot := y - 12
		lines = append(lines, at(290, foot, 10, "4.10"), at(350, foot, 10, "6.20"), at(410, foot, 10, "8.30"))
		y = foot + 14.5
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || !hasCell(tables[0], "The ferry leaves the quay in Morning and at noon.") || !hasCell(tables[0], "The boats are clean.") {
		t.Errorf("got %v, want a table with whole labels: %q", tables, page.GetText())
	}
}
