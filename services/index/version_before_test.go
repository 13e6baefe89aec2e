package index

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
)

// The version before has one kind of task for pages, the end of a run and the removal of a job. What it has queued is
// done.
func TestTasksOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	create := func(pages int, failed ...int) *job.Record {
		t.Helper()
		r := st.createJob(t, func(r *job.Record) { r.PageCount = pages })
		p := job.NewProgress(r.Run, pages)
		for _, n := range failed {
			if _, err := p.SetOutcomes([]job.Outcome{{Page: n, Kind: outcome.Failed, Code: fault.PageDamaged}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.deps.Jobs.CreateProgress(ctx, r.Tenant, r.ID, p); err != nil {
			t.Fatal(err)
		}
		return r
	}
	publish := func(r *job.Record, unit, rest string) {
		t.Helper()
		msg := nats.NewMsg("ink.index.interactive." + r.Tenant + "." + string(r.ID))
		msg.Header.Set(bus.HeaderSchema, "inkstream.bus.v1.IndexTask")
		msg.Header.Set(bus.HeaderRun, "1")
		msg.Header.Set("Nats-Msg-Id", string(r.ID)+".1.index."+unit)
		msg.Data = fmt.Appendf(nil, `{"unit":{"tenant":%q, "job":%q, "run":1}, %s}`, r.Tenant, r.ID, rest)
		if _, err := st.deps.Bus.JetStream().PublishMsg(ctx, msg); err != nil {
			t.Fatal(err)
		}
	}

	pages := create(2)
	st.queuePage(t, pages, "before") // stores the batch
	if err := st.deps.Bus.PurgeTasks(ctx, pages.Tenant, string(pages.ID)); err != nil {
		t.Fatal(err)
	}
	publish(pages, "chunk-0", fmt.Sprintf(`"pages":[1], "batch":{"key":%q}`, job.BatchKey(pages.Tenant, pages.ID, 1, 0)))
	finalise := create(1, 1)
	publish(finalise, "finalise", `"finalise":true`)
	remove := create(1)
	remove, err := st.deps.Jobs.UpdateRecord(ctx, remove.Tenant, remove.ID, func(r *job.Record) error {
		if err := r.Transition(job.Cancelled, time.Now()); err != nil {
			return err
		}
		return r.Transition(job.Deleted, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	source := job.SourceKey(remove.Tenant, remove.ID)
	if err := st.deps.Blobs.PutBytes(ctx, source, []byte("%PDF"), ""); err != nil {
		t.Fatal(err)
	}
	publish(remove, "remove", `"remove":true`)

	st.runService(t)
	bustest.Eventually(t, "the tasks are gone", func() bool {
		backlog, err := st.deps.Bus.QueryBacklog(ctx, bus.Index)
		return err == nil && backlog.Tasks == 0
	})
	p, err := st.deps.Jobs.LoadProgress(ctx, pages.Tenant, pages.ID)
	if err != nil || p.PageOutcome(1) != outcome.Native || p.PagesDone(2, 2) {
		t.Errorf("pages: got %+v, %v, want page 1 counted alone", p, err)
	}
	data, err := st.deps.Blobs.ReadBytes(ctx, job.PageKey(pages.Tenant, pages.ID, 1, 1), 1<<20)
	if err != nil || len(data) == 0 {
		t.Errorf("pages: got %d bytes, %v, want page 1 stored", len(data), err)
	}
	rec, err := st.deps.Jobs.LoadRecord(ctx, finalise.Tenant, finalise.ID)
	if err != nil || rec.State != job.Failed || rec.Outcomes[outcome.Failed] != 1 {
		t.Errorf("finalise: got %+v, %v, want the job ended as its page did", rec, err)
	}
	rec, err = st.deps.Jobs.LoadRecord(ctx, remove.Tenant, remove.ID)
	if err != nil || !rec.IsTombstone() {
		t.Errorf("remove: got %+v, %v, want a tombstone", rec, err)
	}
	if _, err := st.deps.Blobs.ReadAttributes(ctx, source); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("remove: the document: got %v, want it gone", err)
	}
}
