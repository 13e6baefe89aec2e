package tesseract

import (
	"slices"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// withoutColumns returns the image with all but the first columns of pixels of so many white, which letters do not
// survive whole.
func (g greyImage) withoutColumns(of, keep int) greyImage {
	out := greyImage{pix: slices.Clone(g.pix), width: g.width, height: g.height}
	for at := range out.pix {
		if at%out.width%of >= keep {
			out.pix[at] = 255
		}
	}
	return out
}

// TestFadedPrintIsNoOtherSide reads a page as it was where its own print became white with the other side's, and as
// it was cleaned where that reads better.
func TestFadedPrintIsNoOtherSide(t *testing.T) {
	t.Parallel()
	h := englishHandle(t)
	page, _ := printedPage(pdftest.ScanOptions{})
	page = page.cropped(box{0, 0, page.width, page.height / 3})
	for name, tt := range map[string]struct {
		cleaned, given greyImage
		keepsCleaned   bool
	}{
		"faded print": {page.withoutColumns(7, 4), page, false},
		"other side":  {page.withoutColumns(9, 6), page.withoutColumns(7, 4), true},
	} {
		r := reader{handle: h, img: tt.cleaned, ruled: &tt.given, below: 128, ruledBelow: 128,
			dpi: 150, toldDPI: 150}
		first, err := r.readImage(r.img, imageSteps{}, wholePage)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readUnwhitened(&r, first)
		if err != nil {
			t.Fatal(err)
		}
		if isCleaned := r.ruled != nil && slices.Equal(r.img.pix, tt.cleaned.pix); isCleaned != tt.keepsCleaned {
			t.Errorf("%s: the cleaned image was kept: %v, want %v", name, isCleaned, tt.keepsCleaned)
		}
		if first.proseConfidence() >= minConfidence || !tt.keepsCleaned && got.proseConfidence() < minConfidence {
			t.Errorf("%s: got a confidence of %.2f first and %.2f then", name, first.proseConfidence(), got.proseConfidence())
		}
	}
}
