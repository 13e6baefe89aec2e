package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestChanceMarkers makes items of lines whose markers count, and of none that an initial, a title, a number in
// brackets or an asterisk by itself begins.
func TestChanceMarkers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		items int
	}{
		{"letters that count", []string{"B. The harbour", "C. The lighthouse"}, 2},
		{"the first letter alone", []string{"A. The harbour", "was closed"}, 1},
		{"Roman numbers", []string{"I. The harbour", "II. The lighthouse"}, 2},
		{"asterisks", []string{"* The harbour", "* The lighthouse"}, 2},
		{"titles of persons", []string{"M. Gagnon came late", "M. Dupont came later"}, 0},
		{"questions and answers", []string{"Q. The harbour", "A. The lighthouse", "Q. The mole"}, 3},
		{"the code of a number", []string{"(555) 123-4567", "at the harbour"}, 0},
		{"numbers in brackets", []string{"(101) The harbour", "(102) The lighthouse"}, 2},
		{"a note", []string{"* Without the winter months", "of the year before"}, 0},
	} {
		var lines []*inkstreamv1.Line
		for i, text := range tt.lines {
			lines = append(lines, at(72, 72+24*float64(i), 10, text))
		}
		page := pageOf(lines)
		ArrangePage(page)
		items := 0
		for _, b := range page.GetBlocks() {
			if b.GetType() == ListItem {
				items++
			}
		}
		if items != tt.items {
			t.Errorf("%s: got %d items, want %d:\n%s", tt.name, items, tt.items, page.GetText())
		}
	}
}
