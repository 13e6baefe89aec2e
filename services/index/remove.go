package index

import (
	"context"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// removeSteps are the five steps of a RemoveTask. The work is that of OnEnded: a job that is removed has ended.
type removeSteps struct{ *steps }

// NewTask returns an empty task.
func (*removeSteps) NewTask() *busv1.RemoveTask { return &busv1.RemoveTask{} }

// UnitName names the removal of the job.
func (*removeSteps) UnitName(*busv1.RemoveTask) string { return jobs.RemoveUnit }

// LoadResult reports that there is something to do.
func (*removeSteps) LoadResult(context.Context, *stage.Snapshot, *busv1.RemoveTask) (struct{}, bool, error) {
	return struct{}{}, false, nil
}

// ProcessUnit waits: the record comes from a replica that lags, for the job was deleted before the task was made.
func (*removeSteps) ProcessUnit(context.Context, *stage.Snapshot, *busv1.RemoveTask) (struct{}, error) {
	return struct{}{}, fault.New(fault.Unavailable, "the record read is older than the job's removal")
}

// PlanFollowUp says that nothing follows.
func (*removeSteps) PlanFollowUp(context.Context, *stage.Snapshot, *busv1.RemoveTask,
	struct{}) (stage.FollowUp, error) {
	return stage.FollowUp{}, nil
}

// OnEnded removes the job, or finishes what a crash cut after the end of one that is not to go.
func (st *removeSteps) OnEnded(ctx context.Context, s *stage.Snapshot, _ *busv1.RemoveTask) (stage.FollowUp, error) {
	if s.Job.State.IsGone() {
		return stage.FollowUp{}, st.removeJob(ctx, s.Job)
	}
	return stage.FollowUp{}, st.cleanUpAfterEnd(ctx, s.Job)
}

// removeJob removes all that is kept of a job that was deleted or has expired. A tombstone stays, and the audit
// trail. It is done again where a crash cut it, and where a handler that was at work may have written since.
func (st *steps) removeJob(ctx context.Context, r *job.Record) error {
	if r.IsTombstone() {
		return st.deps.JobService().RemoveJobData(ctx, r, st.store)
	}
	_, err := st.deps.JobService().RemoveJob(ctx, r, r.State, st.store)
	return err
}
