package search_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/search/searchtest"
)

// BenchmarkJobs writes what jobs of one page make a server write: each worker a page and then its document, and
// beside them, as the projector does, the documents and the events of all jobs once more, many at a time. It reports
// the processor time of a job.
func BenchmarkJobs(b *testing.B) {
	b.Run("80_a_second", func(b *testing.B) { benchmarkJobs(b, 2, 80) })
	for _, workers := range []int{2, 16} {
		b.Run(fmt.Sprint(workers, "_at_once"), func(b *testing.B) { benchmarkJobs(b, workers, 0) })
	}
}

// benchmarkJobs writes as fast as it can, or, if rate is not 0, so many jobs a second.
func benchmarkJobs(b *testing.B, workers, rate int) {
	s, err := search.Open(b.Context(), "sqlite://"+b.TempDir()+"/index.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	v := newVocabulary(30_000)
	texts := make([]string, b.N)
	for i := range texts {
		texts[i] = v.text(400)
	}
	const atOnce, events = 60, 6 // of a second
	var next atomic.Int64
	follow := make(chan int, b.N/atOnce+1)
	check := func(err error) {
		if err != nil {
			b.Error(err)
		}
	}
	due := make(<-chan time.Time)
	if rate > 0 {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		due = tick.C
	}
	b.ResetTimer()
	before := cpuTime()
	var wg, projector sync.WaitGroup
	projector.Go(func() {
		for first := range follow {
			var docs []search.Document
			var trail []search.Event
			for i := first; i < first+atOnce; i++ {
				docs = append(docs, jobDocument(i))
				for k := range events {
					trail = append(trail, search.Event{
						Tenant: "acme", Job: docs[len(docs)-1].Job, ID: fmt.Sprintf("%024d", i*events+k),
						Sequence: uint64(i*events + k + 1), Type: "stage_done", Run: 1,
						Stage: "render", Time: time.Now(), Attributes: map[string]string{"unit": "1"},
						ExpireTime: time.Now().Add(time.Hour),
					})
				}
			}
			check(s.PutDocuments(b.Context(), docs))
			check(s.PutEvents(b.Context(), trail))
		}
	})
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				if rate > 0 {
					<-due
				}
				doc := jobDocument(i)
				check(s.PutPages(b.Context(), []search.Page{{Tenant: "acme", Job: doc.Job, Run: 1, Number: 1, Language: "en",
					Text: texts[i]}}))
				check(s.PutDocument(b.Context(), doc))
				if i%atOnce == atOnce-1 {
					follow <- i + 1 - atOnce
				}
			}
		})
	}
	wg.Wait()
	close(follow)
	projector.Wait()
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-µs/job")
}

func jobDocument(i int) search.Document {
	at := time.Unix(1_700_000_000, 0).Add(time.Duration(i) * 10 * time.Millisecond)
	run := search.StageRun{Start: at, End: at.Add(20 * time.Millisecond), Units: 1, Busy: 5 * time.Millisecond}
	return search.Document{
		Tenant: "acme", Job: fmt.Sprintf("01J%023d", i), Filename: "report.pdf", SHA256: strings.Repeat("ab", 32),
		PageCount: 1, State: "SUCCEEDED",
		CreateTime: at, EndTime: at.Add(time.Second), Lane: "small", Labels: map[string]string{"caller": "bench"},
		Stages: map[string]search.StageRun{"ingest": run, "scan": run, "render": run, "index": run},
	}
}

// BenchmarkCounts counts 100,000 documents as pages do at every change: all of them, which are counted as they are
// written, and all of them as what a filter finds, which are read.
func BenchmarkCounts(b *testing.B) {
	s, err := search.Open(b.Context(), "sqlite://"+b.TempDir()+"/index.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const documents, atOnce = 100_000, 5000
	for first := 0; first < documents; first += atOnce {
		docs := make([]search.Document, atOnce)
		for i := range docs {
			docs[i] = jobDocument(first + i)
			if i%50 == 0 {
				docs[i].State, docs[i].Labels = "FAILED", map[string]string{"~code": "DAMAGED"}
			}
			if i%20 == 0 {
				docs[i].Labels = map[string]string{"~batch": fmt.Sprintf("01J%023d", (first+i)/100)}
			}
		}
		if err := s.PutDocuments(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	all := search.JobQuery{Tenant: "acme", Limit: 50}
	filtered := all
	filtered.Filter.MinPages = 1
	for name, q := range map[string]search.JobQuery{"all": all, "by_filter": filtered} {
		b.Run("states_and_codes_"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.CountStates(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				codes := q
				codes.States = []string{"FAILED", "REJECTED", "PARTIAL"}
				if _, err := s.CountLabels(b.Context(), codes, "~code"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("batches", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.CountGroups(b.Context(), all, "~batch", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	one := all
	one.Filter.Labels = map[string]string{"~batch": fmt.Sprintf("01J%023d", 500)}
	b.Run("one_batch", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.ListJobs(b.Context(), one); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLists lists the 50 newest of 1,000 and of 100,000 documents, each stored three times as a job under way is,
// in ClickHouse: all of them, and those of a state that one in 1,000 or, of the few, one in ten has.
func BenchmarkLists(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("of_", n), func(b *testing.B) { benchmarkLists(b, n) })
	}
}

func benchmarkLists(b *testing.B, documents int) {
	server := searchtest.NewClickHouse(b)
	s, err := search.Open(b.Context(), server.URL())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const versions = 3
	atOnce := min(documents, 5000)
	for first := 0; first < documents; first += atOnce {
		for range versions {
			docs := make([]search.Document, atOnce)
			for i := range docs {
				docs[i] = jobDocument(first + i)
				if (first+i)%max(10, documents/100) == 0 {
					docs[i].State = "FAILED"
				}
			}
			if err := s.PutDocuments(b.Context(), docs); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, states := range map[string][]string{"all": nil, "failed": {"FAILED"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, err := s.ListJobs(b.Context(), search.JobQuery{Tenant: "acme", Limit: 50, States: states})
				if err != nil || len(page.Jobs) != 50 {
					b.Fatalf("%d jobs, %v", len(page.Jobs), err)
				}
			}
		})
	}
}
