package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestOptionsOfQuestions makes no tables of options that stand side by side below a question, and leaves the rows of
// tables that begin so.
func TestOptionsOfQuestions(t *testing.T) {
	t.Parallel()
	row := func(y float64, cells ...string) []*inkstreamv1.Line {
		var line *inkstreamv1.Line
		for i, cell := range cells {
			if more := at(90+110*float64(i), y, 10, cell); line == nil {
				line = more
			} else {
				line.Words = append(line.Words, more.GetWords()...)
			}
		}
		return []*inkstreamv1.Line{line}
	}
	question := func(y float64) []*inkstreamv1.Line {
		return down(72, y, 10, "4. What did the captain find in the harbour?")
	}
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want int
	}{
		{"options", pageOf(row(72, "A) boats", "B) nets", "C) ice", "D) salt"), question(86),
			row(100, "A) gold", "B) tin", "C) coal", "D) sand"),
			question(114), row(128, "A) gold", "B) tin", "C) coal", "D) sand")), 0},
		{"options in two rows", pageOf(row(72, "A) boats", "B) nets"), row(86, "C) ice", "D) salt"), question(100),
			row(114, "A) gold", "B) tin"),
			row(128, "C) coal", "D) sand")), 0},
		{"the head of a table", pageOf(row(72, "(a) Boats", "(b) Nets", "(c) Ice"), row(86, "12", "14", "200"),
			row(100, "9", "31", "170"),
			row(114, "7", "22", "110"), row(128, "8", "19", "90")), 1},
	} {
		ArrangePage(tt.page)
		if got := len(tablesOf(tt.page)); got != tt.want {
			t.Errorf("%s: got %d tables, want %d: %q", tt.name, got, tt.want, tt.page.GetText())
		}
	}
}
