package standalone_test

import (
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/scan"
	"inkstream.dev/services/standalone"
)

// A one-page document overtakes the chunks of a long one that was there before it.
func TestInteractiveOvertakesBatch(t *testing.T) {
	t.Parallel()
	r := newTestPipeline(t, pipelineOptions{})
	const pages = 480
	long := r.send(t, pdftest.BornDigital(pages), bus.Batch)
	under := func() *inkstreamv1.Job {
		j, err := r.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: long.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	bustest.EventuallyWithin(t, patience, "the long document is under way",
		func() bool { return under().GetPagesDone() > 0 })
	short := r.send(t, pdftest.BornDigital(1), bus.Interactive)
	r.wantEnd(t, short.GetId())
	if j := under(); j.GetState() != inkstreamv1.Job_RUNNING {
		t.Errorf("the long document is %s, %d pages done, when the short one behind it is done; want it under way",
			j.GetState(), j.GetPagesDone())
	}
	r.wantDone(t, short.GetId(), long.GetId())
}

func (r *testPipeline) wantEnd(t *testing.T, id string) {
	t.Helper()
	j, err := r.finish(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	check(t, j)
}

// census counts blobs of a kind, now and at most.
type census struct {
	mu        sync.Mutex // guards all below
	now, most map[string]int
	seen      map[string]bool
}

// plan is a blobtest.Plan that lets everything pass and counts rasters and chunks' batches.
func (c *census) plan(op blobtest.Op, key string) blobtest.Fault {
	_, name, _ := strings.Cut(key, "/tmp/run-1/")
	kind, _, isBlob := strings.Cut(name, "-")
	if !isBlob || op != blobtest.Commit && op != blobtest.Delete {
		return blobtest.Fault{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case op == blobtest.Commit && !c.seen[key]:
		c.seen[key] = true
		c.now[kind]++
	case op == blobtest.Delete && c.seen[key]:
		delete(c.seen, key)
		c.now[kind]--
	}
	c.most[kind] = max(c.most[kind], c.now[kind])
	return blobtest.Fault{}
}

// Of a long document no more than the window's chunks are in flight, and no more rasters are stored than these have
// pages, at any moment.
func TestFanOutIsWindowed(t *testing.T) {
	t.Parallel()
	const window, chunks = 2, 5
	c := &census{now: map[string]int{}, most: map[string]int{}, seen: map[string]bool{}}
	r := newTestPipeline(t, pipelineOptions{
		change: func(cfg *standalone.Config) { cfg.Scan.Window = window },
		blobs:  func(s *blob.Store) *blob.Store { return blobtest.NewFaultyStore(s, c.plan) },
	})
	j := r.send(t, pdftest.ScannedFile(pdftest.ScanOptions{Pages: chunks * scan.ChunkPages, DPI: 60, Size: 16,
		Design: pdftest.Letter}), bus.Batch)
	r.wantDone(t, j.GetId())
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, most := range map[string]int{"chunk": window, "raster": window * scan.ChunkPages} {
		if got := c.most[kind]; got > most || got == 0 {
			t.Errorf("%s blobs at a time: got %d, want 1 to %d", kind, got, most)
		}
	}
}
