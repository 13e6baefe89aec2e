package pdf

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"regexp"
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"

	"inkstream.dev/pkg/pdftest"
)

var (
	pageObject = regexp.MustCompile(`(?s)(\d+) 0 obj\s*<< /Type /Page /Parent (.*?)endobj`)
	rootEntry  = regexp.MustCompile(`/Root \d+ 0 R`)
	lastXref   = regexp.MustCompile(`startxref\s+(\d+)`)
)

// inUnits adds to a document that its first page is measured in units of two points.
func inUnits(f pdftest.File) pdftest.File {
	page, root, xref := pageObject.FindSubmatch(f.PDF), rootEntry.Find(f.PDF), lastXref.FindSubmatch(f.PDF)
	f.Name = "user-unit-" + f.Name
	at := len(f.PDF)
	f.PDF = fmt.Appendf(slices.Clip(f.PDF), "%s 0 obj << /Type /Page /UserUnit 2 /Parent %sendobj\n", page[1], page[2])
	f.PDF = fmt.Appendf(f.PDF,
		"xref\n%s 1\n%010d 00000 n \ntrailer << /Size 1000 %s /Prev %s >>\nstartxref\n%d\n%%%%EOF\n", page[1], at, root,
		xref[1], len(f.PDF))
	return f
}

// boxesOf returns everything on a page that has a place.
func boxesOf(p *inkstreamv1.Page) (out [][]float32) {
	for _, w := range pageWords(p) {
		out = append(out, w.GetBbox(), []float32{w.GetSize()})
	}
	for _, m := range p.GetImages() {
		out = append(out, m.GetBbox())
	}
	for _, r := range p.GetRulings() {
		out = append(out, r.GetBbox())
	}
	return append(out, []float32{p.GetWidth(), p.GetHeight()})
}

func TestUserUnit(t *testing.T) {
	t.Parallel()
	const unit = 2
	for _, f := range []pdftest.File{pdftest.BornDigital(1), pdftest.PageWithImage(),
		pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1, DPI: 200})} {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			a, _, asItIs := drawAndRead(t, f, 72)
			b, info, inUnits := drawAndRead(t, inUnits(f), 72/unit)
			want, got := boxesOf(a.Page), boxesOf(b.Page)
			if len(got) != len(want) || len(got) == 1 {
				t.Fatalf("got %d boxes, want %d", len(got), len(want))
			}
			for i := range want {
				for k, v := range want[i] {
					if math.Abs(float64(got[i][k]-unit*v)) > 0.01 {
						t.Fatalf("box %d: got %v, want %d times %v", i, got[i], unit, want[i])
					}
				}
			}
			if size := info.PageSizes[0]; size.Width != b.Page.GetWidth() || size.Height != b.Page.GetHeight() {
				t.Errorf("size: got %v, want %v x %v", size, b.Page.GetWidth(), b.Page.GetHeight())
			}
			if r := b.Raster; r != nil && (b.Triage == Scanned && r.DPI > 200/unit+1 ||
				math.Abs(float64(r.Width)*72/float64(r.DPI)-float64(b.Page.GetWidth())) > 2) {
				t.Errorf("raster: got %d pixels across at %v dpi for %v points", r.Width, r.DPI, b.Page.GetWidth())
			}
			if (a.Raster == nil) != (b.Raster == nil) {
				t.Errorf("raster: got %t, want %t", b.Raster != nil, a.Raster != nil)
			}
			if got, want := inUnits.Bounds(), asItIs.Bounds(); got != want {
				t.Fatalf("drawn: got %v, want %v", got, want)
			}
			for y := range asItIs.Bounds().Dy() {
				for x := range asItIs.Bounds().Dx() {
					if got, want := inUnits.At(x, y), asItIs.At(x, y); got != want {
						t.Fatalf("drawn: pixel %d,%d is %v, want %v", x, y, got, want)
					}
				}
			}
		})
	}
}

// drawAndRead reads and draws the first page of a document. It closes the document: a test that held two at once
// could wait without end for the engine's second child, which another one holds.
func drawAndRead(t *testing.T, f pdftest.File, dpi float64) (*PageResult, Info, image.Image) {
	t.Helper()
	d := openDocument(t, sharedEngine(t), f)
	defer d.Close()
	page := readPage(t, d, 1)
	var drawn bytes.Buffer
	if err := d.DrawPage(t.Context(), 1, dpi, &drawn); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&drawn)
	if err != nil {
		t.Fatal(err)
	}
	return page, d.Info(), picture
}
