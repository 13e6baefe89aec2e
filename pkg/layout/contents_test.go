package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestContentsInColumns reads a table of contents in two columns, whose leaders are drawn or left out, column by
// column. Where the numbers do not go on in the second column, the rows are those of a table.
func TestContentsInColumns(t *testing.T) {
	t.Parallel()
	entries := func(from int, pages ...int) (titles, numbers []string) {
		for i, page := range pages {
			titles = append(titles, fmt.Sprintf("%d.%d Of harbours", from, i+1))
			numbers = append(numbers, fmt.Sprint(page))
		}
		return titles, numbers
	}
	for _, tt := range []struct {
		name        string
		left, right []int
		columns     bool
	}{
		{"pages go on", []int{3, 8, 12, 20, 31, 40}, []int{41, 50, 53, 60, 72, 80}, true},
		{"pages begin again", []int{13, 18, 22, 30, 41, 50}, []int{4, 5, 9, 10, 12, 20}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			titles, pages := entries(1, tt.left...)
			others, rest := entries(2, tt.right...)
			c := columnSplitter{gutterJudge{em: 10}}
			side := func(x float64, titles, pages []string) [][]segment {
				var out [][]segment
				for _, part := range [][]*inkstreamv1.Line{down(x, 72, 10, titles...), down(x+150, 72, 10, pages...)} {
					var segments []segment
					for _, l := range part {
						segments = append(segments, newSegment(l.GetWords(), 0))
					}
					out = append(out, segments)
				}
				return out
			}
			left, right := side(72, titles, pages), side(320, others, rest)
			if got := c.areContentsColumns(left, right); got != tt.columns {
				t.Errorf("got columns %v, want %v", got, tt.columns)
			}
			page := pageOf(interleaved(down(72, 72, 10, titles...), down(222, 72, 10, pages...)),
				interleaved(down(320, 72, 10, others...), down(470, 72, 10, rest...)))
			ArrangePage(page)
			text := strings.Join(strings.Fields(page.GetText()), " ")
			if tt.columns && strings.Index(text, "2.1") < strings.Index(text, "1.6") {
				t.Errorf("got %q, want the second column after the first", text)
			}
		})
	}
}
