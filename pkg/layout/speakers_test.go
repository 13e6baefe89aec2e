package layout

import (
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestSpeakersBeginParagraphs parts what is said in turn in full lines, and nothing where such words do not come again.
func TestSpeakersBeginParagraphs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		want  []int
	}{
		{[]string{"FRANK.", "MIRIAM.", "FRANK.", "MIRIAM."}, []int{2, 2, 2, 2}},
		{[]string{"FRANK.", "MIRIAM.", "BRUNO.", "IRENE."}, []int{8}},
	} {
		var lines []*inkstreamv1.Line
		for i, name := range tt.names {
			y := 72 + 24*float64(i)
			lines = append(lines, at(72, y, 10, name+" "+harbourLine), at(72, y+12, 10, "the storm has taken the whole of the quay away, you see."))
		}
		page := pageOf(lines)
		ArrangePage(page)
		if got := linesOfBlocks(page); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got blocks of %v lines, want %v", tt.names, got, tt.want)
		}
	}
}
