package index

import (
	"context"
	"slices"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pageLog is an index that notes what is stored.
type pageLog struct {
	search.Store
	pages []search.Page
}

func (l *pageLog) PutPages(ctx context.Context, pages []search.Page) error {
	l.pages = append(l.pages, pages...)
	return l.Store.PutPages(ctx, pages)
}

// Pages of the batch lane may be stored together with those of other jobs, but for those of a document of several chunks,
// of which one waits for another. Those of the other lane are stored at once.
func TestPagesOfBatchLaneCanWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lane    bus.Lane
		pages   int
		canWait bool
	}{{bus.Batch, 1, true}, {bus.Batch, 17, false}, {bus.Interactive, 1, false}} {
		st := newSteps(t)
		log := &pageLog{Store: st.store}
		st.store = log
		r := st.createJob(t, func(r *job.Record) { r.PageCount, r.ChunkPages = tt.pages, 16 })
		var pages []*inkstreamv1.Page
		for n := range tt.pages {
			pages = append(pages, &inkstreamv1.Page{Number: int32(n + 1), Outcome: outcome.Native})
		}
		if err := (&pageSteps{st}).storePages(t.Context(), &stage.Snapshot{Job: r, Lane: tt.lane}, pages); err != nil {
			t.Fatal(err)
		}
		r.ResultRun = r.Run
		duplicate := st.createJob(t, func(*job.Record) {})
		if err := st.copyStoredPages(t.Context(), &stage.Snapshot{Job: duplicate, Lane: tt.lane}, r); err != nil {
			t.Fatal(err)
		}
		if len(log.pages) != 2*tt.pages || slices.ContainsFunc(log.pages, func(p search.Page) bool { return p.CanWait != tt.canWait }) {
			t.Errorf("%+v: stored %+v", tt, log.pages)
		}
	}
}
