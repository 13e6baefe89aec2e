package standalone_test

import (
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
)

// While a stage stands still the queues fill up one after the other, back to the first. Then uploads are refused
// before anything of them is stored. When the stage is back everything drains, though every queue on the way is full.
func TestOverload(t *testing.T) {
	t.Parallel()
	for _, stage := range []bus.Stage{bus.Render, bus.OCR, bus.Index} {
		t.Run(string(stage)+" stands still", func(t *testing.T) {
			t.Parallel()
			const mark = 8
			r := newTestPipeline(t, pipelineOptions{bus: bustest.NewWithTopology(t, bus.Topology{MaxTasks: mark}),
				without: []string{string(stage)}})
			doc := pdftest.BornDigital(1)
			if stage == bus.OCR {
				doc = scanned()
			}
			ids := r.fillUp(t, doc, stage, mark)
			r.wantRefused(t)
			r.startWaiting(t)
			r.wantDone(t, ids...)
		})
	}
}

// fillUp uploads documents until every queue up to the stage's is at its mark, and one is refused.
func (r *testPipeline) fillUp(t *testing.T, f pdftest.File, last bus.Stage, mark int64) (ids []string) {
	t.Helper()
	// Beyond the marks there are the tasks being processed, and those that passed between two readings of the backlog.
	most := 5 * int(mark) * len(bus.AllStages())
	const heldLooks = 100 // a task that is worked on ends before so many looks do
	var seen []int64
	unchanged := 0
	full := func() bool {
		var now []int64
		inHand := false
		for _, s := range bus.AllStages() {
			b, err := r.Bus.QueryBacklog(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if s == bus.Ingest {
				mark -= mark / 10
			}
			// What needs no recognition goes past that.
			if b.Tasks < mark && (s != bus.OCR || last == bus.OCR) {
				return false
			}
			if s == last {
				// A consumer may hold a task until there is room behind it, and then nothing changes.
				if unchanged++; !slices.Equal(now, seen) {
					unchanged = 0
				}
				seen = now
				return !inHand || unchanged >= heldLooks
			}
			// What is in hand still leaves a place in the queue when it is done, which goes on to the first.
			cons, err := r.Bus.JetStream().Consumer(t.Context(), s.StreamName(), bus.DurableName(s, bus.Batch))
			if err != nil {
				t.Fatal(err)
			}
			pending := cons.CachedInfo().NumAckPending
			now = append(now, b.Tasks, int64(pending))
			inHand = inHand || pending > 0
		}
		return false
	}
	bustest.EventuallyWithin(t, patience, "every queue is full", func() bool {
		j, err := r.upload(t.Context(), f.Name, f.PDF, options(bus.Batch))
		if err == nil {
			ids = append(ids, j.GetId())
			if len(ids) > most {
				t.Fatalf("%d documents were taken, and the queues are not full", len(ids))
			}
			return false
		}
		return full()
	})
	return ids
}

// wantRefused uploads documents that must be refused, over both APIs: told to come later, and with nothing of them
// stored or kept in memory.
func (r *testPipeline) wantRefused(t *testing.T) {
	t.Helper()
	const tries, size = 100, 1 << 20
	before, records := r.stored(t), r.records(t)
	heap := heapInUse()
	body := bytes.Repeat([]byte{' '}, size)
	for n := range tries {
		if n%2 == 0 {
			_, err := r.upload(t.Context(), "a.pdf", body, options(bus.Batch))
			if got := status.Code(err); got != codes.ResourceExhausted {
				t.Fatalf("upload over gRPC: %v, want %s", err, codes.ResourceExhausted)
			}
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.http+"/v1/jobs", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/pdf")
		req.Header.Set("Expect", "100-continue") // the server refuses before it has the body
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("upload over REST: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("upload over REST: status %d, Retry-After %q, want 429 with one", resp.StatusCode,
				resp.Header.Get("Retry-After"))
		}
	}
	if got := r.stored(t); got != before {
		t.Errorf("%d blobs after %d refusals, want the %d from before", got, tries, before)
	}
	if got := r.records(t); got != records {
		t.Errorf("%d records after %d refusals, want the %d from before", got, tries, records)
	}
	// Had the bodies been kept this would be 100 MiB.
	if grown := heapInUse() - heap; grown > 32<<20 {
		t.Errorf("the heap grew by %d bytes over %d refusals, want it flat", grown, tries)
	}
}

// stored counts the documents' blobs: sources and manifests.
func (r *testPipeline) stored(t *testing.T) (n int) {
	t.Helper()
	for e, err := range r.Blobs.ListBlobs(t.Context(), job.DefaultTenant+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Key, "/source.pdf") || strings.HasSuffix(e.Key, "/manifest.json") {
			n++
		}
	}
	return n
}

func (r *testPipeline) records(t *testing.T) (n int) {
	t.Helper()
	if _, err := r.Jobs.ScanChanges(t.Context(), 0, func(job.Change) { n++ }); err != nil {
		t.Fatal(err)
	}
	return n
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
