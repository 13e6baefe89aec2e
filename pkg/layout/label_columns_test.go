package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestColumnsWithLabels reads columns of text, each with labels left of its text, one after the other.
func TestColumnsWithLabels(t *testing.T) {
	t.Parallel()
	answers := [][]string{
		{"Some pressure should be", "final before the war?"},
		{"Hardly a hospital was", "repaired by those who", "came from the coast."},
		{"Another boundary goes", "through the old village?"},
		{"The model carried them", "to the valley where the", "century had begun."},
		{"Each contract was near", "the station at night?"},
		{"Any officer along the", "river delivered letters", "to the other church."},
	}
	for _, tt := range []struct {
		name   string
		labels [2]string // of questions and of answers
		indent float64   // of the text; of the labels, where it is less than 0
	}{
		{"letters", [2]string{"Q", "A"}, 20},
		{"dates", [2]string{"Mar. 16", "Oct. 3"}, 44},
		{"dates on the right", [2]string{"Mar. 16", "Oct. 30"}, -125},
	} {
		var lines []*inkstreamv1.Line
		for column := range 2 {
			x, y := 50+float64(column)*(150+max(tt.indent, 44)), 100-5*float64(column)
			for i, answer := range answers {
				lines = append(lines, at(x+max(0, -tt.indent), y, 10, tt.labels[i%2]))
				lines = append(lines, down(x+max(0, tt.indent), y, 10, answer...)...)
				y += 12*float64(len(answer)) + 6
			}
		}
		page := pageOf(lines)
		ArrangePage(page)
		if got := tablesOf(page); len(got) > 0 {
			t.Errorf("%s: got %d tables, want none", tt.name, len(got))
		}
		text := strings.Join(strings.Fields(page.GetText()), " ")
		for _, answer := range answers {
			if want := strings.Join(answer, " "); strings.Count(text, want) != 2 {
				t.Errorf("%s: %q is whole %d times, want twice, in %q", tt.name, want, strings.Count(text, want), text)
			}
		}
	}
}
