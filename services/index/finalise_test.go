package index

import (
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// Whoever is about to end a run when its job is cancelled and run anew leaves the new run alone.
func TestEndOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	tel := telemetry.Discard()
	st := &steps{&Service{env: stage.Env{Bus: b, Jobs: bustest.Jobs(t, b), Blobs: blobs, Tel: tel, Log: tel.Log}}}
	now := job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 2, State: job.Running, PageCount: 1, ChunkPages: 16, Window: 4,
		CreateTime: time.Now(), StartTime: time.Now(),
	}
	if err := st.env.Jobs.Create(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	earlier := now
	earlier.Run = 1
	progress := job.NewProgress(1, 1)
	// No page could be read, so that there is nothing to assemble.
	if _, err := progress.Set([]job.Outcome{{Page: 1, Kind: job.OutcomeFailed, Code: fault.PageDamaged}}); err != nil {
		t.Fatal(err)
	}
	err = st.finalise(t.Context(), &stage.Snapshot{Job: &earlier, Progress: progress, Started: time.Now()})
	if fault.KindOf(err) != fault.Busy {
		t.Errorf("end of run 1: got %v, want a Busy fault", err)
	}
	rec, err := st.env.Jobs.Load(t.Context(), now.Tenant, now.ID)
	if err != nil || rec.State != job.Running || rec.Run != 2 {
		t.Errorf("the job: got %s in run %d, %v, want it running in run 2", rec.State, rec.Run, err)
	}
}
