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

// TestSmallDotsAreNoDust keeps full stops that are one dark pixel amid grey ones, on a page with dust of one pixel.
func TestSmallDotsAreNoDust(t *testing.T) {
	t.Parallel()
	page, _ := printedPage(pdftest.ScanOptions{})
	img := withDust(page, 0.001)
	isFree := func(on greyImage, x, y, by int) bool {
		for dy := -by; dy <= by; dy++ {
			for dx := -by; dx <= by; dx++ {
				if on.pix[(y+dy)*on.width+x+dx] < 250 {
					return false
				}
			}
		}
		return true
	}
	var dots []int
	for y := 10; y < img.height-10; y += 5 {
		for x := 10; x < img.width-10; x += 5 {
			if !isFree(img, x, y, 2) || isFree(page, x, y, 4) {
				continue
			}
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					img.pix[(y+dy)*img.width+x+dx] = 190
				}
			}
			img.pix[y*img.width+x] = 0
			dots = append(dots, y*img.width+x)
			x += 600
		}
	}
	r, err := newReader(img, 150, options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.despeckle(); err != nil {
		t.Fatal(err)
	}
	areas := len(r.areas)
	r.removeDust()
	kept := 0
	for _, at := range dots {
		if r.img.pix[at] < 128 {
			kept++
		}
	}
	if len(dots) < 100 || 10*kept < 9*len(dots) || areas-len(r.areas) < len(dots) {
		t.Errorf("%d of %d dots kept, %d specks removed; want nine dots in ten, and the dust removed",
			kept, len(dots), areas-len(r.areas))
	}
}
