package tesseract

import "testing"

// TestTallBoxesAreTrimmed makes a box that reaches beyond the letters of its word as high as those are, and leaves
// others.
func TestTallBoxesAreTrimmed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ above, below, want int }{
		"the letters' own": {0, 0, 0},
		"a little higher":  {3, 3, 3},
		"much higher":      {16, 14, 0},
	} {
		r, got := listPage("", func(greyImage, int) {})
		w := &got.blocks[3].lines[0].words[0]
		letters := w.box
		w.box[1], w.box[3] = letters[1]-tt.above, letters[3]+tt.below
		r.trimTallBoxes(got)
		if want := (box{letters[0], letters[1] - tt.want, letters[2], letters[3] + tt.want}); w.box != want {
			t.Errorf("%s: got %v, want %v", name, w.box, want)
		}
	}
}
