package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestRightToLeftParagraphs parts text that runs from right to left where its lines end at the left, and makes items of
// lines whose counter was read with its stop first.
func TestRightToLeftParagraphs(t *testing.T) {
	t.Parallel()
	word := func(x0, x1, y float32, text string) *inkstreamv1.Word {
		return &inkstreamv1.Word{Text: text, Bbox: []float32{x0, y, x1, y + 10}, Size: 10}
	}
	line := func(y float32, words ...*inkstreamv1.Word) *inkstreamv1.Line {
		return newLine(words, 0)
	}
	full := func(y float32) *inkstreamv1.Line {
		return line(y, word(350, 400, y, "قديم"), word(290, 345, y, "المدينة"), word(200, 285, y, "الطريقة"),
			word(100, 195, y, "التجربة"))
	}
	last := func(y float32) *inkstreamv1.Line {
		return line(y, word(350, 400, y, "قديم"), word(290, 345, y, "المدينة."))
	}
	item := func(y float32, counter string) *inkstreamv1.Line {
		return line(y, word(385, 400, y, counter), word(290, 375, y, "المدينة"), word(240, 285, y, "قديم."))
	}
	p := pageOf([]*inkstreamv1.Line{full(100), full(113), last(126), full(139), full(152), full(165), last(178),
		item(191, ".1"), item(204, ".2"), item(217, ".3")})
	ArrangePage(p)
	var got []int
	for _, b := range p.GetBlocks() {
		got = append(got, len(b.GetLines()))
	}
	if want := []int{3, 4, 1, 1, 1}; len(got) != len(want) {
		t.Fatalf("got blocks of %v lines, want %v: %q", got, want, p.GetText())
	}
	for i, b := range p.GetBlocks()[2:] {
		if want := []string{"1.", "2.", "3."}[i]; b.GetType() != ListItem || b.GetMarker() != want {
			t.Errorf("got a %s with the marker %q, want item %s", b.GetType(), b.GetMarker(), want)
		}
	}
}
