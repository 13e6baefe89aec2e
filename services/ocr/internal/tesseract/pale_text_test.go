package tesseract

import (
	"bytes"
	"testing"
)

// boxedLetters returns an image of paper with rows of boxes of the size of letters.
func boxedLetters(paper, ink byte) greyImage {
	img := greyImage{pix: bytes.Repeat([]byte{paper}, 900*900), width: 900, height: 900}
	for y := 150; y < 700; y += 50 {
		for x := 150; x < 700; x += 30 {
			img.fillBox(box{x, y, x + 15, y + 20}, ink)
		}
	}
	return img
}

// TestPaleText finds pale letters on a page with a black edge, and nothing in what only shows through the sheet.
func TestPaleText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		ink        byte
		hasLetters bool
	}{{"pale letters", 190, true}, {"letters that show through", 235, false}} {
		img := boxedLetters(250, tt.ink)
		img.fillBox(box{0, 0, 900, 8}, 0)
		img.fillBox(box{892, 0, 900, 900}, 0)
		r, err := newReader(img, 200, options{})
		if err != nil {
			t.Fatal(err)
		}
		findAreas(r)
		if got := letterHeight(r.areas); (got == 20) != tt.hasLetters {
			t.Errorf("%s: the letters are %v high, want 20 is %v", tt.name, got, tt.hasLetters)
		}
	}
}

// TestGreyPaperOnBlackGround finds the letters of grey paper that lies on black ground.
func TestGreyPaperOnBlackGround(t *testing.T) {
	t.Parallel()
	img := boxedLetters(180, 90)
	for _, b := range []box{{0, 0, 900, 100}, {0, 0, 100, 900}, {0, 800, 900, 900}, {750, 0, 900, 900}} {
		img.fillBox(b, 30)
	}
	r, err := newReader(img, 200, options{})
	if err != nil {
		t.Fatal(err)
	}
	findAreas(r)
	if got := letterHeight(r.areas); got != 20 {
		t.Errorf("the letters are %v high, want 20", got)
	}
}
