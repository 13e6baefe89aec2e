package pdf

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
)

func TestDrawPage(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.BornDigital(2))
	size := d.Info().PageSizes[0]
	for _, tc := range []struct{ dpi, want float64 }{{72, 72}, {100, 100}, {1, 18}, {5000, 300}} {
		var b bytes.Buffer
		if err := d.DrawPage(t.Context(), 1, tc.dpi, &b); err != nil {
			t.Fatalf("%g dpi: %v", tc.dpi, err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatalf("%g dpi: %v", tc.dpi, err)
		}
		want := image.Pt(int(float64(size.Width)*tc.want/72+0.999), int(float64(size.Height)*tc.want/72+0.999))
		if got := img.Bounds().Size(); got.Sub(want).X < -1 || got.Sub(want).X > 1 || got.Sub(want).Y < -1 ||
			got.Sub(want).Y > 1 {
			t.Errorf("%g dpi: got %v, want %v", tc.dpi, got, want)
		}
		// There is ink on the page, and most of it is paper.
		dark, all := 0, 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, _, _, _ := img.At(x, y).RGBA()
				if all++; r < 0x8000 {
					dark++
				}
			}
		}
		if dark == 0 || dark > all/2 {
			t.Errorf("%g dpi: %d of %d pixels are dark", tc.dpi, dark, all)
		}
	}
	wantCode(t, d.DrawPage(t.Context(), 3, 72, &bytes.Buffer{}), fault.PageNotFound, 3)
	// The document can still be read.
	if p := readPage(t, d, 2).Page; len(pageWords(p)) == 0 {
		t.Error("no words after a page was drawn")
	}
}
