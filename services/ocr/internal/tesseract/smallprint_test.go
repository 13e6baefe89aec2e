package tesseract

import (
	"bytes"
	"testing"
)

// TestLettersThatTouchAreHigher tells the height of small letters of pieces of words, which are as high as their
// largest letters.
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

// TestResolutionOfOrdinaryPrint reads a page at the resolution that its letters tell where the one that it claims makes
// them too large.
func TestResolutionOfOrdinaryPrint(t *testing.T) {
	t.Parallel()
	img := greyImage{pix: bytes.Repeat([]byte{255}, 900*600), width: 900, height: 600}
	for y := 20; y < 570; y += 50 {
		for x := 20; x < 870; x += 30 {
			img.fillBox(box{x, y, x + 15, y + 28}, 0)
		}
	}
	for claimed, want := range map[float32]float32{96: 300, 150: 300, 200: 200, 300: 300, 400: 400} {
		r, err := newReader(img, claimed, options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.dpi != want || r.toldDPI != float64(want) {
			t.Errorf("%v dpi are claimed: read at %v, want %v", claimed, r.dpi, want)
		}
	}
}

// TestCredibleDPI keeps the resolution that a page claims unless its print is far too large, and stays within what
// scanners do.
func TestCredibleDPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claimed float32
		height  float64 // of letters
		want    float32
	}{{300, 28, 300}, {96, 0, 96}, {96, 28, 300}, {96, 150, 600}, {1200, 300, 1200}} {
		if got := credibleDPI(tt.claimed, tt.height); got != tt.want {
			t.Errorf("%v dpi, letters of %v: got %v, want %v", tt.claimed, tt.height, got, tt.want)
		}
	}
}
