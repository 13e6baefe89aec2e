package host

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/triage"
	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// fixture is a host in this process.
type fixture struct {
	t       testing.TB
	host    *Host
	scratch *os.File
}

func newFixture(t testing.TB, memory int64) *fixture {
	t.Helper()
	return newFixtureWithFonts(t, memory, "/usr/share/fonts")
}

func newFixtureWithFonts(t testing.TB, memory int64, dirs ...string) *fixture {
	t.Helper()
	h, err := New(pdfium.Config{MemoryLimit: memory, FontDirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("scratch", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	scratch := os.NewFile(uintptr(fd), "scratch")
	if err := scratch.Truncate(20e6); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scratch.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, host: h, scratch: scratch}
}

func (r *fixture) sendRequest(req wire.Request, message proto.Message, files ...*os.File) wire.Reply {
	r.t.Helper()
	body, err := wire.EncodeRequest(req)
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := r.host.HandleRequest(context.Background(), Request{Body: body, Files: files, Scratch: r.scratch})
	if err != nil {
		r.t.Fatal(err)
	}
	reply, err := wire.DecodeReply(answer, message)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply
}

func TestFileIsReadAfterTheRequest(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 512<<20)
	f := pdftest.BornDigital(3).OpenFile(t)
	if got := r.sendRequest(wire.Request{Op: wire.Open}, nil, f); got.PageCount != 3 {
		t.Fatalf("page count: got %d, want 3", got.PageCount)
	}
	if err := f.Close(); err != nil { // as the sandbox does
		t.Fatal(err)
	}
	page := &inkstreamv1.Page{}
	if got := r.sendRequest(wire.Request{Op: wire.Page, Page: 3}, page); got.Code != "" || len(page.Blocks) == 0 {
		t.Errorf("page 3: got %+v with %d blocks", got, len(page.Blocks))
	}
}

func TestDocumentsFollowEachOther(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 512<<20)
	var first int64
	for i := range 20 {
		r.sendRequest(wire.Request{Op: wire.Open}, nil, pdftest.BornDigital(i%3+1).OpenFile(t))
		r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, nil)
		if i == 0 {
			first = r.host.instance.MemoryBytes()
		}
	}
	if got := r.host.instance.MemoryBytes(); got > 2*first {
		t.Errorf("memory after 20 documents: got %d bytes, after the first %d", got, first)
	}
	r.sendRequest(wire.Request{Op: wire.Close}, nil)
	if r.host.doc != nil || r.host.instance != nil || r.host.file != nil {
		t.Error("something is left after closing")
	}
}

func TestMemoryIsLimited(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 96<<20)
	r.sendRequest(wire.Request{Op: wire.Open}, nil, pdftest.ContentBomb(200, true).OpenFile(t))
	defer func() {
		trap, ok := recover().(*pdfium.Trap)
		if !ok || !trap.Memory {
			t.Errorf("got %v, want a trap for want of memory", trap)
		}
	}()
	reply := r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, nil)
	t.Errorf("got %+v, want a trap", reply)
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 256<<20)
	for _, body := range []string{"", "{}", `{"op":"page","page":1}`, `{"op":"open"}`, `{"op":"nothing"}`} {
		if _, err := r.host.HandleRequest(t.Context(), Request{Body: []byte(body), Scratch: r.scratch}); err == nil {
			t.Errorf("%q: got no error", body)
		}
	}
}

func TestDecryptedCopyIsScanned(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 256<<20)
	r.sendRequest(wire.Request{Op: wire.Open, Password: pdftest.UserPassword}, nil,
		pdftest.EncryptedFile(pdftest.AES).OpenFile(t))
	reply := r.sendRequest(wire.Request{Op: wire.Findings}, nil)
	for _, f := range reply.Findings {
		if f.Detail != "" {
			t.Errorf("got the note %q, want none", f.Detail)
		}
	}
	if r.host.used == 0 {
		t.Error("no decrypted copy was made")
	}
	if got := r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, nil); got.Code != "" {
		t.Errorf("page after findings: got %v", got.Code)
	}
}

func TestImageBombIsAFault(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 256<<20)
	r.sendRequest(wire.Request{Op: wire.Open}, nil, pdftest.ImageBomb(40_000).OpenFile(t))
	if got := r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, nil); got.Code != fault.EngineMemory {
		t.Errorf("got %+v, want %s", got, fault.EngineMemory)
	}
}

// BenchmarkPage reads the pages of manuals of the corpus and reports the CPU time of one: load, text, boxes, fonts,
// triage, and the answer's encoding.
func BenchmarkPage(b *testing.B) {
	for _, path := range []string{"pdf/debian-gnuplot.pdf", "pdf/debian-install_de.pdf", "pdf/opf-421197.pdf"} {
		benchmarkRequest(b, path, wire.Request{Op: wire.Page, NoRaster: true})
	}
}

// BenchmarkRaster reads scans, and draws a page that is none.
func BenchmarkRaster(b *testing.B) {
	for _, path := range []string{"ocr/unlv/unlv-5668_041.pdf", "ocr/scribe/scribe-deposition_02.pdf",
		"ocr/synthetic/synth-en-p055-clean.pdf", "pdf/debian-gnuplot.pdf"} {
		benchmarkRequest(b, path, wire.Request{Op: wire.Page, AlwaysRaster: true})
	}
}

