package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func pageOf(err error) int {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Page
	}
	return 0
}

func TestNativeTextIsReadWhole(t *testing.T) {
	t.Parallel()
	for _, f := range []pdftest.File{
		pdftest.BornDigital(6), pdftest.RotatedPages(), pdftest.SidewaysText(), pdftest.CropOffsetPages(),
		pdftest.OwnerOnlyFile(pdftest.AES),
		pdftest.EncryptedFile(pdftest.RC4), pdftest.WithoutXref(pdftest.BornDigital(2)),
		pdftest.WithJunkBefore(pdftest.BornDigital(2)),
	} {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			d := openDocument(t, sharedEngine(t), f)
			if got, want := d.Info().PageCount, len(f.Pages); got != want {
				t.Fatalf("page count: got %d, want %d", got, want)
			}
			for i, want := range f.Pages {
				r := readPage(t, d, i+1)
				if r.Triage != Native || r.Raster != nil || r.Page.GetOutcome() != "native_text" {
					t.Errorf("page %d: got %v, outcome %q, raster %t, want native text alone", i+1, r.Triage, r.Page.GetOutcome(),
						r.Raster != nil)
				}
				if f1 := score.WordF1(want.Text, textOf(r.Page)); f1 < 0.97 {
					t.Errorf("page %d: word F1 %.3f, want at least 0.97; got %q, want %q", i+1, f1, textOf(r.Page), want.Text)
				}
				checkBoxes(t, r.Page, 0)
			}
		})
	}
}

// checkBoxes looks whether every word lies on the page, within its line, and has a font and a size, but for so many
// that are not seen, which have neither.
func checkBoxes(t *testing.T, p *inkstreamv1.Page, unseen int) {
	t.Helper()
	const slack = 6
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				x := w.GetBbox()
				if len(x) != 4 || x[0] < -slack || x[1] < -slack || x[2] > p.GetWidth()+slack || x[3] > p.GetHeight()+slack ||
					x[0] > x[2] || x[1] > x[3] {
					t.Errorf("page %d: box %v of a word is not on the page of %v x %v", p.GetNumber(), x, p.GetWidth(), p.GetHeight())
					return
				}
				in := l.GetBbox()
				if x[0] < in[0] || x[1] < in[1] || x[2] > in[2] || x[3] > in[3] {
					t.Errorf("page %d: box %v of a word is not within its line's %v", p.GetNumber(), x, in)
					return
				}
				if w.GetFont() == 0 && w.GetSize() == 0 && unseen > 0 {
					unseen--
					continue
				}
				if w.GetFont() < 1 || int(w.GetFont()) > len(p.GetFonts()) || w.GetSize() <= 0 {
					t.Errorf("page %d: a word has font %d of %d, size %v", p.GetNumber(), w.GetFont(), len(p.GetFonts()), w.GetSize())
					return
				}
			}
		}
	}
	if unseen > 0 {
		t.Errorf("page %d: %d words more than expected have a font", p.GetNumber(), unseen)
	}
}

func TestTurnedPagesReadAsDisplayed(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.RotatedPages())
	for n := 1; n <= 4; n++ {
		p := readPage(t, d, n).Page
		if got, want := p.GetRotation(), int32((n-1)*90); got != want {
			t.Errorf("page %d: rotation: got %d, want %d", n, got, want)
		}
		for _, b := range p.GetBlocks() {
			for _, l := range b.GetLines() {
				if l.GetAngle() != 0 {
					t.Fatalf("page %d: angle of a line: got %d, want 0", n, l.GetAngle())
				}
			}
		}
		first := pageWords(p)[0].GetBbox()
		if first[1] > p.GetHeight()/3 {
			t.Errorf("page %d: the first word is at %v of %v x %v, want it on top", n, first, p.GetWidth(), p.GetHeight())
		}
	}
}

