package render

import (
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A chunk goes on in its own lane, unless pages of it hang: other tasks of the lane must not wait for those.
func TestNewContinuation(t *testing.T) {
	t.Parallel()
	sound := &inkstreamv1.Page{}
	failed := func(code fault.Code) *inkstreamv1.Page {
		return &inkstreamv1.Page{Error: &inkstreamv1.Error{Code: string(code)}}
	}
	for _, tt := range []struct {
		name  string
		pages []*inkstreamv1.Page
		came  bus.Lane
		want  bus.Lane
	}{
		{name: "slow pages", pages: []*inkstreamv1.Page{sound, sound}, came: bus.Interactive, want: bus.Interactive},
		{name: "slow pages of a batch", pages: []*inkstreamv1.Page{sound, sound}, came: bus.Batch, want: bus.Batch},
		{
			name: "one that hangs", pages: []*inkstreamv1.Page{sound, failed(fault.PageTimeout)},
			came: bus.Interactive, want: bus.Interactive,
		},
		{
			name:  "two that hang",
			pages: []*inkstreamv1.Page{failed(fault.PageTimeout), sound, failed(fault.PageTimeout)},
			came:  bus.Interactive, want: bus.Batch,
		},
		{
			name:  "two that fail at once",
			pages: []*inkstreamv1.Page{failed(fault.PageDamaged), failed(fault.PageDamaged)},
			came:  bus.Interactive, want: bus.Interactive,
		},
	} {
		task := &busv1.RenderTask{Unit: &busv1.Unit{Tenant: "default", Job: "j1", Run: 2}, Chunk: 3, FirstPage: 49,
			LastPage: 64, Replay: 7}
		got := newContinuation(task, chunkResult{&inkstreamv1.PageBatch{Pages: tt.pages}, 52}, tt.came)
		if got.Lane != tt.want {
			t.Errorf("%s: goes on in the %s lane, want %s", tt.name, got.Lane, tt.want)
		}
		if next, ok := got.Task.(*busv1.RenderTask); !ok || next.GetFromPage() != 52 || next.GetLastPage() != 64 ||
			task.GetFromPage() != 0 || got.Replay != 7 {
			t.Errorf("%s: goes on with %v, want pages 52 to 64 of the chunk", tt.name, got.Task)
		}
		if again := newContinuation(task, chunkResult{&inkstreamv1.PageBatch{Pages: tt.pages}, 53},
			tt.came); again.MessageID() == got.MessageID() {
			t.Errorf("%s: what goes on with the next page has the same id %s", tt.name, got.MessageID())
		}
	}
}
