package index

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newSteps(t *testing.T) *steps {
	t.Helper()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	store, err := search.Open(t.Context(), "sqlite://"+t.TempDir()+"/index.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log}
	return &steps{&Service{deps: env, cfg: Config{Workers: 2, DrainTimeout: time.Second}, store: store,
		onEnd: func() {}}}
}

// createJob stores a job of one page that runs.
func (st *steps) createJob(t *testing.T, change func(*job.Record)) *job.Record {
	t.Helper()
	r := &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Running, PageCount: 1, ChunkPages: 16, Window: 4,
		SHA256: "ab", Size: 7,
		CreateTime: time.Now(), StartTime: time.Now(), Options: job.Options{Lane: "interactive"},
	}
	change(r)
	if err := st.deps.Jobs.CreateRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r, err := st.deps.Jobs.LoadRecord(t.Context(), r.Tenant, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func setSucceeded(r *job.Record) {
	r.State, r.ResultRun, r.EndTime, r.Filename = job.Succeeded, 1, time.Now(), "secret.pdf"
}

// A handler that takes over results for a run that was cancelled leaves those of the next run, which came to the same
// conclusion.
func TestTakeOverForAnEarlierRun(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	leader := st.createJob(t, setSucceeded)
	known := st.createJob(t, func(r *job.Record) {
		r.PageCount, r.ChunkPages, r.Window, r.DuplicateOf = 0, 0, 0,
			leader.ID
	})
	if _, err := st.deps.JobService().CancelJob(ctx, known.Tenant, known.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := st.deps.JobService().RetryJob(ctx, known.Tenant, known.ID, job.ScopeMissing); err != nil {
		t.Fatal(err)
	}
	if _, err := st.deps.Jobs.UpdateRecord(ctx, known.Tenant, known.ID, func(r *job.Record) error { // as ingest does
		r.DuplicateOf = leader.ID
		return r.Transition(job.Running, time.Now())
	}); err != nil {
		t.Fatal(err)
	}
	if err := st.endAsDuplicate(ctx, &stage.Snapshot{Job: known, Started: time.Now()}, leader); err == nil {
		t.Error("run 1 ended the job")
	}
	if err := st.abandonTakeOver(ctx, &stage.Snapshot{Job: known, Started: time.Now()}); err == nil {
		t.Error("run 1 had the job do the work itself")
	}
	if rec, err := st.deps.Jobs.LoadRecord(ctx, known.Tenant, known.ID); err != nil || rec.State != job.Running ||
		rec.DuplicateOf != leader.ID {
		t.Errorf("got %v, %v, want run 2 as it was", rec, err)
	}
}

// blockedPageIndex stores pages when it is allowed to.
type blockedPageIndex struct {
	search.Store
	called, goOn, stored chan struct{}
}

func (h *blockedPageIndex) PutPages(ctx context.Context, p []search.Page) error {
	close(h.called)
	<-h.goOn
	defer close(h.stored)
	return h.Store.PutPages(ctx, p)
}

// A job may be deleted and removed while a page of it is stored.
func TestPageStoredAfterRemovalIsDeleted(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	index := st.store
	held := &blockedPageIndex{index, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	st.store = held
	running, stop := context.WithCancel(ctx)
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- st.Run(running, func() { close(ready) }) }()
	<-ready
	defer func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	r := st.createJob(t, func(*job.Record) {})
	if err := st.deps.Jobs.CreateProgress(ctx, r.Tenant, r.ID, job.NewProgress(1, 1)); err != nil {
		t.Fatal(err)
	}
	st.queuePage(t, r, "confidential")
	<-held.called
	if _, err := st.deps.JobService().DeleteJob(ctx, r.Tenant, r.ID); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the job is removed", func() bool {
		rec, err := st.deps.Jobs.LoadRecord(ctx, r.Tenant, r.ID)
		return err == nil && rec.IsTombstone()
	})
	close(held.goOn)
	<-held.stored
	bustest.Eventually(t, "the page is nowhere", func() bool {
		backlog, err := st.deps.Bus.QueryBacklog(ctx, bus.Index)
		if err != nil || backlog.Tasks > 0 {
			return false
		}
		for _, err := range st.deps.Blobs.ListBlobs(ctx, job.Folder(r.Tenant, r.ID)) {
			t.Log("a blob is left", err)
			return false
		}
		found, err := index.Search(ctx, search.Query{Tenant: r.Tenant, Text: "confidential", Limit: 10})
		return err == nil && len(found.Hits) == 0
	})
}

// queuePage queues the first page of a job, with a text.
func (st *steps) queuePage(t *testing.T, r *job.Record, text string) {
	t.Helper()
	box := []float32{0, 0, 10, 10}
	line := &inkstreamv1.Line{Bbox: box, Words: []*inkstreamv1.Word{{Text: text, Bbox: box}}}
	page := &inkstreamv1.Page{
		Number: 1, Outcome: outcome.Native, Width: 100, Height: 100,
		Blocks: []*inkstreamv1.Block{{Bbox: box, Lines: []*inkstreamv1.Line{line}}},
	}
	data, err := proto.Marshal(&inkstreamv1.PageBatch{Pages: []*inkstreamv1.Page{page}})
	if err != nil {
		t.Fatal(err)
	}
	key := job.BatchKey(r.Tenant, r.ID, 1, 0)
	if err := st.deps.Blobs.PutBytes(t.Context(), key, data, ""); err != nil {
		t.Fatal(err)
	}
	err = st.deps.Bus.Publish(t.Context(), bus.Message{
		Stage: bus.Index, Lane: bus.Interactive, Unit: "page-1",
		Task: &busv1.IndexTask{Unit: jobs.NewUnit(r), Pages: []int32{1}, Batch: &busv1.Blob{Key: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
