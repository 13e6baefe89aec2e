package index

import (
	"context"
	"fmt"
	"time"

	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// finaliseSteps are the five steps of a FinaliseTask.
type finaliseSteps struct{ *steps }

// NewTask returns an empty task.
func (*finaliseSteps) NewTask() *busv1.FinaliseTask { return &busv1.FinaliseTask{} }

// UnitName names the end of the run.
func (*finaliseSteps) UnitName(*busv1.FinaliseTask) string { return jobs.FinaliseUnit }

// LoadResult reports that there is something to do: the end of a run is done when the job has ended, which the handler
// sees before it asks.
func (*finaliseSteps) LoadResult(context.Context, *stage.Snapshot, *busv1.FinaliseTask) (struct{}, bool, error) {
	return struct{}{}, false, nil
}

// ProcessUnit ends the run.
func (st *finaliseSteps) ProcessUnit(ctx context.Context, s *stage.Snapshot, _ *busv1.FinaliseTask) (struct{}, error) {
	return struct{}{}, st.finaliseRun(ctx, s)
}

// PlanFollowUp publishes the job's end, or queues the work that was not to be taken over.
func (*finaliseSteps) PlanFollowUp(_ context.Context, s *stage.Snapshot, _ *busv1.FinaliseTask,
	_ struct{}) (stage.FollowUp, error) {
	return afterFinalise(s), nil
}

// OnEnded finishes what a crash cut after the job's end.
func (st *finaliseSteps) OnEnded(ctx context.Context, s *stage.Snapshot, _ *busv1.FinaliseTask) (stage.FollowUp, error) {
	if s.Job.State.IsGone() {
		return stage.FollowUp{}, nil
	}
	return stage.FollowUp{}, st.cleanUpAfterEnd(ctx, s.Job)
}

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
	if s.Progress.CountOutcomes()[outcome.Failed] < r.PageCount {
		a, err := st.assembleArtifacts(ctx, s)
		if err != nil {
			return err
		}
		if artifacts, err = a.tidyArtifacts(ctx); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("finalise", "work"); err != nil {
		return err
	}
	rec, err := st.deps.JobService().CompleteRun(ctx, r, s.Progress, artifacts, began)
	if err != nil {
		return err
	}
	s.Job = rec
	if err := failpoint.Hit("finalise", "commit"); err != nil {
		return err
	}
	return st.cleanUpAfterEnd(ctx, rec)
}

// cleanUpAfterEnd is what follows a job's end: what was kept for the run goes, as do earlier runs whose results this
// one's replace. It is done again where a crash came between.
func (st *steps) cleanUpAfterEnd(ctx context.Context, r *job.Record) error {
	st.onEnd()
	if err := st.deps.JobService().RemoveTempBlobs(ctx, r, r.Run); err != nil {
		return err
	}
	if err := st.deps.JobService().OnJobEnd(ctx, r); err != nil {
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
