package enginetest_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/ocr/recognise"
)

// A child reads its pages on whatever threads Go has. If each grew a C heap of its own, a child that reads scans of 300
// dpi would take 200 MB instead of 130.
func TestThreadsShareOneHeap(t *testing.T) {
	t.Parallel()
	cfg := ocr.DefaultEngineConfig()
	cfg.Workers, cfg.Languages = 1, "eng"
	engine, err := ocr.NewEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	sample, err := enginetest.NewTextSample(150, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.RecognisePage(t.Context(), sample.OpenImage(t), recognise.Options{Languages: "eng"}); err != nil {
		t.Fatal(err)
	}
	children := 0
	programs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range programs {
		command, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(command), `"program":"tesseract"`) || !isChild(filepath.Dir(path)) {
			continue
		}
		children++
		if n := countThreadHeaps(t, filepath.Dir(path)); n > 0 {
			t.Errorf("a child has %d heaps beside the first, want none", n)
		}
	}
	if children == 0 {
		t.Error("found no child, want the one that has read the page")
	}
}

// isChild reports whether the process of a folder of /proc is a child of this one.
func isChild(process string) bool {
	status, err := os.ReadFile(filepath.Join(process, "status"))
	return err == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
}

// countThreadHeaps returns how many heaps glibc has made for threads: each is the writable beginning of 64 MB of
// addresses, on a boundary of as many, and the rest of them cannot be used yet (malloc/arena.c, HEAP_MAX_SIZE). Go's
// heap looks the same, and lies far below the libraries.
func countThreadHeaps(t *testing.T, process string) (n int) {
	t.Helper()
	maps, err := os.Open(filepath.Join(process, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	const heapSize, libraries = 64 << 20, 0x7000_0000_0000
	var before uint64 // where a mapping ends that may be the beginning of a heap
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var begin, end uint64
		var mode string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &begin, &end, &mode); err != nil {
			t.Fatal(err)
		}
		if mode == "---p" && begin == before && end%heapSize == 0 {
			n++
		}
		before = 0
		if mode == "rw-p" && begin >= libraries && begin%heapSize == 0 {
			before = end
		}
	}
	return n
}
