package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// recognise stands for a recogniser: it marks the page's own words as recognised, or, where it has none, lays the
// given words out in rows.
func recognise(t testing.TB, d *Document, n int, words []string) *inkstreamv1.Page {
	t.Helper()
	r, err := d.ReadPage(t.Context(), n, PageOptions{NoRaster: true})
	if err != nil {
		return nil
	}
	p := r.Page
	count := 0
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				w.Confidence = proto.Float32(0.9)
				count++
			}
		}
	}
	if count > 0 || len(words) == 0 {
		return p
	}
	block := &inkstreamv1.Block{Type: "paragraph"}
	const columns, top = 6, 40
	width, pitch := (p.GetWidth()-40)/columns, float32(14)
	for i, text := range words {
		if i%columns == 0 {
			block.Lines = append(block.Lines, &inkstreamv1.Line{})
		}
		line := block.Lines[len(block.Lines)-1]
		x, y := 20+width*float32(i%columns), top+pitch*float32(i/columns)
		if y > p.GetHeight()-20 {
			break
		}
		length := min(width-5, 5*float32(len([]rune(text))))
		line.Words = append(line.Words, &inkstreamv1.Word{Text: text, Bbox: []float32{x, y, x + length, y + 10},
			Confidence: proto.Float32(0.8)})
	}
	p.Blocks = []*inkstreamv1.Block{block}
	return p
}

func wordsOf(p *inkstreamv1.Page) (out []*inkstreamv1.Word) {
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			out = append(out, l.GetWords()...)
		}
	}
	return out
}

