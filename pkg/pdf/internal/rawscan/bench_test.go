package rawscan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/pdftest"
)

// BenchmarkScan measures raw bytes of the file a second: for dictionaries and nothing else, for stream bodies that
// are passed, for streams that are inflated, and for the corpus.
func BenchmarkScan(b *testing.B) {
	var objects bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&objects,
			"%d 0 obj\n<< /Type /Annot /Subtype /Link /Rect [72.5 %d 300 720] /Border [0 0 0] /A << /S /URI /URI (http://example.com/%d) >> >>\nendobj\n", i, i, i)
	}
	xref := []byte("xref\n0 1000000\n" + strings.Repeat("0000000016 00000 n\r\n", 1_000_000) + "trailer << >>")
	photo := make([]byte, 16<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(photo)
	text := deflateBytes(patternBytes(1 << 20))
	var texts []string
	for range 20 {
		texts = append(texts, streamObject("/Filter /FlateDecode", text))
	}
	for _, bb := range []struct {
		name string
		pdf  []byte
	}{
		{"dictionaries", objects.Bytes()},
		{"cross-reference table", xref},
		{"photographs", buildDocument(streamObject("/Subtype /Image /Width 4000 /Height 3000 /Filter /DCTDecode", photo))},
		{"photographs of unknown length", buildDocument("<< /Filter /DCTDecode /Length 9 0 R >>\nstream\n" + string(photo) +
			"\nendstream")},
		{"deflated text", buildDocument(texts...)},
		{"white paper 26 MB",
			buildDocument(streamObject("/Subtype /Image /Width 2550 /Height 3300 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode", deflateBytes(bytes.Repeat([]byte{255}, 2550*3300*3))))},
	} {
		b.Run(bb.name, func(b *testing.B) { benchmarkFiles(b, bb.pdf) })
	}
	b.Run("corpus", func(b *testing.B) {
		var all [][]byte
		for _, f := range pdftest.OpenCorpus(b).FilesInFolder("pdf") {
			content, err := os.ReadFile(f.Abs)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, content)
		}
		benchmarkFiles(b, all...)
	})
}

func benchmarkFiles(b *testing.B, files ...[]byte) {
	b.Helper()
	var size, inflated int64
	from := cpuTime(b)
	for b.Loop() {
		size, inflated = 0, 0
		for _, f := range files {
			r, err := Scan(context.Background(), bytes.NewReader(f), int64(len(f)), Limits{})
			if err != nil {
				b.Fatal(err)
			}
			size += int64(len(f))
			inflated += r.InflatedBytes
		}
	}
	// The wall clock says little while other work keeps the cores busy.
	seconds := (cpuTime(b) - from).Seconds() / float64(b.N)
	b.SetBytes(size)
	b.ReportMetric(float64(size)/1e6/seconds, "MB/cpu-s")
	b.ReportMetric(float64(inflated)/1e6/seconds, "inflated-MB/cpu-s")
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
