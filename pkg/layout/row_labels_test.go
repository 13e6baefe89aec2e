package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestWrappedRowLabels keeps labels that wrap in one table with the figures of their rows, and parts a column of text
// from the figures beside it.
func TestWrappedRowLabels(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 100.0
	for _, row := range []struct {
		label, text []string
		figure      string
	}{
		{[]string{"Border"}, []string{"Sum of visits"}, "Cost"},
		{[]string{"Old election", "in the north"}, []string{"Every street has seen the", "budget of the harbour."}, "35,204"},
		{[]string{"Considerable", "theory of tides"}, []string{"The network visited it."}, "775"},
		{[]string{"Magazine"}, []string{"Any vessel measures the", "distance of its workshop", "from the next island."}, "1,460"},
		{[]string{"Capital of", "the old island"}, []string{"The tradition of it all."}, "928"},
		{[]string{"Warehouse"}, []string{"Reports of the northern", "summer are few."}, "463"},
	} {
		lines = append(lines, at(400, y, 10, row.figure))
		lines = append(append(lines, down(50, y, 10, row.label...)...), down(200, y, 10, row.text...)...)
		y += 12 * float64(max(len(row.label), len(row.text)))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 3 {
		t.Errorf("got %d tables, want one of three columns: %v", len(tables), tables)
	}
	var segments []segment
	for _, line := range down(50, 100, 10, "Harbour of the old town", "built by the council", "Tides", "Islands", "Warehouse that burnt") {
		segments = append(segments, newSegment(line.GetWords(), 0))
	}
	text, figures := buildSide(segments, 10), []sideLine(nil)
	for i := range text {
		if i%2 == 0 {
			figures = append(figures, text[i])
		}
	}
	if got := joinWrappedLabels(text, figures, 10); len(got) != 3 || got[0].words != text[0].words+text[1].words {
		t.Errorf("got %d labels, want 3 of the lines", len(got))
	}
	if got := joinWrappedLabels(text, figures[1:], 10); len(got) != len(text) {
		t.Errorf("text above the first row: got %d labels, want the %d lines as they are", len(got), len(text))
	}
}
