package tesseract

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/services/ocr/recognise"
)

// What is done to a bad page has to pay: no page of these kinds may be read worse than the tesseract command reads
// it, and all of them together must be read with half of its errors.
func TestBadPagesReadBetterThanByTheCommand(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("the tesseract command is not installed (Debian package tesseract-ocr; make test installs it)")
	}
	h := englishHandle(t)
	var ours, theirs float64
	for _, tt := range []struct {
		name   string
		o      pdftest.ScanOptions
		negate bool
	}{
		{"skewed", pdftest.ScanOptions{Skew: 3.5, Noise: 6}, false},
		{"shaded", pdftest.ScanOptions{Shade: 0.6, Paper: 230, Ink: 90, Noise: 4, Blur: true}, false},
		{"specks", pdftest.ScanOptions{Specks: 0.02, Size: 12}, false},
		{"light on dark", pdftest.ScanOptions{Noise: 4}, true},
		{"coarse", pdftest.ScanOptions{DPI: 90, Size: 10, Noise: 4}, false},
	} {
		dpi := tt.o.DPI
		if dpi == 0 {
			dpi = 150
		}
		o := tt.o
		o.DPI = dpi
		raster, truth := pdftest.DrawScanPage(o, 1)
		if tt.negate {
			for i, v := range raster.Pix {
				raster.Pix[i] = 255 - v
			}
		}
		got, err := readWith(h, greyOf(raster), float32(dpi))
		if err != nil {
			t.Fatal(err)
		}
		size := recognise.Size{Width: raster.Rect.Dx(), Height: raster.Rect.Dy()}
		page := recognise.Sanitize(got.toPage(greyOf(raster), float32(dpi)), size, float32(dpi))
		name := filepath.Join(t.TempDir(), "page.pgm")
		if err := os.WriteFile(name, pdftest.EncodePGM(raster), 0o600); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		cmd := exec.CommandContext(t.Context(), "tesseract", name, "-")
		cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
		cmd.Stdout = &text
		if err := cmd.Run(); err != nil {
			t.Fatalf("tesseract: %v", err)
		}
		a, b := score.CharErrorRate(truth, page.GetText()), score.CharErrorRate(truth, text.String())
		t.Logf("%-14s CER %.4f, command %.4f, skew %.2f, quality %.2f", tt.name, a, b, page.GetSkew(), page.GetQuality())
		const slack = 0.002 // some characters of 2,000
		if a > b+slack {
			t.Errorf("%s: CER %.4f, command %.4f", tt.name, a, b)
		}
		ours, theirs = ours+a, theirs+b
	}
	if ours > theirs/2 {
		t.Errorf("all: CER %.4f, command %.4f; want half", ours, theirs)
	}
}
