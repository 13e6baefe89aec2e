package tesseract

import "testing"

func TestThinLettersAreDarkened(t *testing.T) {
	t.Parallel()
	// strokes draws upright strokes of grey 90, so many pixels wide, between edges of grey 190.
	strokes := func(width int) greyImage {
		img := blankPage(400, 400)
		for x := 20; x < 380; x += 20 {
			img.fillBox(box{x - 1, 20, x + width + 1, 380}, 190)
			img.fillBox(box{x, 20, x + width, 380}, 90)
		}
		return img
	}
	for name, tt := range map[string]struct {
		img  greyImage
		want bool
	}{"thin": {strokes(1), true}, "thick": {strokes(4), false}, "nothing": {blankPage(400, 400), false},
		"one pixel": {blankPage(1, 1), false}} {
		if got := tt.img.hasThinStrokes(128, tt.img.medianGrey()); got != tt.want {
			t.Errorf("%s: got thin %v, want %v", name, got, tt.want)
		}
	}
	got := strokes(1).darkenStrokes(255)
	for what, v := range map[string]struct {
		at       int
		from, to byte
	}{"paper": {0, 255, 255}, "edge": {100*400 + 19, 120, 185}, "stroke": {100*400 + 20, 0, 40}} {
		if g := got.pix[v.at]; g < v.from || g > v.to {
			t.Errorf("%s became %d, want %d to %d", what, g, v.from, v.to)
		}
	}
}