func TestSidewaysTextSaysItsAngle(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.SidewaysText())
	seen := map[int32]bool{}
	for n := 1; n <= d.Info().PageCount; n++ {
		for _, b := range readPage(t, d, n).Page.GetBlocks() {
			for _, l := range b.GetLines() {
				seen[l.GetAngle()] = true
			}
		}
	}
	for _, want := range []int32{90, 180, 270} {
		if !seen[want] {
			t.Errorf("no line has an angle of %d; got %v", want, seen)
		}
	}
}

func TestTriage(t *testing.T) {
	t.Parallel()
	scan := pdftest.ScanOptions{Pages: 1}
	for _, tt := range []struct {
		file pdftest.File
		want []Triage
	}{
		{pdftest.ScannedFile(scan), []Triage{Scanned}},
		{pdftest.MixedFile(), []Triage{Native, Scanned, Native, Blank, Mixed, Scanned}},
		{pdftest.ScannedBlank(), []Triage{Blank}},
		{pdftest.BlankPages(2), []Triage{Blank, Blank}},
		{pdftest.ScanWithTextLayer(true), []Triage{Layered}},
		{pdftest.ScanWithTextLayer(false), []Triage{Garbled}},
		{pdftest.ScanOverText(), []Triage{Layered}},
		{pdftest.PageWithImage(), []Triage{Mixed}},
		{pdftest.GarbledText(pdftest.PrivateUse), []Triage{Garbled, Garbled}},
		{pdftest.GarbledText(pdftest.Control), []Triage{Garbled, Garbled}},
		{pdftest.GarbledText(pdftest.Unmapped), []Triage{Garbled, Garbled}},
	} {
		t.Run(tt.file.Name, func(t *testing.T) {
			t.Parallel()
			d := openDocument(t, sharedEngine(t), tt.file)
			for i, want := range tt.want {
				r := readPage(t, d, i+1)
				if r.Triage != want {
					t.Errorf("page %d: got %v, want %v", i+1, r.Triage, want)
				}
				if (r.Raster != nil) != want.WantsOCR() {
					t.Errorf("page %d: raster: got %t, want %t", i+1, r.Raster != nil, want.WantsOCR())
				}
				if want == Layered {
					checkBoxes(t, r.Page, len(pageWords(r.Page)))
				}
				if native := len(pageWords(r.Page)) > 0; native != (want == Native || want == Mixed || want.HasLayer()) {
					t.Errorf("page %d, %v: has native words: got %t", i+1, want, native)
				}
			}
		})
	}
}

// TestRasterIsUpright compares the rasters of the same scan under every rotation, coarsely, with the page that needed
// none.
func TestRasterIsUpright(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.RotatedScannedFile(pdftest.ScanOptions{Pages: 1}))
	for n := 1; n <= 4; n++ {
		r := readPage(t, d, n)
		if r.Raster == nil {
			t.Fatalf("page %d: no raster, triage %v", n, r.Triage)
		}
		img := decodePGM(t, r.Raster)
		if top, left := inkShare(img, image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy()/2)),
			inkShare(img, image.Rect(0, 0, img.Rect.Dx()/2, img.Rect.Dy())); top < 0.4 || left < 0.4 {
			t.Errorf("page %d: %.2f of the ink is in the top half, %.2f in the left half: not upright", n, top, left)
		}
		if got := float32(img.Rect.Dx()) / r.Raster.DPI * 72; math.Abs(float64(got-r.Page.GetWidth())) > 1.5 {
			t.Errorf("page %d: the raster is %.1f points wide, the page %.1f", n, got, r.Page.GetWidth())
		}
	}
}

func decodePGM(t *testing.T, r *Raster) *image.Gray {
	t.Helper()
	var buf bytes.Buffer
	n, err := r.WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("write raster: got %d bytes of %d, error %v", n, buf.Len(), err)
	}
	var width, height, most int
	head := buf.Len()
	if _, err := fmt.Fscanf(&buf, "P5\n%d %d\n%d\n", &width, &height, &most); err != nil {
		t.Fatalf("read PGM header: %v", err)
	}
	if width != r.Width || height != r.Height || most != 255 || buf.Len() != width*height {
		t.Fatalf("PGM of %d bytes: got %d x %d of %d and %d pixels, want %d x %d", head, width, height, most, buf.Len(),
			r.Width, r.Height)
	}
	return &image.Gray{Pix: buf.Bytes(), Stride: width, Rect: image.Rect(0, 0, width, height)}
}

