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

// finaliseRun assembles the artifacts page by page, so that its memory is bounded by a page, and ends the job.
func (st *steps) finaliseRun(ctx context.Context, s *stage.Snapshot) error {
	r, began := s.Job, time.Now()
	switch {
	case r.DuplicateOf != "":
		return st.takeOverResults(ctx, s)
	case r.PageCount == 0:
		return nil // there was nothing to take over, and a crash came before the work was queued
	case s.Progress == nil || !s.Progress.AllPagesDone():
		return st.checkUnfinished(ctx, s)
	}
	artifacts := 0
	if s.Progress.CountOutcomes()[job.OutcomeFailed] < r.PageCount {
		a, err := st.assembleArtifacts(ctx, s)
		if err != nil {
			return err
		}
		if artifacts, err = a.countArtifacts(ctx); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("finalise", "work"); err != nil {
		return err
	}
	now := time.Now()
	ended := false
	rec, err := st.deps.Jobs.UpdateRunRecord(ctx, r, func(r *job.Record) error {
		if ended = !r.State.HasEnded(); !ended {
			return job.ErrUnchanged
		}
		err := r.FinishRun(s.Progress, now)
		if r.ResultRun == r.Run {
			r.Artifacts = artifacts
		}
		r.RecordStage(string(bus.Index), began, now) // after the units' times, which Finish brings along
		return err
	})
	if err != nil {
		return err
	}
	s.Job = rec
	if ended {
		st.deps.Tel.Metrics.CountEndedJob(ctx, string(rec.State))
		st.deps.Log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "pages", rec.PageCount,
			"took", rec.EndTime.Sub(rec.CreateTime))
	}
	if err := failpoint.Hit("finalise", "commit"); err != nil {
		return err
	}
	return st.cleanUpAfterEnd(ctx, rec)
}

// cleanUpAfterEnd is what follows a job's end: the index is told, and what was kept for the run goes, as do earlier
// runs whose results this one's replace. It is done again where a crash came between.
func (st *steps) cleanUpAfterEnd(ctx context.Context, r *job.Record) error {
	if err := st.indexDocument(ctx, r); err != nil {
		return err
	}
	if err := failpoint.Hit("finalise", "document"); err != nil {
		return err
	}
	if err := st.deps.Blobs.DeletePrefix(ctx, job.TempFolder(r.Tenant, r.ID, r.Run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	if err := st.deps.OnJobEnd(ctx, r); err != nil {
		return err
	}
	if r.ResultRun != r.Run {
		return nil
	}
	for run := 1; run < r.Run; run++ {
		if err := st.deps.Blobs.DeletePrefix(ctx, job.RunFolder(r.Tenant, r.ID, run)); err != nil {
			return fmt.Errorf("remove results of run %d: %w", run, err)
		}
	}
	return nil
}

// indexDocument tells the index of a job that has ended, and takes the document out again if the job is deleted by
// then. The job may have another run by then, which other handlers have told the index of: so the record is read again,
// until what was stored last is what it says.
func (st *steps) indexDocument(ctx context.Context, r *job.Record) error {
	for {
		if err := st.store.PutDocument(ctx, projection.IndexDocument(r)); err != nil {
			return fmt.Errorf("index document: %w", err)
		}
		now, err := st.deps.Jobs.ReloadRecord(ctx, r)
		switch gone := errors.Is(err, job.ErrNotFound); {
		case err != nil && !gone:
			return err
		case gone || now.State.IsGone():
			// The handler that removes the job may have deleted it from the index before this one wrote.
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

// OnEnded finishes what a crash cut after the job's end, whichever of its tasks ended it, and removes jobs that were
// deleted.
func (st *steps) OnEnded(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.FollowUp, error) {
	switch {
	case !s.Job.State.IsGone():
		if err := st.cleanUpAfterEnd(ctx, s.Job); err != nil {
			return stage.FollowUp{}, err
		}
		return st.lateEvents(ctx, s, t)
	case t.GetRemove():
		return stage.FollowUp{}, st.removeJob(ctx, s.Job)
	default:
		return stage.FollowUp{}, nil
	}
}

// lateEvents returns the events that the audit trail may lack of a unit of pages whose task comes back after the job's
// end: its pages were counted, but the handler that counted them did not learn of that, or did not publish the events,
// and other handlers ended the job. The audit trail keeps once what it has already.
func (st *steps) lateEvents(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.FollowUp, error) {
	if len(t.GetPages()) == 0 || s.Job.Outcomes == nil { // what was cut ends with its cut
		return stage.FollowUp{}, nil
	}
	p, err := st.deps.Jobs.LoadProgress(ctx, s.Job.Tenant, s.Job.ID)
	if errors.Is(err, job.ErrNotFound) || err == nil && p.Run != s.Job.Run {
		return stage.FollowUp{}, nil
	}
	if err != nil {
		return stage.FollowUp{}, err
	}
	s.Progress = p
	return stage.FollowUp{Events: newCountedEvents(s, t)}, nil
}
