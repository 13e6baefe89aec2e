package index

import (
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
	st := &steps{&Service{deps: stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log}}}
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