func sequence(pages []*inkstreamv1.Page) iter.Seq2[*inkstreamv1.Page, error] {
	return func(yield func(*inkstreamv1.Page, error) bool) {
		for _, p := range pages {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// layeredDocument is a document and what became of it.
type layeredDocument struct {
	name, password string
	original, path string // files
	pages          []*inkstreamv1.Page
	grown          int
	unit           float64 // of user space, in points
}

// sampleWords are of many scripts, one of them beyond the basic plane.
var sampleWords = strings.Fields("Der Wörterbuch naïve Ελληνικά слово 漢字 かな 한국어 ภาษาไทย हिन्दी 𝔘𝔫𝔦 𠀋𠂉 (a) x<y> & fi Straße; end. 42%")

// writeLayer writes a text layer on the first pages of a document.
func writeLayer(t testing.TB, e *Engine, name, path, password string, most int) (*layeredDocument, error) {
	t.Helper()
	words := sampleWords
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := e.OpenDocument(t.Context(), f, password)
	if err != nil {
		return nil, err
	}
	out := &layeredDocument{unit: 1, name: name, password: password, original: path,
		path: filepath.Join(t.TempDir(), "searchable.pdf")}
	for n := 1; n <= min(d.Info().PageCount, most); n++ {
		if p := recognise(t, d, n, words); p != nil {
			out.pages = append(out.pages, p)
		}
	}
	d.Close()
	var b bytes.Buffer
	if err := e.WriteTextLayer(t.Context(), f, password, sequence(out.pages), &b); err != nil {
		return nil, err
	}
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b.Bytes(), original) {
		t.Errorf("%s: the original's bytes do not come first", name)
	}
	out.grown = b.Len() - len(original)
	if most := 20_000 * max(1, len(out.pages)); out.grown > most {
		t.Errorf("%s: grown by %d bytes for %d pages, want at most %d", name, out.grown, len(out.pages), most)
	}
	if err := os.WriteFile(out.path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

func requireTools(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
}

// runTool runs a tool and returns what it prints, and its exit status.
func runTool(t testing.TB, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout = &out
	cmd.Stderr = &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), 0
}

// checkValid looks whether the layered file is as sound as the original in qpdf's eyes.
func (l *layeredDocument) checkValid(t testing.TB) {
	t.Helper()
	rank := map[int]int{0: 0, 3: 1, 2: 2} // no fault, warnings, errors
	_, before := runTool(t, "qpdf", "--password="+l.password, "--check", l.original)
	said, after := runTool(t, "qpdf", "--password="+l.password, "--check", l.path)
	if rank[after] > rank[before] {
		t.Errorf("%s: qpdf --check: got %d, want %d as for the original: %s", l.name, after, before, said)
	}
}

// checkPixels compares what is drawn.
func (l *layeredDocument) checkPixels(t testing.TB) {
	t.Helper()
	draw := func(path string) string {
		prefix := filepath.Join(t.TempDir(), "p")
		runTool(t, "pdftoppm", "-r", "100", "-l", strconv.Itoa(len(l.pages)), "-upw", l.password, path, prefix)
		return prefix
	}
	before, after := draw(l.original), draw(l.path)
	files, _ := filepath.Glob(before + "*")
	for _, f := range files {
		a, errA := os.ReadFile(f)
		b, errB := os.ReadFile(after + strings.TrimPrefix(f, before))
		if errA != nil || errB != nil {
			t.Errorf("%s: %v %v", l.name, errA, errB)
			continue
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: %s is drawn differently", l.name, filepath.Base(f))
		}
	}
}

// boxedWords is what pdftotext says of the words of the first pages, in the order of the file: in its own it takes a
// word that lies on another for the same one, printed twice.
func (l *layeredDocument) boxedWords(t testing.TB) [][]score.Box {
	t.Helper()
	out, _ := runTool(t, "pdftotext", "-raw", "-cropbox", "-bbox", "-l", strconv.Itoa(len(l.pages)), "-upw", l.password,
		l.path, "-")
	pages, err := score.ReadBoxes(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// checkWords looks for every recognised word at its place. It returns how many there are and how many were found.
func (l *layeredDocument) checkWords(t testing.TB) (found, all int) {
	t.Helper()
	boxes := l.boxedWords(t)
	for _, p := range l.pages {
		var read []score.Box
		if n := int(p.GetNumber()); n <= len(boxes) { // pdftotext cannot open every broken or encrypted file
			read = boxes[n-1]
		}
		for _, w := range wordsOf(p) {
			all++
			best, at := math.Inf(1), -1
			for i, b := range read {
				if b.Text != w.GetText() {
					continue
				}
				far := 0.0
				for k, v := range w.GetBbox() {
					far = math.Max(far, math.Abs(float64(v)-l.unit*b.At[k])) // pdftotext's places are in units
				}
				if far < best {
					best, at = far, i
				}
			}
			if at >= 0 && best <= 2 {
				read[at].Text = "" // found once
				found++
			}
		}
	}
	return found, all
}

// checkAll runs every check.
func (l *layeredDocument) checkAll(t testing.TB) {
	t.Helper()
	l.checkValid(t)
	l.checkPixels(t)
	if found, all := l.checkWords(t); all == 0 || found < all {
		t.Errorf("%s: %d of %d words are in their places", l.name, found, all)
	}
}

func TestTextLayer(t *testing.T) {
	t.Parallel()
	requireTools(t, "qpdf", "pdftoppm", "pdftotext")
	scan := pdftest.ScanOptions{Pages: 1}
	files := []pdftest.File{
		pdftest.ScannedFile(scan), pdftest.RotatedScannedFile(scan), pdftest.SidewaysScannedFile(scan),
		pdftest.ScannedBlank(), pdftest.UserUnits(), inUnits(pdftest.ScannedFile(scan)),
		pdftest.WithBadStartxref(pdftest.ScannedFile(scan)), pdftest.WithoutXref(pdftest.ScannedFile(scan)),
		pdftest.WithJunkBefore(pdftest.ScannedFile(scan)),
		pdftest.BornDigital(2), pdftest.RotatedPages(), pdftest.CropOffsetPages(), pdftest.SidewaysText(),
		pdftest.BlankPages(3), pdftest.ManyPages(20),
		pdftest.OwnerOnlyFile(pdftest.RC4),
	}
	for _, c := range []pdftest.Cipher{pdftest.RC4, pdftest.AES} {
		files = append(files, pdftest.EncryptedFile(c))
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			l, err := writeLayer(t, sharedEngine(t), f.Name, f.WriteFile(t), f.Password, 2)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(f.PDF, []byte("/UserUnit 2")) {
				l.unit = 2
			}
			l.checkAll(t)
		})
	}
}

// TestTextLayerReadsBack has the engine itself read the layer, in every direction and on pages turned every way.
func TestTextLayerReadsBack(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	file := pdftest.RotatedScannedFile(pdftest.ScanOptions{Pages: 1})
	f := file.OpenFile(t)
	d, err := e.OpenDocument(t.Context(), f, "")
	if err != nil {
		t.Fatal(err)
	}
	var pages []*inkstreamv1.Page
	for n := 1; n <= d.Info().PageCount; n++ {
		p := readPage(t, d, n).Page
		b := &inkstreamv1.Block{}
		for i, angle := range []int32{0, 90, 180, 270} {
			x, y := 60+90*float32(i), float32(100)
			box := []float32{x, y, x + 60, y + 12}
			if angle%180 == 90 {
				box = []float32{x, y, x + 12, y + 60}
			}
			b.Lines = append(b.Lines, &inkstreamv1.Line{Angle: angle, Bbox: box, Words: []*inkstreamv1.Word{
				{Text: fmt.Sprintf("word%d", angle), Bbox: box, Confidence: proto.Float32(0.5)},
			}})
		}
		right := []float32{60, 300, 120, 312}
		b.Lines = append(b.Lines, &inkstreamv1.Line{Bbox: right,
			Words: []*inkstreamv1.Word{{Text: "שלום2024", Bbox: right, Confidence: proto.Float32(1)}}})
		p.Blocks = []*inkstreamv1.Block{b}
		pages = append(pages, p)
	}
	d.Close()
	var out bytes.Buffer
	if err := e.WriteTextLayer(t.Context(), f, "", sequence(pages), &out); err != nil {
		t.Fatal(err)
	}
	file.PDF = out.Bytes()
	d = openDocument(t, e, file)
	for i, want := range pages {
		r, err := d.ReadPage(t.Context(), i+1, PageOptions{OCR: Skip})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want.GetBlocks()[0].GetLines() {
			checkLine(t, r.Page, line)
		}
	}
}

// pdftotext parts words and lines by distances and by sizes of fonts, and turns scripts around by rules of its own.
func TestTextLayerForPdftotext(t *testing.T) {
	t.Parallel()
	requireTools(t, "pdftotext")
	for _, tt := range []struct {
		name      string
		leftwards bool
		lines     []string
	}{
		{"from left to right", false, []string{"words that touch each other ; and signs", "gap noon Bell — under-", "stood"}},
		{"Hebrew", true, []string{"שלום לך. זמן: (12:30) 2024 סוף!"}},
		{"Arabic", true, []string{"مرحبا بك، في ١٢ (أو 30) يوم."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, file := sharedEngine(t), pdftest.BlankPages(1)
			d := openDocument(t, e, file)
			page := touchingLines(tt.lines, tt.leftwards)
			page.Width, page.Height = d.Info().PageSizes[0].Width, d.Info().PageSizes[0].Height
			d.Close()
			var out bytes.Buffer
			if err := e.WriteTextLayer(t.Context(), file.OpenFile(t), "", sequence([]*inkstreamv1.Page{page}),
				&out); err != nil {
				t.Fatal(err)
			}
			file.PDF = out.Bytes()
			said, _ := runTool(t, "pdftotext", "-enc", "UTF-8", file.WriteFile(t), "-")
			said = strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Bidi_Control, r) {
					return -1
				}
				return r
			}, said)
			got, want := strings.Fields(said), strings.Fields(strings.ReplaceAll(strings.Join(tt.lines, "\n"), "-\n", ""))
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// touchingLines returns a page of recognised lines in which every word touches the next, and every other one reaches
// lower.
func touchingLines(lines []string, leftwards bool) *inkstreamv1.Page {
	block := &inkstreamv1.Block{}
	for i, text := range lines {
		line, x, y := &inkstreamv1.Line{}, float32(60), 100+40*float32(i)
		words := strings.Fields(text)
		if leftwards {
			slices.Reverse(words)
		}
		for j, word := range words {
			end := x + 7*float32(len([]rune(word)))
			box := []float32{x, y, end, y + 9 + 3*float32(j%2)}
			line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Bbox: box, Confidence: proto.Float32(1)})
			x = end
		}
		if leftwards {
			slices.Reverse(line.Words)
		}
		block.Lines = append(block.Lines, line)
	}
	return &inkstreamv1.Page{Number: 1, Blocks: []*inkstreamv1.Block{block}}
}

func checkLine(t *testing.T, p *inkstreamv1.Page, want *inkstreamv1.Line) {
	t.Helper()
	text := want.GetWords()[0].GetText()
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if w.GetText() != text {
					continue
				}
				for k, v := range w.GetBbox() {
					if math.Abs(float64(v-want.GetBbox()[k])) > 2 {
						t.Errorf("page %d, %s: box %v, want %v", p.GetNumber(), text, w.GetBbox(), want.GetBbox())
						break
					}
				}
				if l.GetAngle() != want.GetAngle() {
					t.Errorf("page %d, %s: angle %d, want %d", p.GetNumber(), text, l.GetAngle(), want.GetAngle())
				}
				return
			}
		}
	}
	t.Errorf("page %d: no word %s in %q", p.GetNumber(), text, textOf(p))
}

func TestTextLayerOnCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("the corpus takes a while")
	}
	t.Parallel()
	requireTools(t, "qpdf", "pdftoppm", "pdftotext")
	for _, f := range pdftest.OpenCorpus(t).SelectFiles(func(f pdftest.CorpusFile) bool {
		return strings.HasPrefix(f.Path, "ocr/ocrd") || strings.HasPrefix(f.Path, "ocr/mixed") ||
			strings.HasPrefix(f.Path, "ocr/tess") && !f.HasTags("raw-image") ||
			f.TopFolder() == "broken" || f.TopFolder() == "encrypted"
	}) {
		l, err := writeLayer(t, sharedEngine(t), f.Path, f.Abs, f.Password(), 1)
		if _, coded := errors.AsType[*fault.Error](err); err != nil && (!coded || f.TopFolder() == "ocr") {
			t.Errorf("%s: %v", f.Path, err)
		}
		if err != nil {
			continue
		}
		l.checkValid(t)
		l.checkPixels(t)
		if found, all := l.checkWords(t); strings.HasPrefix(f.Path, "ocr/") && found < all {
			t.Errorf("%s: %d of %d words are in their places", f.Path, found, all)
		}
	}
}

func TestOverlayDrawsBlocks(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	for _, file := range []pdftest.File{pdftest.BornDigital(1), pdftest.RotatedPages(), pdftest.CropOffsetPages(),
		pdftest.EncryptedFile(pdftest.AES)} {
		f := file.OpenFile(t)
		d, err := e.OpenDocument(t.Context(), f, file.Password)
		if err != nil {
			t.Fatal(err)
		}
		before := readPage(t, d, 1).Page
		d.Close()
		page := &inkstreamv1.Page{Number: 1, Width: before.GetWidth(), Height: before.GetHeight(),
			Blocks: []*inkstreamv1.Block{
				{Type: "table", Bbox: []float32{20, 30, 80, 90},
					Table: &inkstreamv1.Table{Cells: []*inkstreamv1.Cell{{Bbox: []float32{20, 30, 50, 60}}}}},
				{Type: "evil)(", Bbox: []float32{0, 0, 1e5, 1e5}},
			}}
		var out bytes.Buffer
		if err := e.WriteOverlay(t.Context(), f, file.Password, sequence([]*inkstreamv1.Page{page}), &out); err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		if !bytes.HasPrefix(out.Bytes(), file.PDF) || out.Len() == len(file.PDF) {
			t.Errorf("%s: %d bytes after %d, or not after them", file.Name, out.Len(), len(file.PDF))
		}
		file.PDF = out.Bytes()
		if d, err = e.OpenDocument(t.Context(), file.OpenFile(t), file.Password); err != nil {
			t.Fatal(err)
		}
		after := readPage(t, d, 1).Page
		d.Close()
		// The labels are read with the page, for they are painted on it.
		if text := textOf(after); !strings.Contains(text, "1 table") || !strings.Contains(text, "2 evil??") {
			t.Errorf("%s: no labels in %q", file.Name, text[max(0, len(text)-200):])
		}
	}
}

