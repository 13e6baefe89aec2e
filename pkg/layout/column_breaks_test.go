package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// twoColumns sets lines in two columns, one below the other from a height on.
func twoColumns(y float64, left, right []string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, text := range [][]string{left, right} {
		for k, line := range text {
			out = append(out, at(50+200*float64(i), y+12*float64(k), 10, line))
		}
	}
	return out
}

// TestColumnsThatEndAtAGap reads on from the foot of a column to the head of the next where a sentence goes on there, above
// a gap that all columns have; where none does, a column goes on below the gap.
func TestColumnsThatEndAtAGap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		foot, head, want string
	}{
		{"autumn, when all the farmers use", "it for their carts. The mayor is", "when all the farmers use\n\nit for their carts"},
		{"autumn, when it rains every day.", "It is for their carts. The mayor", "when it rains every day.\n\nMore of the valley"},
	} {
		text := columnText(8)
		text[3], text[4] = tt.foot, tt.head
		lines := twoColumns(80, text[:4], text[4:])
		lines = append(lines, twoColumns(150, []string{"More of the valley", "and of the bridge that was closed"},
			[]string{"Letters to us", "and to the council that met there"})...)
		for _, line := range []*inkstreamv1.Line{lines[8], lines[10]} { // the headings
			for _, w := range line.GetWords() {
				w.Size = 12
			}
		}
		page := pageOf(lines)
		ArrangePage(page)
		if got := page.GetText(); !strings.Contains(got, tt.want) {
			t.Errorf("%q is not in\n%s", tt.want, got)
		}
	}
}
