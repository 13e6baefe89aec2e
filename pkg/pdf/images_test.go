package pdf

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	_ "image/jpeg" // the formats that images are kept in
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// listedImages counts what pdfimages lists of some pages: images by object, those in the content stream each.
func listedImages(t testing.TB, path, password string, last int) int {
	t.Helper()
	out, _ := runTool(t, "pdfimages", "-list", "-l", strconv.Itoa(last), "-upw", password, path)
	objects := map[string]bool{}
	inline := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 12 || f[2] != "image" {
			continue
		}
		if f[10] == "[inline]" {
			inline++
			continue
		}
		objects[f[10]+" "+f[11]] = true
	}
	return len(objects) + inline
}

// keptImages is what was kept of a page's images, by digest.
type keptImages struct {
	embedded, drawings map[[32]byte][]byte
	jpegs              int
}

func (k *keptImages) addPage(t testing.TB, r *PageResult) {
	t.Helper()
	for _, m := range r.Images {
		b, err := io.ReadAll(m.NewReader())
		if err != nil || int64(len(b)) != m.Size {
			t.Errorf("%d bytes of an image, want %d, error %v", len(b), m.Size, err)
		}
		about := r.Page.GetImages()[m.Index]
		if m.Ext == "png" {
			c, format, err := image.DecodeConfig(bytes.NewReader(b))
			if want := [2]int{int(about.GetWidth()), int(about.GetHeight())}; err != nil || format != "png" ||
				[2]int{c.Width, c.Height} != want {
				t.Errorf("got %s of %dx%d, want png of %v, error %v", format, c.Width, c.Height, want, err)
			}
		}
		switch about.GetKind() {
		case "embedded":
			k.embedded[sha256.Sum256(b)] = b
			if m.Ext == "jpg" {
				k.jpegs++
			}
		case "drawing":
			k.drawings[sha256.Sum256(b)] = b
		default:
			t.Errorf("an image of kind %q", about.GetKind())
		}
	}
}

func imagesOf(t testing.TB, e *Engine, path, password string, most int) (*keptImages, int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := e.OpenDocument(t.Context(), f, password)
	if err != nil {
		return nil, 0
	}
	defer d.Close()
	k := &keptImages{embedded: map[[32]byte][]byte{}, drawings: map[[32]byte][]byte{}}
	pages := min(d.Info().PageCount, most)
	for n := 1; n <= pages; n++ {
		if r, err := d.ReadPage(t.Context(), n, PageOptions{Images: true, NoRaster: true}); err == nil {
			k.addPage(t, r)
		}
	}
	return k, pages
}

func TestImagesAreCountedAsByPoppler(t *testing.T) {
	if testing.Short() {
		t.Skip("the corpus takes a while")
	}
	t.Parallel()
	requireTools(t, "pdfimages")
	e := sharedEngine(t)
	for _, f := range pdftest.OpenCorpus(t).SelectFiles(func(f pdftest.CorpusFile) bool {
		return strings.HasPrefix(f.Path, "pdf/pdf") || strings.HasPrefix(f.Path, "pdf/olmocr") ||
			f.Path == "pdf/tika-testFlashInPDF.pdf" || f.TopFolder() == "pdfa"
	}) {
		k, pages := imagesOf(t, e, f.Abs, f.Password(), 2)
		if k == nil {
			continue
		}
		if want := listedImages(t, f.Abs, f.Password(), pages); len(k.embedded) != want {
			t.Errorf("%s: got %d images, want %d", f.Path, len(k.embedded), want)
		}
		if k.jpegs > 0 {
			checkJPEGs(t, f, k, pages)
		}
	}
}

// checkJPEGs looks for the bytes of every JPEG that pdfimages takes out.
func checkJPEGs(t *testing.T, f pdftest.CorpusFile, k *keptImages, pages int) {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "i")
	runTool(t, "pdfimages", "-j", "-l", strconv.Itoa(pages), "-upw", f.Password(), f.Abs, prefix)
	files, _ := filepath.Glob(prefix + "*.jpg")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := k.embedded[sha256.Sum256(b)]; !ok {
			t.Errorf("%s: %s, %d bytes, is not among the images", f.Path, filepath.Base(name), len(b))
		}
	}
}

func TestImagesOnlyWhereWanted(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.PageWithImage())
	if r := readPage(t, d, 1); len(r.Images) != 0 || len(r.Page.GetImages()) == 0 {
		t.Errorf("got %d files of %d images, want none of some", len(r.Images), len(r.Page.GetImages()))
	}
	r, err := d.ReadPage(t.Context(), 1, PageOptions{Images: true})
	if err != nil {
		t.Fatal(err)
	}
	k := &keptImages{embedded: map[[32]byte][]byte{}, drawings: map[[32]byte][]byte{}}
	k.addPage(t, r)
	if len(k.embedded) == 0 {
		t.Error("got no image")
	}
}

// TestImageAndRasterShareMemory reads a scan whose image and raster are both wanted.
func TestImageAndRasterShareMemory(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1}))
	plain := readPage(t, d, 1)
	var want, got bytes.Buffer
	if _, err := plain.Raster.WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	r, err := d.ReadPage(t.Context(), 1, PageOptions{Images: true})
	if err != nil {
		t.Fatal(err)
	}
	k := &keptImages{embedded: map[[32]byte][]byte{}, drawings: map[[32]byte][]byte{}}
	k.addPage(t, r)
	if _, err := r.Raster.WriteTo(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) || len(k.embedded) != 1 {
		t.Errorf("%d images, the raster is the same: %t; want 1, true", len(k.embedded),
			bytes.Equal(got.Bytes(), want.Bytes()))
	}
}