func TestInvalidAdditionsAreRefused(t *testing.T) {
	t.Parallel()
	e := sharedEngine(t)
	locked := pdftest.EncryptedFile(pdftest.AES)
	ended := errors.New("the pages ended")
	page := func(n int32) iter.Seq2[*inkstreamv1.Page, error] {
		return sequence([]*inkstreamv1.Page{{Number: n, Width: 100, Height: 100,
			Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{{
				Words: []*inkstreamv1.Word{{Text: "a", Bbox: []float32{1, 1, 9, 9}, Confidence: proto.Float32(1)}},
			}}}}}})
	}
	for _, tt := range []struct {
		name     string
		file     pdftest.File
		password string
		pages    iter.Seq2[*inkstreamv1.Page, error]
		want     fault.Code
		err      error
	}{
		{name: "wrong password", file: locked, password: "wrong", pages: page(1), want: fault.Encrypted},
		{name: "no document", file: pdftest.NotPDFFiles()[0], pages: page(1)},
		{name: "page out of range", file: pdftest.BornDigital(2), pages: page(3), want: fault.PageNotFound},
		{name: "page zero", file: pdftest.BornDigital(2), pages: page(0), want: fault.PageNotFound},
		{name: "pages that end in an error", file: pdftest.BornDigital(1),
			pages: func(yield func(*inkstreamv1.Page, error) bool) { yield(nil, ended) }, err: ended},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := e.WriteTextLayer(t.Context(), tt.file.OpenFile(t), tt.password, tt.pages, &bytes.Buffer{})
			if err == nil || (tt.want != "" && fault.CodeOf(err) != tt.want) || (tt.err != nil && !errors.Is(err, tt.err)) {
				t.Errorf("got %v, want %s %v", err, tt.want, tt.err)
			}
		})
	}
}

