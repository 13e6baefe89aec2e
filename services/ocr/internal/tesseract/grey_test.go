package tesseract

import (
	"bytes"
	"testing"
)

// oddSizedImage is an image of 70 x 131 pixels, larger than the squares that turned works in and no multiple of them,
// each pixel told from its neighbours.
func oddSizedImage() greyImage {
	g := greyImage{width: 70, height: 131, pix: make([]byte, 70*131)}
	for i := range g.pix {
		g.pix[i] = byte(i * 31 >> 2)
	}
	return g
}

func TestImageIsRotated(t *testing.T) {
	t.Parallel()
	g := greyImage{width: 2, height: 3, pix: []byte("abcdef")} // ab cd ef
	for _, tt := range []struct {
		degrees, width int
		want           string
	}{
		{0, 2, "abcdef"}, {90, 3, "ecafdb"}, {180, 2, "fedcba"}, {270, 3, "bdface"},
	} {
		if got := g.rotated(tt.degrees); string(got.pix) != tt.want || got.width != tt.width || got.width*got.height != 6 {
			t.Errorf("turned by %d: got %dx%d %s, want width %d %s", tt.degrees, got.width, got.height, got.pix, tt.width,
				tt.want)
		}
	}
	once := oddSizedImage().rotated(90)
	if got := once.rotated(90); !bytes.Equal(got.pix, oddSizedImage().rotated(180).pix) {
		t.Error("twice by 90 degrees: got another image than once by 180")
	}
	if got := once.rotated(270); !bytes.Equal(got.pix, oddSizedImage().pix) {
		t.Error("by 90 degrees and back: got another image")
	}
}

func TestBoxBackFindsTheSamePixels(t *testing.T) {
	t.Parallel()
	g := oddSizedImage()
	for _, degrees := range []int{0, 90, 180, 270} {
		turned := g.rotated(degrees)
		b := box{3, 10, 20, 41}
		if turned.height < 41 || turned.width < 20 {
			t.Fatalf("the box does not fit %dx%d", turned.width, turned.height)
		}
		back := b.rotatedBack(degrees, g.width, g.height)
		got := g.cropped(back).rotated(degrees)
		want := turned.cropped(b)
		if !bytes.Equal(got.pix, want.pix) {
			t.Errorf("%d degrees: got other pixels at %v than at %v of the turned image", degrees, back, b)
		}
	}
}
