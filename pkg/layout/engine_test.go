package layout_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main(pdf.Program())
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

// startEngine starts PDFium: what it makes of a page is what ArrangePage has to cope with.
func startEngine(t *testing.T) *pdf.Engine {
	t.Helper()
	cfg := pdf.DefaultConfig()
	cfg.Workers = 1
	engine, err := pdf.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("start the engine: %v", err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// arranged reads a file and returns the text of its pages after ArrangePage.
func arranged(t *testing.T, engine *pdf.Engine, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := engine.OpenDocument(t.Context(), f, "")
	if err != nil {
		t.Fatalf("open %s: %v", filepath.Base(path), err)
	}
	defer doc.Close()
	var texts []string
	for n := 1; n <= doc.Info().PageCount; n++ {
		result, err := doc.ReadPage(t.Context(), n, pdf.PageOptions{})
		if err != nil {
			t.Fatalf("%s, page %d: %v", filepath.Base(path), n, err)
		}
		layout.ArrangePage(result.Page)
		texts = append(texts, result.Page.GetText())
	}
	return texts
}

// TestOrderOfNativePages reads documents that were drawn from top to bottom, and the same drawn word by word in no
// order at all: their places alone must tell how they read.
func TestOrderOfNativePages(t *testing.T) {
	t.Parallel()
	engine := startEngine(t)
	files := []pdftest.File{pdftest.BornDigital(12), pdftest.RotatedPages(), pdftest.SidewaysText(),
		pdftest.CropOffsetPages()}
	for _, design := range []pdftest.PageDesign{pdftest.Report, pdftest.Columns, pdftest.Letter, pdftest.Tabular,
		pdftest.Footnotes} {
		files = append(files, pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 4, Seed: 5, Design: design}),
			pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 4, Seed: 5, Design: design, Scatter: true}))
	}
	for _, f := range files {
		texts := arranged(t, engine, f.WriteFile(t))
		for i, page := range f.Pages {
			// A raised mark that was drawn by itself may come out as a word of its own.
			if order, f1 := score.WordOrder(page.Text, texts[i]), score.WordF1(page.Text, texts[i]); order < 0.99 || f1 < 0.97 {
				t.Errorf("%s, page %d: order %.3f, word F1 %.3f; want 0.99 and 0.97", f.Name, i+1, order, f1)
			}
		}
	}
}

// TestOrderOfCorpus checks what people wrote down about real pages: which passage is read before which.
func TestOrderOfCorpus(t *testing.T) {
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	engine := startEngine(t)
	checks := 0
	for _, f := range corpus.FilesWithTags("text-tests", "born-digital") {
		pairs, err := orderedPairs(filepath.Join(corpus.Root, filepath.FromSlash(f.TruthPath), "olmocr-tests.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if len(pairs) == 0 {
			continue
		}
		text := strings.Join(strings.Fields(strings.Join(arranged(t, engine, f.Abs), " ")), " ")
		for _, p := range pairs {
			checks++
			before, after := strings.Index(text, p.Before), strings.LastIndex(text, p.After)
			if before < 0 || after < before {
				t.Errorf("%s: %q stands at %d, %q at %d; want it before", f.Path, p.Before, before, p.After, after)
			}
		}
	}
	if checks == 0 {
		corpus.FileAt("pdf/olmocr-openstax_caculus_pg_273.pdf") // skips where only the committed corpus is there
		t.Error("the corpus has no checks of order")
	}
}

type orderedPair struct{ Type, Before, After string }

// orderedPairs reads the checks of order from a file of checks, one a line.
func orderedPairs(path string) ([]orderedPair, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var pairs []orderedPair
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var p orderedPair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if p.Type == "order" {
			pairs = append(pairs, p)
		}
	}
	return pairs, lines.Err()
}
