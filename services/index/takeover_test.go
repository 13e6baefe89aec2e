package index

import (
	"context"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
)

// runService runs the service for as long as the test goes on.
func (st *steps) runService(t *testing.T) {
	t.Helper()
	running, stop := context.WithCancel(t.Context())
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- st.Run(running, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// storeRunBlobs stores what a job at work has, and returns a function that says what of it is gone.
func (st *steps) storeRunBlobs(t *testing.T, r *job.Record) (gone func() []string) {
	t.Helper()
	keys := []string{
		job.InfoKey(r.Tenant, r.ID, r.Run), job.PageKey(r.Tenant, r.ID, r.Run, 1), job.BatchKey(r.Tenant, r.ID, r.Run, 0),
	}
	for _, key := range keys {
		if err := st.deps.Blobs.PutBytes(t.Context(), key, []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	return func() (lost []string) {
		for _, key := range keys {
			if there, err := st.deps.Blobs.BlobExists(t.Context(), key); err != nil || !there {
				lost = append(lost, key)
			}
		}
		return lost
	}
}

// The task that was to take over another job's results comes late, or once more, when that has come to nothing and
// the job does the work itself: it goes, and the job goes on.
func TestLateTaskOfATakeOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*job.Record)
		cut    bool
	}{
		{"opened", func(r *job.Record) { r.ChunkPages, r.Window = 0, 0 }, false},
		{"cut", func(*job.Record) {}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st, ctx := newSteps(t), t.Context()
			r := st.createJob(t, tt.change)
			if tt.cut {
				if err := st.deps.Jobs.CreateProgress(ctx, r.Tenant, r.ID, job.NewProgress(1, 1)); err != nil {
					t.Fatal(err)
				}
			}
			gone := st.storeRunBlobs(t, r)
			if err := st.deps.Bus.Publish(ctx, jobs.FinaliseMessage(r, bus.Interactive, 7)); err != nil {
				t.Fatal(err)
			}
			st.runService(t)
			bustest.Eventually(t, "the task is gone", func() bool {
				backlog, err := st.deps.Bus.QueryBacklog(ctx, bus.Index)
				return err == nil && backlog.Tasks == 0
			})
			rec, err := st.deps.Jobs.LoadRecord(ctx, r.Tenant, r.ID)
			if err != nil || rec.State != job.Running || len(rec.Failures) > 0 {
				t.Errorf("got %+v, %v, want the job running without a failure", rec, err)
			}
			if lost := gone(); len(lost) > 0 {
				t.Errorf("gone: %q", lost)
			}
			for _, s := range []bus.Stage{bus.Ingest, bus.Scan} {
				if backlog, err := st.deps.Bus.QueryBacklog(ctx, s); err != nil || backlog.Tasks > 0 {
					t.Errorf("%s: got %d tasks, %v, want none", s, backlog.Tasks, err)
				}
			}
		})
	}
}

// Two handlers may be at one such task, because the broker took the first for gone: what the slower one read is over.
func TestSlowHandlerOfATakeOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		ended bool // the faster one took the results over; else it found none
		here  bool // the slower one finds them
	}{
		{"the job does the work itself", false, false},
		{"the job does the work itself, and the results are back", false, true},
		{"the job has taken the results over, and then they went", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st, ctx := newSteps(t), t.Context()
			leader := st.createJob(t, setSucceeded)
			known := st.createJob(t, func(r *job.Record) {
				r.PageCount, r.ChunkPages, r.Window, r.DuplicateOf = 0, 0, 0,
					leader.ID
			})
			now, err := st.deps.Jobs.UpdateRecord(ctx, known.Tenant, known.ID, func(r *job.Record) error {
				r.PageCount, r.ChunkPages, r.Window = 1, 16, 4
				if tt.ended {
					r.ResultRun = 1
					return r.Transition(job.Succeeded, time.Now())
				}
				r.DuplicateOf = ""
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			gone := st.storeRunBlobs(t, known)
			s := &stage.Snapshot{Job: known, Started: time.Now(), Lane: bus.Interactive}
			if tt.here {
				err = st.endAsDuplicate(ctx, s, leader)
			} else {
				err = st.abandonTakeOver(ctx, s)
			}
			if err != nil {
				t.Error(err)
			}
			if lost := gone(); len(lost) > 0 {
				t.Errorf("gone: %q", lost)
			}
			if rec, err := st.deps.Jobs.LoadRecord(ctx, known.Tenant, known.ID); err != nil || rec.State != now.State ||
				rec.DuplicateOf != now.DuplicateOf {
				t.Errorf("got %+v, %v, want the job as it was", rec, err)
			}
			if out := afterFinalise(s); len(out.Messages) > 0 {
				t.Errorf("got messages %v, want none", out.Messages)
			}
		})
	}
}

// A replica that lags may say of a run whose pages are all in that they are not, or that it was never cut: its end
// must not be taken for such a task.
func TestEndOfARunIsNotDroppedForAnOldRead(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	uncut := st.createJob(t, func(r *job.Record) { r.ChunkPages = 0 })
	cut, err := st.deps.Jobs.UpdateRecord(ctx, uncut.Tenant, uncut.ID,
		func(r *job.Record) error { r.ChunkPages = 16; return nil })
	if err == nil {
		err = st.deps.Jobs.CreateProgress(ctx, cut.Tenant, cut.ID, job.NewProgress(1, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	old, err := st.deps.Jobs.LoadProgress(ctx, cut.Tenant, cut.ID)
	if err == nil {
		_, err = st.deps.Jobs.UpdateProgress(ctx, cut.Tenant, cut.ID, func(p *job.Progress) error {
			_, err := p.SetOutcomes([]job.Outcome{{Page: 1, Kind: outcome.Native}})
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*stage.Snapshot{{Job: uncut}, {Job: cut, Progress: old}} {
		if err := st.finaliseRun(ctx, s); fault.KindOf(err) != fault.Busy {
			t.Errorf("chunks of %d pages: got %v, want a Busy fault", s.Job.ChunkPages, err)
		}
	}
}
