package index

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A handler that is about to end a run leaves the new run alone if the job is cancelled and retried at that moment.
func TestFinaliseOfEarlierRun(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	tel := telemetry.NewDiscard()
	deps := stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log}
	st := &steps{&Service{deps: deps, onEnd: func() {}}}
	now := job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 2, State: job.Running, PageCount: 1, ChunkPages: 16, Window: 4,
		CreateTime: time.Now(), StartTime: time.Now(),
	}
	if err := st.deps.Jobs.CreateRecord(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	earlier := now
	earlier.Run = 1
	progress := job.NewProgress(1, 1)
	// No page could be read, so that there is nothing to assemble.
	if _, err := progress.SetOutcomes([]job.Outcome{{Page: 1, Kind: outcome.Failed,
		Code: fault.PageDamaged}}); err != nil {
		t.Fatal(err)
	}
	err = st.finaliseRun(t.Context(), &stage.Snapshot{Job: &earlier, Progress: progress, Started: time.Now()})
	if fault.KindOf(err) != fault.Busy {
		t.Errorf("end of run 1: got %v, want a Busy fault", err)
	}
	rec, err := st.deps.Jobs.LoadRecord(t.Context(), now.Tenant, now.ID)
	if err != nil || rec.State != job.Running || rec.Run != 2 {
		t.Errorf("the job: got %s in run %d, %v, want it running in run 2", rec.State, rec.Run, err)
	}
}

// Whichever of its exchanges with the store fails, assembling ends with that error, and the next try finds its way.
func TestFinaliseWithFailingStore(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	r := st.createJob(t, func(r *job.Record) {
		r.Options.Artifacts = []job.Artifact{job.ArtifactText, job.ArtifactJSON, job.ArtifactMarkdown}
	})
	page, err := document.EncodeObservedPage(&inkstreamv1.Page{Number: 1, Outcome: outcome.Native})
	if err != nil {
		t.Fatal(err)
	}
	blobs := st.deps.Blobs
	if err := blobs.PutAll(ctx, []blob.Object{
		{Key: job.InfoKey(r.Tenant, r.ID, 1), Data: []byte("{}")}, {Key: job.PageKey(r.Tenant, r.ID, 1, 1), Data: page},
	}); err != nil {
		t.Fatal(err)
	}
	p := job.NewProgress(1, 1)
	if _, err := p.SetOutcomes([]job.Outcome{{Page: 1, Kind: outcome.Native}}); err != nil {
		t.Fatal(err)
	}
	var left atomic.Int32
	st.deps.Blobs = blobtest.NewFaultyStore(blobs, func(blobtest.Op, string) (f blobtest.Fault) {
		if left.Add(-1) == 0 {
			f.Err = blobtest.ErrInjected
		}
		return f
	})
	for n := int32(1); ; n++ {
		left.Store(n)
		err := st.finaliseRun(ctx, &stage.Snapshot{Job: r, Progress: p, Started: time.Now()})
		if left.Load() > 0 { // all of it took fewer exchanges
			if err != nil || n < 5 {
				t.Errorf("after %d failures: got %v, want the run's end", n-1, err)
			}
			break
		}
		if err != nil && !errors.Is(err, blobtest.ErrInjected) {
			t.Errorf("exchange %d fails: got %v, want its error", n, err)
		}
	}
	if rec, err := st.deps.Jobs.LoadRecord(ctx, r.Tenant, r.ID); err != nil || rec.State != job.Succeeded {
		t.Errorf("got %s, %v, want SUCCEEDED", rec.State, err)
	}
}
