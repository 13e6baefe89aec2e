package pdf

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// pagesPerFile bounds how many pages of a file the corpus tests read.
const pagesPerFile = 6

// TestCorpusIsAnswered opens every file of the corpus and reads its pages: each gives a result or a code, and those
// that are no trouble give a result.
func TestCorpusIsAnswered(t *testing.T) {
	if testing.Short() {
		t.Skip("the corpus takes a minute")
	}
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	cfg := testConfig()
	cfg.OpenTimeout, cfg.PageTimeout = 15*time.Second, 8*time.Second
	e, err := New(cfg, discardLogger())
	if err != nil {
		t.Fatal(err)
	}
	files := corpus.SelectFiles(func(f pdftest.CorpusFile) bool { return !f.HasTags("raw-image") })
	var wait sync.WaitGroup
	slots := make(chan struct{}, cfg.Workers)
	for _, f := range files {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			readCorpusFile(t, e, f)
		})
	}
	wait.Wait()
	t.Logf("children: %+v", e.Stats())
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if n := e.Stats().Live; n != 0 {
		t.Errorf("children left: got %d, want 0", n)
	}
}

// unseenWords are how many words of files' pages are not painted, those with a text layer aside.
var unseenWords = map[string]int{"tables/icdar2013-us-032.pdf": 3}

func readCorpusFile(t *testing.T, e *Engine, f pdftest.CorpusFile) {
	file, err := os.Open(f.Abs)
	if err != nil {
		t.Errorf("%s: %v", f.Path, err)
		return
	}
	defer file.Close()
	trouble := slices.Contains([]string{"hostile", "broken", "notpdf"}, f.TopFolder()) || f.HasTags("damaged") ||
		f.HasTags("tiny-page")
	d, err := e.OpenDocument(t.Context(), file, f.Password())
	if err != nil {
		t.Logf("%-70s %v", f.Path, fault.CodeOf(err))
		if _, coded := errors.AsType[*fault.Error](err); !coded || !trouble {
			t.Errorf("%s: open: %v", f.Path, err)
		}
		return
	}
	defer d.Close()
	if _, err := d.CollectFindings(t.Context()); err != nil {
		t.Errorf("%s: findings: %v", f.Path, err)
	}
	var seen []string
	for n := 1; n <= min(d.Info().PageCount, pagesPerFile); n++ {
		r, err := d.ReadPage(t.Context(), n, PageOptions{Images: f.TopFolder() == "hostile" || f.TopFolder() == "broken"})
		if err != nil {
			seen = append(seen, string(fault.CodeOf(err)))
			if _, coded := errors.AsType[*fault.Error](err); !coded || !trouble {
				t.Errorf("%s: page %d: %v", f.Path, n, err)
			}
			continue
		}
		seen = append(seen, r.Triage.String())
		if !trouble {
			unseen := unseenWords[f.Path]
			if r.Triage.HasLayer() {
				unseen = len(pageWords(r.Page))
			}
			checkBoxes(t, r.Page, unseen)
		}
		if r.Triage == Native && f.HasTags("scanned", "real-scan") && !f.HasText {
			t.Errorf("%s: page %d: got native text on a scan", f.Path, n)
		}
	}
	t.Logf("%-70s %s", f.Path, strings.Join(seen, " "))
}

// TestTextAgreesWithPoppler compares the words of the corpus's born-digital files with pdftotext's.
func TestTextAgreesWithPoppler(t *testing.T) {
	if testing.Short() {
		t.Skip("the corpus takes a minute")
	}
	t.Parallel()
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("pdftotext is not installed")
	}
	corpus := pdftest.OpenCorpus(t)
	const want = 0.97
	var all []float64
	for _, f := range corpus.FilesWithTags("born-digital") {
		if slices.Contains([]string{"hostile", "broken"}, f.TopFolder()) || f.HasTags("needs-password") {
			continue
		}
		f1 := agreement(t, f, pdftotext)
		t.Logf("%.3f %s", f1, f.Path)
		// Fonts that say nothing or nonsense of their characters are guesses on both sides.
		if guess := f.HasTags("no-unicode-map") || f.HasTags("garbled-unicode") || f.HasTags("type3") ||
			f.HasTags("damaged"); !guess {
			all = append(all, f1)
			if f1 < want && !slices.Contains(poorPeers, f.Path) {
				t.Errorf("%s: word F1 against pdftotext: got %.3f, want at least %.2f", f.Path, f1, want)
			}
		}
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median < 0.99 {
		t.Errorf("median word F1 of %d files: got %.3f, want at least 0.99", len(all), median)
	}
}

// poorPeers are files on which pdftotext is no judge.
var poorPeers = []string{
	"pdf/pdfjs-XiaoBiaoSong.pdf",                  // Chinese in a font without tables: poppler reads Latin-1
	"pdf/docling-table_mislabeled_as_picture.pdf", // 30 tick boxes of a symbol font, which have no character; and poppler splits words
	"tables/tabula-arabic.pdf",                    // 20 words, of which poppler joins some where the direction turns
	"tables/tabula-indictb1h_14.pdf",              // the same in Hebrew: brackets and numbers stick to words
}

func agreement(t *testing.T, f pdftest.CorpusFile, pdftotext string) float64 {
	t.Helper()
	file, err := os.Open(f.Abs)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := sharedEngine(t).OpenDocument(t.Context(), file, "")
	if err != nil {
		t.Fatalf("%s: %v", f.Path, err)
	}
	defer d.Close()
	pages := min(d.Info().PageCount, 4*pagesPerFile)
	var text strings.Builder
	for n := 1; n <= pages; n++ {
		r, err := d.ReadPage(t.Context(), n, PageOptions{NoRaster: true})
		if err != nil {
			t.Fatalf("%s: page %d: %v", f.Path, n, err)
		}
		text.WriteString(textOf(r.Page))
		text.WriteByte('\n')
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other, err := exec.CommandContext(ctx, pdftotext, "-l", strconv.Itoa(pages), f.Abs, "-").Output()
	if err != nil {
		t.Fatalf("%s: pdftotext: %v", f.Path, err)
	}
	return score.WordF1(normaliseLeniently(string(other)), normaliseLeniently(text.String()))
}

func normaliseLeniently(s string) string { return score.NormaliseText(s, score.Options{Lenient: true}) }
