package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/search"
)

// vocabulary makes words whose frequencies fall off as those of a language do.
type vocabulary struct {
	words  []string
	random *rand.Rand
	zipf   *rand.Zipf
}

func newVocabulary(size int) *vocabulary {
	random := rand.New(rand.NewPCG(1, 2))
	v := &vocabulary{random: random, zipf: rand.NewZipf(random, 1.1, 3, uint64(size-1))}
	syllables := []string{"ba", "con", "de", "ti", "on", "ra", "ing", "pre", "sta", "mo", "lu", "ex", "per", "al", "ment",
		"in"}
	for i := range size {
		var b strings.Builder
		for n := i + 3; n > 0; n /= len(syllables) {
			b.WriteString(syllables[n%len(syllables)])
		}
		v.words = append(v.words, b.String())
	}
	return v
}

func (v *vocabulary) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(" \n"[btoi(i%12 == 0)])
		}
		b.WriteString(v.words[v.zipf.Uint64()])
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkPutPages writes chunks of 16 pages of 500 words, each chunk a transaction on disk.
func BenchmarkPutPages(b *testing.B) {
	s, err := search.Open(b.Context(), "sqlite://"+b.TempDir()+"/index.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	v := newVocabulary(30_000)
	const chunk = 16
	var cpu, worst time.Duration
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		pages := make([]search.Page, chunk)
		for j := range pages {
			pages[j] = search.Page{Tenant: "acme", Job: fmt.Sprintf("job-%05d", i/20), Run: 1, Number: i%20*chunk + j + 1,
				Text: v.text(500)}
		}
		b.StartTimer()
		before, start := cpuTime(), time.Now()
		if err := s.PutPages(b.Context(), pages); err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime() - before
		worst = max(worst, time.Since(start))
	}
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*chunk), "cpu-µs/page")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*chunk), "wall-µs/page")
	b.ReportMetric(math.Round(worst.Seconds()*1e3), "worst-ms/chunk")
}

// BenchmarkSearch looks for words that many, some and few of 4,800 pages have.
func BenchmarkSearch(b *testing.B) {
	s, err := search.Open(b.Context(), "sqlite://"+b.TempDir()+"/index.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	v := newVocabulary(30_000)
	for i := range 75 {
		pages := make([]search.Page, 64)
		for j := range pages {
			pages[j] = search.Page{Tenant: "acme", Job: fmt.Sprintf("job-%05d", i), Run: 1, Number: j + 1, Text: v.text(500)}
		}
		if err := s.PutPages(b.Context(), pages); err != nil {
			b.Fatal(err)
		}
	}
	for _, text := range []string{
		v.words[0], v.words[500], v.words[20_000], v.words[20] + " " + v.words[300],
		`"` + v.words[1] + " " + v.words[2] + `"`, "con*",
	} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				result, err := s.Search(b.Context(), search.Query{Tenant: "acme", Text: text})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(result.Hits)), "hits")
			}
		})
	}
}
