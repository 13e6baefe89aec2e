package layout

import (
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestJoinInterruptedParagraphs brings the parts of a paragraph together past what stands between them, and moves
// nothing else.
func TestJoinInterruptedParagraphs(t *testing.T) {
	t.Parallel()
	fonts := newStyles([]*inkstreamv1.Font{{Name: "Times"}, {Name: "Helvetica"}})
	type blocks []*inkstreamv1.Block
	block := func(kind string, x, y, size float64, font int32, lines ...string) *inkstreamv1.Block {
		set := set(font, down(x, y, size, lines...)...)
		for _, l := range set {
			l.Bbox = boundingBox(l.Words).toBox()
		}
		b := newBlock(set)
		b.Type = kind
		return b
	}
	begin := func() *inkstreamv1.Block {
		return block(Paragraph, 50, 600, 10, 1, "a column of text that goes on in", "the next one past the note that")
	}
	rest := func(x, y float64, first string) *inkstreamv1.Block {
		return block(Paragraph, x, y, 10, 1, first+" at its foot, where it", "ends with a stop.")
	}
	narrow := func() *inkstreamv1.Block {
		return block(Paragraph, 50, 600, 10, 1, "a column of text that", "goes around a box on", "the right side and so")
	}
	box, quote := block(Table, 300, 600, 8, 2, "Length 40 m"), block(Paragraph, 50, 700, 14, 2, "Nobody knew")
	note := block(Footnote, 50, 700, 8, 1, "1 A note.")
	for _, tt := range []struct {
		name string
		in   blocks
		want []int
	}{
		{"a note at the foot of a column", blocks{begin(), note, rest(300, 60, "stands")}, []int{0, 2, 1}},
		{"a box that text runs around", blocks{begin(), box, rest(50, 640, "stands")}, []int{0, 2, 1}},
		{"a pull quote in another font", blocks{begin(), quote, rest(300, 60, "stands")}, []int{0, 2, 1}},
		{"another sentence", blocks{begin(), note, rest(300, 60, "Stands")}, []int{0, 1, 2}},
		{"a finished paragraph", blocks{rest(50, 600, "ends"), note, rest(300, 60, "stands")}, []int{0, 1, 2}},
		{"text in the same type between", blocks{begin(), rest(50, 700, "Other"), rest(300, 60, "stands")}, []int{0, 1, 2}},
		{"a line between terms", blocks{block(Paragraph, 50, 600, 10, 1, "and writes the names of all"), block(Paragraph, 20, 614, 10, 2, "--escape"),
			block(Paragraph, 50, 628, 10, 1, "writes what no letter is as signs"), block(Paragraph, 50, 660, 10, 1, "A line that is as wide as the column is, or nearly")}, []int{0, 1, 2, 3}},
		{"text beside what it runs around", blocks{narrow(), block(Paragraph, 250, 600, 10, 1, "Summer", "Nobody saw it."), rest(50, 634, "stands so wide below")},
			[]int{0, 2, 1}},
		{"a name at the rest's beginning", blocks{narrow(), block(Paragraph, 250, 600, 10, 1, "Summer"), rest(50, 634, "Harwick is wide below")}, []int{0, 2, 1}},
		{"no wider below", blocks{narrow(), block(Paragraph, 250, 600, 10, 1, "Summer"), rest(50, 634, "Ha")}, []int{0, 1, 2}},
		{"text above in the same column", blocks{begin(), note, rest(50, 60, "stands")}, []int{0, 1, 2}},
	} {
		got := slices.Clone(tt.in)
		joinInterruptedParagraphs(got, fonts)
		var order []int
		for _, b := range got {
			order = append(order, slices.Index(tt.in, b))
		}
		if !slices.Equal(order, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, order, tt.want)
		}
	}
}
