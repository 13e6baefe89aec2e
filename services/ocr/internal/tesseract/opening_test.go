package tesseract

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestOpening compares openings with the union of all bricks that fit, which is what they are.
func TestOpening(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct{ width, height, brickWidth, brickHeight int }{
		{97, 41, 9, 1}, {97, 41, 1, 13}, {70, 66, 5, 3}, {64, 32, 1, 1}, {33, 20, 40, 1}, {33, 20, 2, 21}, {200, 9, 75, 1},
	} {
		img := greyImage{pix: make([]byte, tt.width*tt.height), width: tt.width, height: tt.height}
		for i := range img.pix {
			img.pix[i] = byte(random.IntN(12)/11 ^ 1) // holes here and there
		}
		got, err := img.openWith(tt.brickWidth, tt.brickHeight)
		if err != nil {
			t.Fatal(err)
		}
		if want := img.unionOfBricks(tt.brickWidth, tt.brickHeight); !bytes.Equal(got.pix, want.pix) {
			t.Errorf("%d by %d opened by %d by %d: not the union of the bricks that fit", tt.width, tt.height, tt.brickWidth,
				tt.brickHeight)
		}
	}
}

// unionOfBricks returns the pixels of all bricks of ink in the image.
func (g greyImage) unionOfBricks(width, height int) greyImage {
	out := greyImage{pix: make([]byte, len(g.pix)), width: g.width, height: g.height}
	for y := 0; y+height <= g.height; y++ {
		for x := 0; x+width <= g.width; x++ {
			fits := true
			for i := range width * height {
				fits = fits && g.pix[(y+i/width)*g.width+x+i%width] == 1
			}
			for i := range width * height {
				if fits {
					out.pix[(y+i/width)*g.width+x+i%width] = 1
				}
			}
		}
	}
	return out
}