// inkShare returns the share of the image's dark pixels that lie in a part of it.
func inkShare(img *image.Gray, part image.Rectangle) float64 {
	all, in := 0, 0
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			if img.Pix[y*img.Stride+x] < 128 {
				all++
				if image.Pt(x, y).In(part) {
					in++
				}
			}
		}
	}
	return float64(in) / float64(max(1, all))
}

func TestOptionsOverrideTriage(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.MixedFile())
	r, err := d.ReadPage(t.Context(), 1, PageOptions{AlwaysRaster: true})
	if err != nil || r.Raster == nil || r.Triage != Native || len(pageWords(r.Page)) == 0 {
		t.Errorf("native page with AlwaysRaster: got %+v, error %v, want words and a raster", r, err)
	}
	r, err = d.ReadPage(t.Context(), 2, PageOptions{NoRaster: true})
	if err != nil || r.Raster != nil || r.Triage != Scanned {
		t.Errorf("scanned page with NoRaster: got %+v, error %v, want no raster", r, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	type refusal struct {
		file pdftest.File
		want fault.Code
	}
	locked := pdftest.EncryptedFile(pdftest.AES)
	locked.Password = ""
	tests := []refusal{
		{locked, fault.Encrypted},
		{pdftest.WithoutPages(), fault.NoPages},
		{pdftest.File{Name: "empty.pdf"}, fault.EmptyFile},
		{pdftest.TruncateFile(pdftest.BornDigital(1), 0.3), fault.Damaged},
	}
	for _, f := range pdftest.NotPDFFiles() {
		if len(f.PDF) > 0 {
			tests = append(tests, refusal{f, fault.NotAPDF})
		}
	}
	for _, tt := range tests {
		t.Run(tt.file.Name, func(t *testing.T) {
			t.Parallel()
			d, err := sharedEngine(t).OpenDocument(t.Context(), tt.file.OpenFile(t), tt.file.Password)
			if err == nil {
				d.Close()
			}
			wantCode(t, err, tt.want, 0)
		})
	}
}

// TestDamageIsAnswered asks for no more than an answer: pages where a reader can find them, else a code.
func TestDamageIsAnswered(t *testing.T) {
	t.Parallel()
	for _, f := range append(pdftest.DamagedFiles(), pdftest.AbsurdPageBoxes()...) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			d, err := sharedEngine(t).OpenDocument(t.Context(), f.OpenFile(t), f.Password)
			if err != nil {
				if fault.KindOf(err) != fault.Permanent {
					t.Errorf("open: got %v, want a permanent fault", err)
				}
				return
			}
			defer d.Close()
			for n := 1; n <= min(d.Info().PageCount, 10); n++ {
				if _, err := d.ReadPage(t.Context(), n, PageOptions{}); err != nil && fault.KindOf(err) != fault.Permanent {
					t.Errorf("page %d: got %v, want a permanent fault", n, err)
				}
			}
		})
	}
}

