package layout

import (
	"fmt"
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

// TestFormsRepeatCounters takes the numbers before the boxes of a form, which are those that its lines begin with, for
// no column of their own, and the figures of a table beside text for one.
func TestFormsRepeatCounters(t *testing.T) {
	t.Parallel()
	labels := []string{
		"The window would be natural?", "Sutton protected its pressure, and a general building could quickly be considered in our election.",
		"Night, people and doctor", "The quiet letters would seldom be quick in any of the discoveries.",
		"That general property carries our frontier behind our building.", "This night after our independent signal",
		"That structure under its movement follows the government, because a distant century was quick.",
		"Our workshop, that tradition when the government never examined its quiet teacher?",
	}
	for name, tt := range map[string]struct {
		first int // of the numbers on the right
		apart bool
	}{"the same numbers": {23, false}, "others": {57, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var left, right, amounts []segment
			for i, label := range labels {
				y := 517.5 + 14.5*float64(i)
				left = append(left, newSegment(at(36, y, 8.5, fmt.Sprint(23+i)+" "+label).GetWords(), 0))
				right = append(right, newSegment(at(499, y, 8.5, fmt.Sprint(tt.first+i)).GetWords(), 0))
				amounts = append(amounts, newSegment(at(542, y, 8.5, fmt.Sprint(775.47+float64(i))).GetWords(), 0))
			}
			c := columnSplitter{gutterJudge{em: 8.5}}
			parts, gaps := [][]segment{left, right, amounts}, []span{{}, {460, 499}, {510, 542}}
			if got := c.partsColumns(parts, gaps, 0, 1); got != tt.apart {
				t.Errorf("columns of text: %t, want %t", got, tt.apart)
			}
		})
	}
}
