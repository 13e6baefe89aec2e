package tesseract

import (
	"math/rand/v2"
	"slices"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// withDust returns a page in which a share of the pixels is turned over, each by itself.
func withDust(page greyImage, share float64) greyImage {
	out := greyImage{pix: slices.Clone(page.pix), width: page.width, height: page.height}
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range out.pix {
		if chance.Float64() < share {
			out.pix[i] = 255 - out.pix[i]
		}
	}
	return out
}

func TestDustBecomesWhite(t *testing.T) {
	t.Parallel()
	full, _ := printedPage(pdftest.ScanOptions{})
	short := greyImage{pix: slices.Clone(full.pix), width: full.width, height: full.height} // a few lines
	short.fillBox(box{0, full.height / 5, full.width, full.height}, 255)
	for name, tt := range map[string]struct {
		page   greyImage
		share  float64
		change bool
	}{"dust": {full, 0.001, true}, "more dust than letters": {short, 0.001, true}, "sound": {full, 0, false}} {
		page := tt.page
		img := withDust(page, tt.share)
		r, err := newReader(img, 150, options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.despeckle(); err != nil {
			t.Fatal(err)
		}
		r.removeDust()
		specks, left, lost := 0, 0, 0 // lost: pixels of ink that became white
		for at, v := range page.pix {
			isInk := img.pix[at] < 128
			switch {
			case v > 250 && isInk:
				specks++
				if r.img.pix[at] < 128 {
					left++
				}
			case v < 128 && isInk && r.img.pix[at] >= 128:
				lost++
			}
		}
		if changed := !slices.Equal(r.img.pix, img.pix); changed != tt.change {
			t.Errorf("%s: changed %v, want %v", name, changed, tt.change)
		}
		if 10*left > specks || 1000*lost > specks { // specks that touch letters are part of them
			t.Errorf("%s: %d of %d specks are left, and %d pixels of ink lost; want a tenth at most, and a thousandth", name,
				left, specks, lost)
		}
	}
}