func TestOCRModes(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	scan := pdftest.ScanOptions{Pages: 1}
	for _, tt := range []struct {
		name            string
		file            pdftest.File
		mode            OCRMode
		triage          Triage
		raster          bool
		words           bool
		outcome, reason string
	}{
		{name: "auto has a layer held against the ink", file: pdftest.ScanWithTextLayer(true), mode: Auto,
			triage: Layered, raster: true, words: true},
		{name: "redo does not", file: pdftest.ScanWithTextLayer(true), mode: Redo, triage: Scanned,
			raster: true},
		{name: "redo leaves painted text", file: pdftest.BornDigital(1), mode: Redo, triage: Native,
			words: true, outcome: "native_text"},
		{name: "force takes no text", file: pdftest.BornDigital(1), mode: Force, triage: Scanned, raster: true},
		{name: "force leaves blank pages", file: pdftest.BlankPages(1), mode: Force, triage: Blank,
			outcome: "blank"},
		{name: "skip leaves scans", file: pdftest.ScannedFile(scan), mode: Skip, triage: Scanned,
			outcome: "skipped", reason: "ocr_skipped"},
		{name: "skip keeps a layer", file: pdftest.ScanWithTextLayer(true), mode: Skip, triage: LayeredMixed,
			words: true, outcome: "native_text"},
		{name: "skip keeps what text there is", file: pdftest.GarbledText(pdftest.PrivateUse), mode: Skip,
			triage: Garbled, words: true, outcome: "native_text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := e.OpenDocument(t.Context(), tt.file.OpenFile(t), "")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			r, err := d.ReadPage(t.Context(), 1, PageOptions{OCR: tt.mode})
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(r.Triage, r.Raster != nil, len(wordsOf(r.Page)) > 0, r.Page.GetOutcome(), r.Page.GetReason())
			if want := fmt.Sprint(tt.triage, tt.raster, tt.words, tt.outcome, tt.reason); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestAttachmentsAreListedAndRead(t *testing.T) {
	t.Parallel()
	d := openDocument(t, sharedEngine(t), pdftest.WithHazards(pdftest.EmbeddedFile))
	m := d.Info().Metadata
	if m == nil || len(m.Attachments) != 1 || m.Attachments[0].Size <= 0 || m.Attachments[0].Name == "" {
		t.Fatalf("got %+v, want one attachment", m)
	}
	var b bytes.Buffer
	if err := d.WriteAttachment(t.Context(), 1, &b); err != nil || int64(b.Len()) != m.Attachments[0].Size {
		t.Errorf("got %d bytes, want %d, error %v", b.Len(), m.Attachments[0].Size, err)
	}
	for _, n := range []int{0, 2, -1} {
		if err := d.WriteAttachment(t.Context(), n, &b); err == nil {
			t.Errorf("attachment %d: got no error", n)
		}
	}
}

// openCorpusFile opens a document of the corpus until the test ends.
func openCorpusFile(t *testing.T, path string) *Document {
	t.Helper()
	f := pdftest.OpenCorpus(t).FileAt(path)
	file, err := os.Open(f.Abs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // read only
	d, err := sharedEngine(t).OpenDocument(t.Context(), file, f.Password())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestMetadataOfTheCorpus(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]func(*Metadata) bool{
		"encrypted/paperless-signed.pdf": func(m *Metadata) bool {
			return len(m.Signatures) == 1 && m.Signatures[0].SubFilter == "ETSI.CAdES.detached" && m.Signatures[0].WholeFile &&
				m.Permissions != nil && !m.Permissions.Modify
		},
		"encrypted/pymupdf-test-2333.pdf": func(m *Metadata) bool {
			return len(m.Claims) == 1 &&
				m.Claims[0] == "PDF/UA-1" && m.XMP != ""
		},
		"hostile/own-xmp-entity-laughs-a.pdf": func(m *Metadata) bool { return len(m.XMP) < 1000 && len(m.Fields) == 0 },
		"pdf/pdfjs-labelled_pages.pdf":        func(m *Metadata) bool { return len(m.PageLabels) > 0 },
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if m := openCorpusFile(t, path).Info().Metadata; !want(m) {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// Pages can share their annotations, and what a page has of them is written for each.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n")
	b.WriteString("3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Annots[")
	for i := range 500 {
		fmt.Fprintf(&b, "<</Type/Annot/Subtype/Link/Rect[%d 10 %d 20]/A<</S/URI/URI(http://a/%d%s)>>>>", i, i+1, i,
			strings.Repeat("x", 1000))
	}
	b.WriteString("]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
	path := filepath.Join(t.TempDir(), "links.pdf")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := sharedEngine(t).OpenDocument(t.Context(), file, "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n := len(readPage(t, d, 1).Page.GetLinks()); n < 100 || n > 140 {
		t.Errorf("got %d links with addresses of 1,000 bytes, want as many as 128 KiB hold", n)
	}
}

func TestLinksAndTags(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]func(*inkstreamv1.Page) bool{
		"broken/opf-219789.pdf": func(p *inkstreamv1.Page) bool {
			linked := false
			for _, w := range wordsOf(p) {
				linked = linked || w.GetLink() > 0
			}
			return len(p.GetLinks()) > 0 && linked
		},
		"encrypted/pymupdf-test-2333.pdf": func(p *inkstreamv1.Page) bool {
			return len(p.GetTags()) > 20 && p.GetTags()[0].GetRole() == "Document" && p.GetTags()[0].GetDepth() == 1
		},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if p := readPage(t, openCorpusFile(t, path), 1).Page; !want(p) {
				t.Errorf("got links %v, tags %v", p.GetLinks(), p.GetTags())
			}
		})
	}
}
