package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestHeadAtTheOtherEdge keeps the head of a table's column and a figure below it in one row, where they do not stand
// one above the other; in rows with few gutters, what stands lower on the right is another column.
func TestHeadAtTheOtherEdge(t *testing.T) {
	t.Parallel()
	part := func(lines ...*inkstreamv1.Line) (out []segment) {
		for _, l := range lines {
			out = append(out, newSegment(l.Words, 0))
		}
		return out
	}
	c := columnSplitter{gutterJudge{em: 10}}
	head := at(50, 72, 10, "Quantity")
	for _, tt := range []struct {
		name    string
		below   *inkstreamv1.Line
		gutters int
		want    bool
	}{
		{"a figure", at(100, 90, 10, "36"), 4, false},
		{"two columns", at(100, 90, 10, "36"), 1, true},
		{"text", at(100, 90, 10, "a line of text that goes on"), 4, true},
	} {
		if got := c.areSeparateColumns(part(head), part(tt.below), span{92, 98}, tt.gutters); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestCountParts counts the heads of a table's columns, and not the words of a line with wide blanks.
func TestCountParts(t *testing.T) {
	t.Parallel()
	wide := func(words ...string) pageBand {
		var slab pageBand
		for i, w := range words {
			slab.segments = append(slab.segments, newSegment(at(60*float64(i), 72, 10, w).Words, 0))
		}
		return slab
	}
	m := bandMerger{em: 10}
	for _, tt := range []struct {
		slab pageBand
		want int
	}{
		{wide("Item", "Size", "Price", "Total"), 4},
		{wide("orchard", "near", "the", "Coast"), 0},
		{wide("Item", "12", "Price"), 0},
	} {
		if got := m.countParts(tt.slab); got != tt.want {
			t.Errorf("%q: got %d, want %d", segmentsText(tt.slab.segments), got, tt.want)
		}
	}
}

// TestCentredHeading parts a heading in capitals, in the middle of a column, from the text below it in the same type.
func TestCentredHeading(t *testing.T) {
	t.Parallel()
	text := []string{"That teacher completed a harbour and it", "took the family along the river for one"}
	for heading, want := range map[string]int{"THE TIDE": 2, "the tide": 1} {
		page := pageOf(down(140, 72, 10, heading), down(72, 84, 10, text...))
		if ArrangePage(page); len(page.Blocks) != want {
			t.Errorf("%s: got %d blocks, want %d:\n%s", heading, len(page.Blocks), want, page.Text)
		}
	}
}
