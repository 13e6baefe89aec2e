package tesseract

import "testing"

// TestLettersThatTouchAreHigher tells the height of small letters of pieces of words, which are as high as their largest letters.
func TestLettersThatTouchAreHigher(t *testing.T) {
	t.Parallel()
	var letters, pieces []box
	for i := range 40 {
		y := 30 * i
		for j := range 8 {
			letters = append(letters, box{20 * j, y, 20*j + 9, y + 10})
			pieces = append(pieces, box{60 * j, y, 60*j + 10 + 10*(j%4), y + 14})
		}
	}
	if got := letterHeight(letters); got != 10 {
		t.Errorf("letters: got %v, want 10", got)
	}
	if got := letterHeight(pieces); got < 9 || got > 11 {
		t.Errorf("pieces of words, 14 high: got %v, want about 10", got)
	}
}
