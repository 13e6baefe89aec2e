package reconcile

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// BenchmarkPass measures passes over a bucket of 100,000 jobs that have ended: the first, which reads all of them,
// and those that follow. The blobs, which would take minutes to make, are left out.
func BenchmarkPass(b *testing.B) {
	const jobs = 100_000
	queue := bustest.New(b)
	blobs, err := blob.Open(b.Context(), "mem://")
	if err != nil {
		b.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: queue, Jobs: bustest.NewJobStore(b, queue), Blobs: blobs, Tel: tel, Log: tel.Log}
	js := queue.JetStream()
	for i := range jobs {
		rec := record()
		now := time.Now().Add(-2 * time.Hour)
		rec.State, rec.StartTime, rec.EndTime, rec.PageCount, rec.ChunkPages, rec.Window = job.Succeeded, now, now, 12, 16, 4
		rec.Filename, rec.SHA256 = fmt.Sprintf("document %d.pdf", i), fmt.Sprintf("%064d", i)
		rec.Document = &job.Document{PDFVersion: "1.7", Title: "A title of some length", Producer: "pdfTeX-1.40.25",
			Creator: "LaTeX with hyperref"}
		rec.Outcomes = map[string]int{outcome.Native: 12}
		rec.FailedPages = map[fault.Code]string{}
		rec.Stages = map[string]job.StageTimes{}
		for _, s := range []string{"ingest", "scan", "render", "ocr", "index"} {
			rec.Stages[s] = job.StageTimes{Start: now, End: now, Units: 12, Busy: 0.123}
		}
		data, err := json.Marshal(rec)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := js.PublishAsync("$KV.jobs.job.default."+string(rec.ID), data); err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			b.Logf("a record has %d bytes", len(data))
		}
	}
	<-js.PublishAsyncComplete()
	r, err := New(DefaultConfig(), env, &fakeIndex{})
	if err != nil {
		b.Fatal(err)
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	before, start := heap(), time.Now()
	if err := r.readChanges(b.Context()); err != nil {
		b.Fatal(err)
	}
	read := time.Since(start)
	if _, err := r.RunPass(b.Context()); err != nil {
		b.Fatal(err)
	}
	first, kept := time.Since(start), heap()-before
	for b.Loop() {
		// As if a minute had passed since the last one.
		r.uploads.early -= 2
		if _, err := r.RunPass(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	// After the loop, which resets what was reported before it.
	b.ReportMetric(read.Seconds(), "s/first-read")
	b.ReportMetric(first.Seconds(), "s/first-pass")
	b.ReportMetric(kept, "MiB-kept")
}
