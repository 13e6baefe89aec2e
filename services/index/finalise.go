package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// finalise assembles the artifacts page by page, so that its memory is bounded by a page, and ends the job.
func (st *steps) finalise(ctx context.Context, s *stage.Snapshot) error {
	r, began := s.Job, time.Now()
	switch {
	case r.DuplicateOf != "":
		return st.takeOver(ctx, s)
	case r.PageCount == 0:
		return nil // there was nothing to take over, and a crash came before the work was queued
	case s.Progress == nil || !s.Progress.AllDone():
		return st.unfinished(ctx, s)
	}
	artifacts := 0
	if s.Progress.Counts()[job.OutcomeFailed] < r.PageCount {
		a, err := st.assemble(ctx, s)
		if err != nil {
			return err
		}
		if artifacts, err = a.count(ctx); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("finalise", "work"); err != nil {
		return err
	}
	now := time.Now()
	ended := false
	rec, err := st.env.Jobs.UpdateRun(ctx, r, func(r *job.Record) error {
		if ended = !r.State.Final(); !ended {
			return job.ErrUnchanged
		}
		err := r.Finish(s.Progress, now)
		if r.ResultRun == r.Run {
			r.Artifacts = artifacts
		}
		r.Ran(string(bus.Index), began, now) // after the units' times, which Finish brings along
		return err
	})
	if err != nil {
		return err
	}
	s.Job = rec
	if ended {
		st.env.Tel.Metrics.JobEnded(ctx, string(rec.State))
		st.env.Log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "pages", rec.PageCount,
			"took", rec.EndTime.Sub(rec.CreateTime))
	}
	if err := failpoint.Hit("finalise", "commit"); err != nil {
		return err
	}
	return st.settle(ctx, rec)
}

// settle is what follows a job's end: the index is told, and what was kept for the run goes, as do earlier runs whose results this one's
// replace. It is done again where a crash came between.
func (st *steps) settle(ctx context.Context, r *job.Record) error {
	if err := st.list(ctx, r); err != nil {
		return err
	}
	if err := failpoint.Hit("finalise", "document"); err != nil {
		return err
	}
	if err := st.env.Blobs.DeletePrefix(ctx, job.TempFolder(r.Tenant, r.ID, r.Run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	if err := st.env.AfterEnd(ctx, r); err != nil {
		return err
	}
	if r.ResultRun != r.Run {
		return nil
	}
	for run := 1; run < r.Run; run++ {
		if err := st.env.Blobs.DeletePrefix(ctx, job.RunFolder(r.Tenant, r.ID, run)); err != nil {
			return fmt.Errorf("remove results of run %d: %w", run, err)
		}
	}
	return nil
}

// list tells the index of a job that has ended, unless it was deleted meanwhile. The job may have another run by then, which others have told the index
// of: so the record is read again, until what was stored last is what it says.
func (st *steps) list(ctx context.Context, r *job.Record) error {
	for {
		if err := st.store.PutDocument(ctx, projection.Document(r)); err != nil {
			return fmt.Errorf("index document: %w", err)
		}
		now, err := st.env.Jobs.Reload(ctx, r)
		switch gone := errors.Is(err, job.ErrNotFound); {
		case err != nil && !gone:
			return err
		case gone || now.State.Gone():
			// Whoever removes the job may have been here before.
			if err := st.store.DeleteJob(ctx, r.Tenant, string(r.ID)); err != nil {
				return fmt.Errorf("take the document out of the index: %w", err)
			}
			return nil
		case !now.NewerThan(r):
			return nil
		}
		r = now
	}
}

// Ended finishes what a crash cut after the job's end, whichever of its tasks ended it, and removes jobs that were deleted.
func (st *steps) Ended(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.Outcome, error) {
	switch {
	case !s.Job.State.Gone():
		if err := st.settle(ctx, s.Job); err != nil {
			return stage.Outcome{}, err
		}
		return st.late(ctx, s, t)
	case t.GetRemove():
		return stage.Outcome{}, st.remove(ctx, s.Job)
	default:
		return stage.Outcome{}, nil
	}
}

// late is what the trail may lack of a unit of pages whose task comes back after the job's end: its pages were counted, but whoever did so did not get
// to hear that, or to tell of it, and others ended the job. What the trail has already, it has once.
func (st *steps) late(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.Outcome, error) {
	if len(t.GetPages()) == 0 || s.Job.Outcomes == nil { // what was cut ends with its cut
		return stage.Outcome{}, nil
	}
	p, err := st.env.Jobs.LoadProgress(ctx, s.Job.Tenant, s.Job.ID)
	if errors.Is(err, job.ErrNotFound) || err == nil && p.Run != s.Job.Run {
		return stage.Outcome{}, nil
	}
	if err != nil {
		return stage.Outcome{}, err
	}
	s.Progress = p
	return stage.Outcome{Events: counted(s, t)}, nil
}