func TestNothingRecognisedLeavesTheDocument(t *testing.T) {
	t.Parallel()
	file := pdftest.BornDigital(2)
	e := sharedEngine(t)
	var out bytes.Buffer
	pages := sequence([]*inkstreamv1.Page{{Number: 1}, {Number: 2}})
	if err := e.WriteTextLayer(t.Context(), file.OpenFile(t), "", pages, &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), file.PDF) {
		t.Errorf("got %d bytes, want the %d of the original", out.Len(), len(file.PDF))
	}
}

// TestAbsurdAdditionsAreWritten lays what no recogniser yields over a page.
func TestAbsurdAdditionsAreWritten(t *testing.T) {
	t.Parallel()
	requireTools(t, "qpdf")
	e, file := sharedEngine(t), pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1})
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	line := &inkstreamv1.Line{Angle: 45, Bbox: []float32{nan}}
	for _, box := range [][]float32{nil, {nan, 0, 1, 1}, {inf, -inf, inf, 0}, {5, 5, 5, 5}, {9, 9, 1, 1},
		{-1e30, -1e30, 1e30, 1e30}, {100, 100, 200, 120}} {
		for _, text := range []string{"", " ", "\x00", "\u202e", "\U0010FFFF", "\ue000", strings.Repeat("long", 5000)} {
			line.Words = append(line.Words, &inkstreamv1.Word{Text: text, Bbox: box, Confidence: proto.Float32(nan)})
		}
	}
	for range 20_000 {
		line.Words = append(line.Words, &inkstreamv1.Word{Text: "many", Bbox: []float32{10, 10, 30, 20},
			Confidence: proto.Float32(1)})
	}
	pages := []*inkstreamv1.Page{{Number: 1, Width: nan, Height: -3,
		Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{line}}}}}
	var out bytes.Buffer
	if err := e.WriteTextLayer(t.Context(), file.OpenFile(t), "", sequence(pages), &out); err != nil {
		t.Fatal(err)
	}
	file.PDF = out.Bytes()
	if said, code := runTool(t, "qpdf", "--check", file.WriteFile(t)); code != 0 {
		t.Errorf("qpdf --check: %s", said)
	}
}
