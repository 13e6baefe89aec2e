package ingest

import (
	"context"
	"errors"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// joinExistingJob finds out whether another job of the tenant does the work already, or has done it, for the same
// bytes and options.
//
//	no job claims the content       this job does from now on, and does the work
//	the claimant has succeeded      this job takes its results over: index does it
//	the claimant is at it           this job waits: it is noted in the claimant's record, whose end queues this job again
//	the claimant ended otherwise    this job takes the claim over, and does the work
//
// It reports whether there is nothing more to do for this stage now. A crash between any two steps is repaired by a
// repeat: the claim names this job then, or the job looks again; the reconciler queues a job whose wake-up got lost.
func (st *steps) joinExistingJob(ctx context.Context, s *stage.Snapshot) (bool, error) {
	if !s.Job.CanDeduplicate() {
		return false, nil
	}
	for {
		holder, err := st.deps.Jobs.ClaimContent(ctx, s.Job)
		if err != nil || holder == s.Job.ID {
			return false, err
		}
		leader, err := st.deps.Jobs.LoadRecord(ctx, s.Job.Tenant, holder)
		switch {
		case err == nil && leader.State == job.Succeeded:
			rec, err := st.deps.JobService().StartAsDuplicate(ctx, s.Job, holder, s.Started)
			if err != nil {
				return true, err
			}
			s.Job = rec
			return true, nil
		case err == nil && !leader.State.HasEnded():
			waits, err := st.followLeader(ctx, s, holder)
			if waits || err != nil {
				return waits, err
			}
		case err == nil, errors.Is(err, job.ErrNotFound):
			err = st.deps.Jobs.ReplaceContent(ctx, s.Job, holder)
			if err == nil {
				return false, nil
			}
			if !errors.Is(err, job.ErrExists) && !errors.Is(err, job.ErrNotFound) {
				return false, err
			}
		default:
			return false, err
		}
	}
}

// followLeader makes the job wait for the end of another one. It reports false where that one has ended by then.
func (st *steps) followLeader(ctx context.Context, s *stage.Snapshot, leader job.ID) (bool, error) {
	// The job's own record comes first: a job that is woken must be known to wait.
	rec, err := st.deps.JobService().SetLeader(ctx, s.Job, leader)
	if err != nil {
		return false, err
	}
	s.Job = rec
	err = st.deps.Jobs.AddFollower(ctx, s.Job.Tenant, leader, s.Job.ID)
	if errors.Is(err, job.ErrEnded) || errors.Is(err, job.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		st.deps.Log.InfoContext(ctx, "document is being worked on already", "job", s.Job.ID, "by", leader)
	}
	return err == nil, err
}
