package layout

import (
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestHeadingsSideBySide parts headings that stand far apart on one line, but no heading from its number, no
// authors from each other, and no line of text at its wide blank.
func TestHeadingsSideBySide(t *testing.T) {
	t.Parallel()
	beside := func(size float64, left, right string) []*inkstreamv1.Line {
		line := at(72, 72, size, left)
		line.Words = append(line.Words, at(320, 72, size, right).GetWords()...)
		return []*inkstreamv1.Line{line}
	}
	text := down(72, 110, 10, "the harbour master keeps the keys of all the gates and the light", "of the quay, with the boats and the nets of others in the ice.")
	for _, tt := range []struct {
		size        float64
		font        int32
		left, right string
		want        []int
	}{
		{18, 2, "Departures", "Ashford North", []int{1, 1, 2}},
		{18, 2, "12", "Ashford North", []int{1, 2}},
		{18, 1, "Vera Adler", "Leo Keating", []int{1, 2}},
		{10, 2, "Departures", "Ashford North", []int{1, 2}},
	} {
		page := pageOf(set(tt.font, beside(tt.size, tt.left, tt.right)...), set(1, text...))
		page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold"}}
		ArrangePage(page)
		if got := linesOfBlocks(page); !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: got blocks of %v lines, want %v", tt.left, tt.right, got, tt.want)
		}
	}
}

// TestTitleBesideSmallPrint parts a title from what stands far right of it in much smaller type.
func TestTitleBesideSmallPrint(t *testing.T) {
	t.Parallel()
	for size, want := range map[float64][]int{28: {1, 1, 2}, 11: {1, 2}} {
		head := at(72, 72, size, "Valley News")
		head.Words = append(head.Words, at(420, 72+size-10, 9, "Issue 44").GetWords()...)
		page := pageOf(append([]*inkstreamv1.Line{head}, down(72, 130, 10, "the harbour master keeps the keys of all the gates and the light",
			"of the quay, with the boats and the nets of others in the ice.")...))
		ArrangePage(page)
		if got := linesOfBlocks(page); !slices.Equal(got, want) {
			t.Errorf("a title of %v points: got blocks of %v lines, want %v", size, got, want)
		}
	}
}