func TestPageOutOfRange(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.BornDigital(2))
	for _, n := range []int{-1, 0, 3} {
		_, err := d.ReadPage(t.Context(), n, PageOptions{})
		wantCode(t, err, fault.PageNotFound, n)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	kinds := map[pdftest.Hazard]string{
		pdftest.JavaScript: "javascript", pdftest.NamedScript: "javascript", pdftest.PageScript: "additional_actions",
		pdftest.Launch: "launch_action",
		pdftest.URI:    "uri_action", pdftest.SubmitForm: "submit_form_action", pdftest.RemoteGoTo: "remote_goto_action",
		pdftest.OpenAction:   "open_action",
		pdftest.EmbeddedFile: "embedded_file", pdftest.XFA: "xfa", pdftest.Signature: "signature",
	}
	for _, hazard := range pdftest.AllHazards() {
		t.Run(string(hazard), func(t *testing.T) {
			t.Parallel()
			d := openDocument(t, sharedEngine(t), pdftest.WithHazards(hazard))
			if got := findingsOf(t, d); got[kinds[hazard]].Count < 1 {
				t.Errorf("got %v, want %s", got, kinds[hazard])
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if got := findingsOf(t, openDocument(t, sharedEngine(t), pdftest.BornDigital(3))); len(got) > 0 {
			t.Errorf("got %v, want none", got)
		}
	})
}

func findingsOf(t *testing.T, d *Document) map[string]Finding {
	t.Helper()
	found, err := d.CollectFindings(t.Context())
	if err != nil {
		t.Fatalf("findings: %v", err)
	}
	out := map[string]Finding{}
	for _, f := range found {
		out[f.Kind] = f
	}
	return out
}

// TestStallingPageFailsAlone runs a page past its deadline, or out of memory, and goes on with the next on the same
// Document.
func TestStallingPageFailsAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stall pdftest.Stall
		want  []fault.Code
	}{
		{pdftest.StallLoad, []fault.Code{fault.PageTimeout}},
		{pdftest.StallMemory, []fault.Code{fault.PageTimeout, fault.EngineMemory}}, // whichever comes first
	} {
		t.Run(string(tt.stall), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Workers, cfg.PageTimeout = 1, 3*time.Second
			e, err := New(cfg, discardLogger())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil || e.Stats().Live != 0 {
					t.Errorf("close: error %v, %d children left", err, e.Stats().Live)
				}
			}()
			d, err := e.OpenDocument(t.Context(), pdftest.HangingFile(tt.stall).OpenFile(t), "")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			readPage(t, d, 1)
			_, err = d.ReadPage(t.Context(), 2, PageOptions{})
			if got := fault.CodeOf(err); !slices.Contains(tt.want, got) || fault.KindOf(err) != fault.EngineCrash ||
				pageOf(err) != 2 {
				t.Fatalf("page 2: got %v of kind %v for page %d, want one of %v", err, fault.KindOf(err), pageOf(err), tt.want)
			}
			if len(pageWords(readPage(t, d, 3).Page)) == 0 {
				t.Error("page 3: no words after the child was replaced")
			}
			if got := e.Stats().Started; got != 2 {
				t.Errorf("children started: got %d, want 2", got)
			}
		})
	}
}

func TestCancelledCallSaysSo(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.BornDigital(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.ReadPage(ctx, 1, PageOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: got %v, want context.Canceled in it", err)
	}
	readPage(t, d, 1)
}

func TestDocumentInfo(t *testing.T) {
	t.Parallel()
	info := openDocument(t, sharedEngine(t), pdftest.OwnerOnlyFile(pdftest.RC4)).Info()
	if !info.Document.GetEncrypted() || !strings.HasPrefix(info.Document.GetPdfVersion(), "1.") {
		t.Errorf("got %v, want an encrypted PDF 1.x", info.Document)
	}
	if len(info.PageSizes) != info.PageCount || info.PageSizes[0].Width < 100 {
		t.Errorf("page sizes: got %v for %d pages", info.PageSizes, info.PageCount)
	}
}

func TestConfigNamesEveryProblem(t *testing.T) {
	t.Parallel()
	err := Config{}.Validate()
	for _, want := range []string{"pdf.memory-limit", "pdf.open-timeout", "pdf.page-timeout", "pdf.max-raster-pixels"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s named", err, want)
		}
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("default configuration: %v", err)
	}
}

func TestClosedFileIsAnError(t *testing.T) {
	t.Parallel()
	f := pdftest.BornDigital(1).OpenFile(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := sharedEngine(t).OpenDocument(t.Context(), f, ""); err == nil {
		d.Close()
		t.Error("a closed file was opened")
	} else if !errors.Is(err, os.ErrClosed) && fault.CodeOf(err) == "" {
		t.Errorf("got %v", err)
	}
}
