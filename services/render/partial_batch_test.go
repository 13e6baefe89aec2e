package render

import (
	"testing"

	"inkstream.dev/pkg/bus"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A chunk goes on in its own lane, unless its next page takes longer than a first try: that goes behind others.
func TestNewContinuation(t *testing.T) {
	t.Parallel()
	for _, came := range []bus.Lane{bus.Interactive, bus.Batch} {
		task := &busv1.RenderTask{Unit: &busv1.Unit{Tenant: "default", Job: "j1", Run: 2}, Chunk: 3, FirstPage: 49,
			LastPage: 64, Replay: 7}
		ids := map[string]bool{}
		for _, r := range []chunkResult{{nextPage: 52}, {nextPage: 52, slow: true}, {nextPage: 53}, {nextPage: 53, slow: true}} {
			r.batch = &inkstreamv1.PageBatch{}
			got, lane := newContinuation(task, r, came), came
			if r.slow {
				lane = bus.Batch
			}
			if got.Lane != lane || got.Slow != r.slow {
				t.Errorf("page %d, slow %t: goes on in the %s lane, slow %t, want %s", r.nextPage, r.slow, got.Lane, got.Slow, lane)
			}
			if next, ok := got.Task.(*busv1.RenderTask); !ok || int(next.GetFromPage()) != r.nextPage ||
				next.GetLastPage() != 64 || task.GetFromPage() != 0 || got.Replay != 7 {
				t.Errorf("goes on with %v, want pages %d to 64 of the chunk", got.Task, r.nextPage)
			}
			ids[got.MessageID()] = true
		}
		if len(ids) != 4 {
			t.Errorf("message ids %v, want four: the broker would take one for a repeat of the other", ids)
		}
	}
}
