package index

import (
	"context"
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

// Pages of the batch lane may be stored together with later ones, those of the other lane at once.
func TestPagesOfBatchLaneCanWait(t *testing.T) {
	t.Parallel()
	for lane, canWait := range map[bus.Lane]bool{bus.Batch: true, bus.Interactive: false} {
		st := newSteps(t)
		log := &pageLog{Store: st.store}
		st.store = log
		r := st.createJob(t, func(*job.Record) {})
		page := &inkstreamv1.Page{Number: 1, Outcome: outcome.Native}
		if err := (&pageSteps{st}).storePages(t.Context(), &stage.Snapshot{Job: r, Lane: lane},
			[]*inkstreamv1.Page{page}); err != nil {
			t.Fatal(err)
		}
		r.PageCount, r.ResultRun = 1, r.Run
		duplicate := st.createJob(t, func(*job.Record) {})
		if err := st.copyStoredPages(t.Context(), &stage.Snapshot{Job: duplicate, Lane: lane}, r); err != nil {
			t.Fatal(err)
		}
		if len(log.pages) != 2 || log.pages[0].CanWait != canWait || log.pages[1].CanWait != canWait {
			t.Errorf("%s: stored %+v, want two that can wait: %t", lane, log.pages, canWait)
		}
	}
}
