package raster

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdf/internal/grey"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdftest"
)

// forEachSource opens a file and calls f for each page of it.
func forEachSource(t *testing.T, file pdftest.File, f func(n int, s Source)) {
	t.Helper()
	rt, err := pdfium.NewRuntime(pdfium.Config{MemoryLimit: 768 << 20})
	if err != nil {
		t.Fatal(err)
	}
	in, err := rt.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := in.OpenDocument(bytes.NewReader(file.PDF), int64(len(file.PDF)), file.Password)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	for i := range doc.PageCount() {
		p, ok := doc.LoadPage(i)
		if !ok {
			t.Fatalf("page %d does not load", i+1)
		}
		f(i+1, Source{Page: p, Objects: p.ReadObjects(pdfium.ObjectLimits{Objects: 1000, Images: 10, Rulings: 10, Depth: 4})})
		p.Close()
	}
}

// TestScanIsWhatIsDrawn compares the decoder's pixels, turned and shrunk, with the page as PDFium draws it.
func TestScanIsWhatIsDrawn(t *testing.T) {
	t.Parallel()
	for _, file := range []pdftest.File{
		pdftest.RotatedScannedFile(pdftest.ScanOptions{Pages: 1, DPI: 150}),
		pdftest.SidewaysScannedFile(pdftest.ScanOptions{Pages: 1, Size: 16, DPI: 150}),
		pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1, Bitonal: true, DPI: 200}),
		pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1, Noise: 6, Paper: 230, Ink: 40, DPI: 150}),
	} {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			out := make([]byte, 30e6)
			forEachSource(t, file, func(n int, s Source) {
				r, ok := copyScanPixels(s, out)
				if !ok {
					t.Errorf("page %d is no scan", n)
					return
				}
				got := grey.Image{Pix: out, Width: r.Width, Height: r.Height, Stride: r.Width}
				if want := s.Page.Width * r.DPI / 72; math.Abs(want-float64(r.Width)) > 1.5 {
					t.Errorf("page %d: %d pixels wide, want %.1f at %.0f dpi", n, r.Width, want, r.DPI)
				}
				b, ok := s.Page.RenderGrey(r.Width, r.Height)
				if !ok {
					t.Fatal("no memory")
				}
				defer b.Close()
				drawn := grey.Image{Pix: b.Pixels(), Width: b.Width, Height: b.Height, Stride: b.Stride}
				if d := meanDifference(got, drawn); d > 4 {
					t.Errorf("page %d: differs from what is drawn by %.1f on average, want at most 4", n, d)
				}
			})
		})
	}
}

// meanDifference is the mean difference of two images after both are shrunk to a quarter, so that how each is
// resampled does not count.
func meanDifference(a, b grey.Image) float64 {
	small := func(m grey.Image) grey.Image {
		out := grey.New(m.Width/4, m.Height/4)
		grey.ShrinkInto(out, m)
		return out
	}
	x, y := small(a), small(b)
	sum := 0.0
	for i := range x.Pix {
		sum += math.Abs(float64(x.Pix[i]) - float64(y.Pix[i]))
	}
	return sum / float64(len(x.Pix))
}

func TestRasterKeepsWithinItsBounds(t *testing.T) {
	t.Parallel()
	file := pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 1, Width: 5000, Height: 300})
	for _, size := range []int{1_000_000, 100_000, 5000} {
		out := make([]byte, size)
		forEachSource(t, file, func(_ int, s Source) {
			s.Painted = true
			r, err := DrawPage(s, out)
			if err != nil {
				t.Fatal(err)
			}
			if r.Width*r.Height > size || r.Width*r.Height < size/3 || len(r.Notes) != 1 {
				t.Errorf("room for %d pixels: got %d x %d, notes %v", size, r.Width, r.Height, r.Notes)
			}
		})
	}
}

// TestCoarseImageIsNoScan draws a page with an image of 100 pixels, 5 an inch, at a resolution that can be recognised.
func TestCoarseImageIsNoScan(t *testing.T) {
	t.Parallel()
	pixels := strings.Repeat("\x80\xff", 50)
	pdf := "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n" +
		"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n" +
		"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 144 144] /Contents 4 0 R " +
		"/Resources << /XObject << /I 5 0 R >> >> >> endobj\n" +
		"4 0 obj << /Length 25 >> stream\n144 0 0 144 0 0 cm /I Do \nendstream endobj\n" +
		"5 0 obj << /Type /XObject /Subtype /Image /Width 10 /Height 10 /BitsPerComponent 8 /ColorSpace /DeviceGray " +
		"/Length 100 >> stream\n" + pixels + "\nendstream endobj\ntrailer << /Root 1 0 R >>\n"
	forEachSource(t, pdftest.File{Name: "coarse", PDF: []byte(pdf)}, func(_ int, s Source) {
		if len(s.Objects.Images) != 1 {
			t.Fatalf("got %d images, want 1", len(s.Objects.Images))
		}
		if r, err := DrawPage(s, make([]byte, 1e6)); err != nil || r.DPI < 10 {
			t.Errorf("got %.0f dpi and %v, want 10 at least", r.DPI, err)
		}
	})
}

func TestShrinkFactor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		text grey.TextSize
		dpi  float64
		want float64
	}{
		{"ten-point print at 300 dpi", grey.TextSize{XHeight: 21, Contrast: 200}, 300, 16.0 / 21},
		{"small print", grey.TextSize{XHeight: 15, Contrast: 200}, 300, 1},
		{"hardly larger than wanted", grey.TextSize{XHeight: 18, Contrast: 200}, 300, 1},
		{"large print", grey.TextSize{XHeight: 60, Contrast: 200}, 300, 0.6},
		{"no telling", grey.TextSize{Contrast: 200}, 300, 1},
		{"no telling at 600 dpi", grey.TextSize{Contrast: 200}, 600, 0.5},
		{"a poor scan", grey.TextSize{XHeight: 30, Contrast: 100}, 300, 1},
		{"never larger", grey.TextSize{XHeight: 30, Contrast: 200}, 100, 1},
	} {
		if got := shrinkFactor(tt.text, tt.dpi); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: got %.3f, want %.3f", tt.name, got, tt.want)
		}
	}
}