func benchmarkRequest(b *testing.B, path string, req wire.Request) {
	b.Run(filepath.Base(path), func(b *testing.B) {
		r := newFixture(b, 768<<20)
		f, err := os.Open(pdftest.OpenCorpus(b).FileAt(path).Abs)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		pages := r.sendRequest(wire.Request{Op: wire.Open}, nil, f).PageCount
		start, n := cpuTime(), 0
		for b.Loop() {
			req.Page = n%pages + 1
			r.sendRequest(req, nil)
			n++
		}
		b.ReportMetric(float64((cpuTime()-start).Microseconds())/float64(n)/1000, "cpu-ms/page")
	})
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// annotatedPage has a link and a free text.
const annotatedPage = `%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 7 0 R>>>>/Contents 4 0 R/Annots[5 0 R 6 0 R]>>endobj
4 0 obj<</Length 50>>stream
BT /F 12 Tf 100 700 Td (A link stands here) Tj ET 
endstream endobj
5 0 obj<</Type/Annot/Subtype/Link/Rect[90 690 300 720]/Border[0 0 0]/A<</S/URI/URI(https://example.org/)>>>>endobj
6 0 obj<</Type/Annot/Subtype/FreeText/Rect[90 290 300 320]/F 4/Contents(Free text)/DA(/F 12 Tf)/AP<</N 8 0 R>>>>endobj
7 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
8 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 210 30]/Resources<</Font<</F 7 0 R>>>>/Length 40>>stream
BT /F 12 Tf 5 5 Td (Free text) Tj ET    
endstream endobj
trailer<</Root 1 0 R>>
`

func TestTextOfAnnotationsIsReadBesideLinks(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 512<<20)
	path := filepath.Join(t.TempDir(), "annotated.pdf")
	if err := os.WriteFile(path, []byte(annotatedPage), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.sendRequest(wire.Request{Op: wire.Open}, nil, f)
	page := &inkstreamv1.Page{}
	r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, page)
	var got []string
	for _, w := range pageWords(page) {
		got = append(got, fmt.Sprintf("%s %d", w.GetText(), w.GetLink()))
	}
	if want := []string{"A 1", "link 1", "stands 1", "here 1", "Free 0", "text 0"}; !slices.Equal(got, want) {
		t.Errorf("words and their links: got %q, want %q", got, want)
	}
	if links := page.GetLinks(); len(links) != 1 || links[0].GetUri() != "https://example.org/" {
		t.Errorf("links: got %v, want one to https://example.org/", links)
	}
}

func TestTextThatNoFontDrawsIsKept(t *testing.T) {
	t.Parallel()
	r := newFixtureWithFonts(t, 512<<20)
	f := pdftest.WithoutFonts("BT /V 20 Tf 200 280 Td <03980368035803600371034d037e0771> Tj ET").OpenFile(t)
	r.sendRequest(wire.Request{Op: wire.Open}, nil, f)
	for _, tt := range []struct {
		mode  string
		notes int
	}{{"", 0}, {wire.Force, 1}, {wire.Redo, 0}, {wire.Skip, 0}} {
		page := &inkstreamv1.Page{}
		reply := r.sendRequest(wire.Request{Op: wire.Page, Page: 1, Mode: tt.mode, NoRaster: tt.mode == wire.Skip}, page)
		if reply.Kind != triage.Native || page.GetOutcome() != "native_text" || len(page.GetNotes()) != tt.notes {
			t.Errorf("mode %q: got %v, outcome %q, notes %q, want native text and %d notes", tt.mode, reply.Kind,
				page.GetOutcome(), page.GetNotes(), tt.notes)
		}
		var got string
		for _, w := range pageWords(page) {
			got += w.GetText()
			if want := []float32{190, 20, 210, 180}; !boxesWithin(w.GetBbox(), want, 4) {
				t.Errorf("mode %q: got the column at %v, want it around %v", tt.mode, w.GetBbox(), want)
			}
		}
		if want := "わたくしといふ現"; got != want {
			t.Errorf("mode %q: got the text %q, want %q", tt.mode, got, want)
		}
	}
}

func pageWords(page *inkstreamv1.Page) (out []*inkstreamv1.Word) {
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			out = append(out, l.GetWords()...)
		}
	}
	return out
}

func boxesWithin(got, want []float32, most float64) bool {
	return slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) <= most })
}

// Text that is drawn, but not to be seen, is no text that lacks a font: who forces recognition gets what is seen.
func TestForcedRecognitionKeepsNoWhiteText(t *testing.T) {
	t.Parallel()
	r := newFixture(t, 512<<20)
	r.sendRequest(wire.Request{Op: wire.Open}, nil,
		pdftest.WithoutFonts("1 g BT /F 20 Tf 50 200 Td (white) Tj ET").OpenFile(t))
	page := &inkstreamv1.Page{}
	if got := r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, page); got.Kind != triage.Native {
		t.Errorf("read: got %v, want native text", got.Kind)
	}
	if got := r.sendRequest(wire.Request{Op: wire.Page, Page: 1, Mode: wire.Force}, page); got.Kind != triage.Blank ||
		len(page.GetBlocks()) > 0 {
		t.Errorf("forced: got %v with %d blocks, want a blank page", got.Kind, len(page.GetBlocks()))
	}
}

// TestVerticalJapaneseOfTheCorpus reads a poem of 65 columns, in a font that is not embedded.
func TestVerticalJapaneseOfTheCorpus(t *testing.T) {
	t.Parallel()
	f, err := os.Open(pdftest.OpenCorpus(t).FileAt("pdf/pdfminer-jo.pdf").Abs)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := newFixtureWithFonts(t, 512<<20)
	r.sendRequest(wire.Request{Op: wire.Open}, nil, f)
	page := &inkstreamv1.Page{}
	r.sendRequest(wire.Request{Op: wire.Page, Page: 1}, page)
	characters := 0
	for _, w := range pageWords(page) {
		characters += utf8.RuneCountInString(w.GetText())
	}
	if want := 880; characters < want {
		t.Errorf("got %d characters, want at least %d", characters, want)
	}
}
