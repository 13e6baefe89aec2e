package pdf

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// shared is the engine that most tests use: starting one costs a process and 0.1 s. TestMain closes it and looks
// whether a child is left.
var shared = sync.OnceValues(func() (*Engine, error) { return New(testConfig(), discardLogger()) })

func TestMain(m *testing.M) {
	sandbox.Main(Program())
	processtest.UsePlainChildren(sandbox.SetChildFile) // what they run has tests of its own, with the race detector, in pkg/pdf/internal
	code := m.Run()
	e, err := shared()
	if err == nil {
		err = e.Close()
	}
	if err == nil && e.Stats().Live != 0 {
		err = fmt.Errorf("%d children are left", e.Stats().Live)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pdf engine:", err)
		code = 1
	}
	os.Exit(code)
}

func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testConfig is that of most tests.
func testConfig() Config {
	cfg := DefaultConfig()
	cfg.Workers = 2
	cfg.OpenTimeout, cfg.PageTimeout = 30*time.Second, 30*time.Second
	return cfg
}

func sharedEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := shared()
	if err != nil {
		t.Fatalf("start the engine: %v", err)
	}
	return e
}

// openDocument opens a test file and closes it when the test ends.
func openDocument(t testing.TB, e *Engine, f pdftest.File) *Document {
	t.Helper()
	d, err := e.OpenDocument(t.Context(), f.OpenFile(t), f.Password)
	if err != nil {
		t.Fatalf("open %s: %v", f.Name, err)
	}
	t.Cleanup(d.Close)
	return d
}

// readPage reads a page and ends the test if that fails.
func readPage(t testing.TB, d *Document, n int) *PageResult {
	t.Helper()
	r, err := d.ReadPage(t.Context(), n, PageOptions{})
	if err != nil {
		t.Fatalf("read page %d: %v", n, err)
	}
	return r
}

// textOf joins the words of a page, a line each, in the order they came. A hyphen at the end of a line joins the next.
func textOf(p *inkstreamv1.Page) string {
	var out strings.Builder
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				out.WriteString(w.GetText())
				out.WriteByte(' ')
			}
			out.WriteByte('\n')
		}
	}
	return strings.ReplaceAll(out.String(), "- \n", "")
}

func pageWords(p *inkstreamv1.Page) []*inkstreamv1.Word {
	var out []*inkstreamv1.Word
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			out = append(out, l.GetWords()...)
		}
	}
	return out
}

func wantCode(t *testing.T, err error, want fault.Code, page int) {
	t.Helper()
	if got := fault.CodeOf(err); err == nil || got != want {
		t.Fatalf("error: got %v (%s), want %s", err, got, want)
	}
	if got := pageOf(err); got != page {
		t.Errorf("page of the error: got %d, want %d", got, page)
	}
}
