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

// TestTextBelowContents parts the text below a table of contents into its paragraphs, by the room between its own
// lines.
func TestTextBelowContents(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	entries := []string{"1.1 The first journey", "1.2 The second journey", "2.1 What became of them", "2.2 A letter",
		"3.1 The end"}
	for i, entry := range entries {
		lines = append(lines, at(50, 100+float64(i)*22, 10, fmt.Sprintf("%s . . . . . . . . . %d", entry, 3+5*i)))
	}
	y := 240.0
	for _, paragraph := range [][]string{
		{"The harbour was built before the old road, which", "leads to the island and ends there in the sand."},
		{"Nobody lived on the island when they came, but for", "a keeper of the light and his children, who fished."},
		{"The light is out, and the boats lie on the shore."},
	} {
		for _, line := range paragraph {
			lines = append(lines, at(50, y, 10, line))
			y += 13
		}
		y += 5
	}
	p := pageOf(lines)
	ArrangePage(p)
	blocks := p.GetBlocks()
	if len(blocks) != 8 {
		t.Fatalf("got %d blocks, want 5 entries and 3 paragraphs: %q", len(blocks), p.GetText())
	}
	for i, want := range []int{2, 2, 1} {
		if got := len(blocks[5+i].GetLines()); got != want {
			t.Errorf("paragraph %d has %d lines, want %d", i+1, got, want)
		}
	}
}
