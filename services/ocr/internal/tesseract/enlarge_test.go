package tesseract

import (
	"bytes"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// TestEnlargingKeepsStrokes enlarges a stroke of one pixel: its middle stays as dark as it was, the paper stays white,
// and everything stays where it was.
func TestEnlargingKeepsStrokes(t *testing.T) {
	t.Parallel()
	const width, height, at, scale = 21, 9, 10, 3
	img := greyImage{pix: bytes.Repeat([]byte{255}, width*height), width: width, height: height}
	img.fillBox(box{at, 0, at + 1, height}, 40)
	got, err := img.applySteps(imageSteps{scale: scale}, 100, 128)
	if err != nil {
		t.Fatal(err)
	}
	if got.width != scale*width || got.height != scale*height {
		t.Fatalf("got %d by %d, want %d by %d", got.width, got.height, scale*width, scale*height)
	}
	for y := range got.height {
		row := got.pix[y*got.width:][:got.width]
		if middle := row[scale*at+1]; middle != 40 {
			t.Errorf("row %d: the stroke's middle is %d, want 40", y, middle)
		}
		for x, grey := range row {
			if mirrored := row[got.width-1-x]; grey != mirrored {
				t.Fatalf("row %d: %d at %d, %d at the mirrored place", y, grey, x, mirrored)
			}
		}
		if row[0] != 255 || row[scale*at-5] < 250 {
			t.Errorf("row %d: the paper is %d and %d", y, row[0], row[scale*at-5])
		}
	}
}

// TestCoarseScan reads print at 50 dpi, as they come and with strokes that are pale
// between dark rules: thin strokes are paler than ink is where pixels are wider than they.
func TestCoarseScan(t *testing.T) {
	t.Parallel()
	const dpi = 50
	h := englishHandle(t)
	sheet, truth := pdftest.DrawScanPage(pdftest.ScanOptions{DPI: dpi}, 1)
	for name, ink := range map[string]int{"black": 0, "pale": 150} {
		img := greyOf(sheet)
		img = greyImage{pix: bytes.Clone(img.pix), width: img.width, height: img.height}
		for i, grey := range img.pix {
			img.pix[i] = byte(ink + int(grey)*(255-ink)/255)
		}
		if ink > 0 {
			img.fillBox(box{0, 0, img.width, 12}, 0)
			img.fillBox(box{0, img.height - 12, img.width, img.height}, 0)
		}
		got, err := readWith(h, img, dpi)
		if err != nil {
			t.Fatal(err)
		}
		if cer := score.CharErrorRate(truth, blocksText(got.blocks)); cer > 0.015 {
			t.Errorf("%s: got a character error rate of %.3f: %s", name, cer, blocksText(got.blocks))
		}
	}
}
