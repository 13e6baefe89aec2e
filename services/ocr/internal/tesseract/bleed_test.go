package tesseract

import (
	"slices"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// withOtherSide returns a page through which another shows, mirrored, with that share of its darkness.
func withOtherSide(page, other greyImage, share float64) greyImage {
	out := greyImage{pix: make([]byte, len(page.pix)), width: page.width, height: page.height}
	for at, v := range page.pix {
		x, y := at%page.width, at/page.width
		shows := share * float64(255-other.pix[y*page.width+page.width-1-x])
		out.pix[at] = byte(max(0, float64(v)-shows))
	}
	return out
}

func TestPrintOfTheOtherSideBecomesWhite(t *testing.T) {
	t.Parallel()
	page, _ := printedPage(pdftest.ScanOptions{})
	other, _ := printedPage(pdftest.ScanOptions{Seed: 9})
	tinted := blankPage(page.width, page.height)
	copy(tinted.pix, page.pix)
	for at, v := range tinted.pix[:len(tinted.pix)/3] {
		tinted.pix[at] = min(v, 200)
	}
	dirty, _ := printedPage(pdftest.DirtyScanOptions())
	illustrated := withOtherSide(page, other, 0.27) // a picture of black and grey on a quarter of the page
	illustrated.fillBox(box{0, 0, page.width, page.height / 8}, 0)
	illustrated.fillBox(box{0, page.height / 8, page.width, page.height / 4}, 190)
	faded := greyImage{pix: slices.Clone(page.pix), width: page.width, height: page.height} // words in the middle
	for at, v := range faded.pix {
		if x := at % faded.width; x > faded.width/3 && x < faded.width*2/3 {
			faded.pix[at] = 150 + v*2/5
		}
	}
	for name, tt := range map[string]struct {
		img  greyImage
		want bool
	}{
		"a quarter shows": {withOtherSide(page, other, 0.27), true}, "less shows": {withOtherSide(page, other, 0.17), true},
		"hardly any shows": {withOtherSide(page, other, 0.05), false}, "beside a picture": {illustrated, true},
		"letters faded in part": {faded, false},
		"clean":                 {page, false}, "tinted ground": {tinted, false}, "noise, dust and shade": {dirty, false},
		"nothing": {blankPage(400, 400), false}, "one pixel": {blankPage(1, 1), false},
	} {
		below := inkThreshold(tt.img)
		got, found := tt.img.whitenBleed(150, below, tt.img.medianGrey())
		if found != tt.want {
			t.Errorf("%s: got %v, want %v", name, found, tt.want)
		}
		if !found {
			continue
		}
		if name == "beside a picture" {
			continue // the picture changes too
		}
		before, after := 0, 0 // pixels of paper that the other side darkens
		for at, v := range page.pix {
			if v == 255 && tt.img.pix[at] < 230 {
				before++
				if got.pix[at] < 230 {
					after++
				}
			}
		}
		if 10*after > before {
			t.Errorf("%s: %d of %d pixels of paper are still dark, want at most a tenth", name, after, before)
		}
	}
}

// TestPaleRulesStandThoughBleedGoes finds a grey line across the text of a page through which the other side shows.
func TestPaleRulesStandThoughBleedGoes(t *testing.T) {
	t.Parallel()
	page, _ := printedPage(pdftest.ScanOptions{})
	other, _ := printedPage(pdftest.ScanOptions{Seed: 9})
	img := withOtherSide(page, other, 0.27)
	below := inkThreshold(img)
	rule := box{100, img.height - 100, img.width - 100, img.height - 97}
	img.fillBox(rule, below-10)
	r := reader{img: img, dpi: 150, below: below, areas: slices.Repeat([]box{{0, 0, 20, 20}}, 200)}
	r.sharpenTones()
	if slices.Equal(r.img.pix, img.pix) {
		t.Fatal("the print of the other side did not become white")
	}
	got, _ := r.findRulings(0, float64(rule[2]-rule[0]))
	if len(got) != 1 || got[0][2]-got[0][0] < rule[2]-rule[0]-8 {
		t.Errorf("got %v, want the line at %v", got, rule)
	}
}
