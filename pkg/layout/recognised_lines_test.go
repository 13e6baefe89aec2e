package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestFewLinesAcrossColumns puts a page in order of whose three columns the recogniser took two lines for one each, at
// their top and amid them: each piece stands in its column, and nothing else moves.
func TestFewLinesAcrossColumns(t *testing.T) {
	t.Parallel()
	const count = 14
	var columns [3][]*inkstreamv1.Line
	for i, name := range []string{"left", "middle", "right"} {
		var text []string
		for n := range count {
			text = append(text, fmt.Sprintf("%s goes on until it is %d", name, n))
		}
		columns[i] = down(40+180*float64(i), 60, 9, text...)
	}
	across := func(n int) []*inkstreamv1.Line {
		return []*inkstreamv1.Line{{Words: slices.Concat(columns[0][n].Words, columns[1][n].Words, columns[2][n].Words)}}
	}
	without := func(lines []*inkstreamv1.Line) []*inkstreamv1.Line {
		return slices.Concat(lines[1:6], lines[7:])
	}
	p := recognised(across(0), without(columns[0]), without(columns[1]), without(columns[2]), across(6))
	ArrangePage(p)
	var want []string
	for _, lines := range columns {
		for _, l := range lines {
			for _, w := range l.Words {
				want = append(want, w.GetText())
			}
		}
	}
	if got := strings.Fields(p.GetText()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLinesOfOneColumnStayWhole keeps a line whose words the arrangement puts to blocks that do not stand beside each
// other.
func TestLinesOfOneColumnStayWhole(t *testing.T) {
	t.Parallel()
	lines := down(40, 60, 9, "the first text goes on until", "it ends here. The second begins", "and goes on until it ends")
	of := map[*inkstreamv1.Word]int{}
	for i, l := range lines {
		for j, w := range l.Words {
			of[w] = 1
			if i > 1 || i == 1 && j > 2 {
				of[w] = 2
			}
		}
	}
	block := &inkstreamv1.Block{Lines: lines}
	if got := splitLinesAcross([]*inkstreamv1.Block{block}, of); len(got) != 1 || got[0] != block {
		t.Errorf("got %d blocks, want the one that was given: %v", len(got), got)
	}
}
