package tesseract

import (
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

func greyOf(img *image.Gray) greyImage {
	return greyImage{pix: img.Pix, width: img.Rect.Dx(), height: img.Rect.Dy()}
}

func TestLineDirection(t *testing.T) {
	t.Parallel()
	dirty := pdftest.DirtyScanOptions()
	for name, o := range map[string]pdftest.ScanOptions{
		"clean": {}, "dirty": dirty, "small type": {Size: 7}, "large type": {Size: 24}, "coarse": {DPI: 100},
		"fine": {DPI: 400},
		"fax":  {DPI: 200, Bitonal: true, Specks: 0.001}, "askew": {Skew: 4}, "shaded": {Shade: 0.5, Noise: 20},
	} {
		if o.DPI == 0 {
			o.DPI = 300
		}
		for _, turn := range []int{0, 90, 180, 270} {
			t.Run(fmt.Sprintf("%s turned by %d", name, turn), func(t *testing.T) {
				t.Parallel()
				o := o
				o.Turn = turn
				img, _ := pdftest.DrawScanPage(o, 1)
				d := measureDirections(greyOf(img), float32(o.DPI), inkThreshold(greyOf(img)))
				if sideways := turn%180 == 90; d.isSideways() != sideways || d.isUpright() == sideways {
					t.Errorf("got sideways %v, upright %v (%+v), want sideways %v", d.isSideways(), d.isUpright(), d, sideways)
				}
			})
		}
	}
}

func TestLineDirectionOfWhatIsNoText(t *testing.T) {
	t.Parallel()
	noise := greyImage{width: 1000, height: 1400, pix: make([]byte, 1000*1400)}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise.pix {
		noise.pix[i] = byte(rnd.Uint32())
	}
	for name, img := range map[string]greyImage{
		"one pixel": {width: 1, height: 1, pix: make([]byte, 1)}, "a line": {width: 3000, height: 1, pix: make([]byte, 3000)},
		"black": {width: 900, height: 900, pix: make([]byte, 900*900)}, "noise": noise,
	} {
		if d := measureDirections(img, 300, inkThreshold(img)); d.isSideways() || d.isUpright() {
			t.Errorf("%s: got %+v, want no opinion", name, d)
		}
		for _, b := range densestSquares(img, 750, 300, inkThreshold(img), 2) {
			if b[0] < 0 || b[1] < 0 || b[2] > img.width || b[3] > img.height || b[0] >= b[2] || b[1] >= b[3] {
				t.Errorf("%s: got the square %v of %dx%d", name, b, img.width, img.height)
			}
		}
	}
}

func TestDensestSquares(t *testing.T) {
	t.Parallel()
	img := greyImage{width: 2000, height: 3000, pix: make([]byte, 2000*3000)}
	for i := range img.pix {
		img.pix[i] = 255
	}
	for _, stripes := range []box{{1500, 2500, 1800, 2700}, {100, 200, 300, 300}} { // of a letter's width, more of them at the lower right
		for y := stripes[1]; y < stripes[3]; y++ {
			for x := stripes[0]; x < stripes[2]; x += 16 {
				copy(img.pix[y*img.width+x:], make([]byte, 8))
			}
		}
	}
	got := densestSquares(img, 700, 300, inkThreshold(img), 5)
	if len(got) != 2 {
		t.Fatalf("got the squares %v, want two: there is no ink elsewhere", got)
	}
	for i, want := range []box{{1500, 2500, 1800, 2700}, {100, 200, 300, 300}} {
		if b := got[i]; b[0] > want[0] || b[1] > want[1] || b[2] < want[2] || b[3] < want[3] || b[2]-b[0] != 700 ||
			b[3]-b[1] != 700 {
			t.Errorf("square %d: got %v, want a square of 700 around %v", i, b, want)
		}
	}
}

func TestHasDarkAreas(t *testing.T) {
	t.Parallel()
	plain, _ := pdftest.DrawScanPage(pdftest.ScanOptions{DPI: 200, Size: 14}, 1)
	negative := greyOf(plain).rotated(180) // a copy
	for i := range negative.pix {
		negative.pix[i] = 255 - negative.pix[i]
	}
	band := greyOf(plain).rotated(180)
	for i := band.width * 300; i < band.width*340; i++ { // a heading in a coloured bar
		band.pix[i] = 60
	}
	for name, tt := range map[string]struct {
		img  greyImage
		want bool
	}{"text": {greyOf(plain), false}, "negative": {negative, true}, "band": {band, true},
		"one pixel": {greyImage{[]byte{0}, 1, 1}, false}} {
		if got := hasDarkAreas(tt.img, 200, inkThreshold(tt.img)); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
