package host

import (
	"testing"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
)

// TestFontsOfOnePitchStayWithoutNames gives no name where the widths fit fonts of two styles.
func TestFontsOfOnePitchStayWithoutNames(t *testing.T) {
	t.Parallel()
	drawn := []structure.DrawnFont{{Name: "AAAAAA+Mincho-Bold", Weight: 700, Widths: []float64{1000, 1000, 1000}},
		{Name: "BAAAAA+Mincho-Regular", Weight: 400, Widths: []float64{1000, 1000, 1000}}, {Name: "CAAAAA+Mincho-Bold", Weight: 700, Widths: []float64{500}},
		{Name: "DAAAAA+Mincho-Bold", Weight: 700, Widths: []float64{500, 600}}}
	text := pdfium.Text{Fonts: []pdfium.Font{{Unnamed: 1}, {Unnamed: 2}},
		UnnamedFonts: []pdfium.UnnamedFont{{Widths: []float64{1000, 1000}}, {Widths: []float64{500}}}}
	nameFonts(&text, drawn)
	if text.Fonts[0].Name != "" || text.Fonts[1].Name != "CAAAAA+Mincho-Bold" {
		t.Errorf("got %q and %q, want none and one of two with the same style", text.Fonts[0].Name, text.Fonts[1].Name)
	}
}

// TestFontsWithoutNamesAreTold finds out by widths which of a page's fonts is which, also where an oblique one has the
// widths of the upright one, and fewer of them.
func TestFontsWithoutNamesAreTold(t *testing.T) {
	t.Parallel()
	drawn := []structure.DrawnFont{
		{Name: "Sample-Bold", Weight: 700, Widths: []float64{560, 610, 305, 700}},
		{Name: "Sample-Oblique", Weight: 400, Italic: true, Widths: []float64{500, 550}},
		{Name: "Sample-Regular", Weight: 400, Widths: []float64{500, 550, 277, 612}},
	}
	text := pdfium.Text{
		Fonts: []pdfium.Font{{Unnamed: 1}, {Name: "Known", Weight: 300}, {Unnamed: 2}, {Unnamed: 3}, {Unnamed: 1, Color: 0xff0000},
			{Unnamed: 4}},
		UnnamedFonts: []pdfium.UnnamedFont{{Widths: []float64{305.2, 560}}, {Widths: []float64{550, 500}}, {Widths: []float64{500, 277, 612}},
			{Widths: []float64{123}}},
	}
	nameFonts(&text, drawn)
	for i, want := range []string{"Sample-Bold", "Known", "Sample-Oblique", "Sample-Regular", "Sample-Bold", ""} {
		if got := text.Fonts[i].Name; got != want {
			t.Errorf("font %d: got %q, want %q", i, got, want)
		}
	}
	if f := text.Fonts[2]; !f.Italic || text.Fonts[4].Weight != 700 || text.Fonts[4].Color != 0xff0000 {
		t.Errorf("got %+v and %+v, want an italic font and a bold red one", f, text.Fonts[4])
	}
}
