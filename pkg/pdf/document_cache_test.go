package pdf_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// More documents than children, each read in chunks that open it again: every page comes from its own document, no read
// waits for a child that is only kept, and the children are all given back.
func TestChunksOfManyDocuments(t *testing.T) {
	t.Parallel()
	cfg := pdf.DefaultConfig()
	cfg.Workers = 2
	e, err := pdf.New(cfg, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 5 {
		doc := pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 6, Seed: uint64(n + 1)})
		f := doc.OpenFile(t)
		wg.Go(func() {
			for chunk := range 3 {
				if err := readChunk(t.Context(), e, f.Name(), doc, chunk*2+1); err != nil {
					t.Errorf("document %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if live := e.Stats().Live; live != 0 {
		t.Errorf("%d children live after Close", live)
	}
}

func readChunk(ctx context.Context, e *pdf.Engine, path string, doc pdftest.File, first int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := e.OpenPages(ctx, f, "")
	if err != nil {
		return err
	}
	defer d.Close()
	if got := d.Info().PageCount; got != len(doc.Pages) {
		return fmt.Errorf("%d pages, want %d", got, len(doc.Pages))
	}
	for n := first; n < first+2; n++ {
		res, err := d.ReadPage(ctx, n, pdf.PageOptions{})
		if err != nil {
			return err
		}
		if !pageHasWord(res.Page, doc.Pages[n-1].Marker) {
			return fmt.Errorf("page %d lacks its word %q", n, doc.Pages[n-1].Marker)
		}
	}
	return nil
}

func pageHasWord(p *inkstreamv1.Page, word string) bool {
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if strings.Contains(w.GetText(), word) {
					return true
				}
			}
		}
	}
	return false
}
