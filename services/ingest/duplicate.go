package ingest

import (
	"context"
	"errors"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// share finds out whether another job of the tenant does the work already, or has done it, for the same bytes and options.
//
//	nobody claims the content       this job does from now on, and does the work
//	the claimant has succeeded      this job takes its results over: index does it
//	the claimant is at it           this job waits: it is noted in the claimant's record, whose end queues this job again
//	the claimant ended otherwise    this job takes the claim over, and does the work
//
// It reports whether there is nothing more to do for this stage now. A crash between any two steps is repaired by a repeat: the claim names this
// job then, or the job looks anew; the reconciler queues a job whose wake-up got lost.
func (st *steps) share(ctx context.Context, s *stage.Snapshot) (bool, error) {
	if !s.Job.Shares() {
		return false, nil
	}
	for {
		holder, err := st.env.Jobs.ClaimContent(ctx, s.Job)
		if err != nil || holder == s.Job.ID {
			return false, err
		}
		leader, err := st.env.Jobs.Load(ctx, s.Job.Tenant, holder)
		switch {
		case err == nil && leader.State == job.Succeeded:
			return true, st.note(ctx, s, func(r *job.Record) error {
				now := time.Now()
				r.DuplicateOf, r.Follows = holder, ""
				r.Ran(string(bus.Ingest), s.Started, now)
				return r.To(job.Running, now)
			})
		case err == nil && !leader.State.Final():
			waits, err := st.follow(ctx, s, holder)
			if waits || err != nil {
				return waits, err
			}
		case err == nil, errors.Is(err, job.ErrNotFound):
			err = st.env.Jobs.ReplaceContent(ctx, s.Job, holder)
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

// follow makes the job wait for the end of another one. It reports false where that has ended meanwhile.
func (st *steps) follow(ctx context.Context, s *stage.Snapshot, leader job.ID) (bool, error) {
	// First in the job's own record: whoever is woken must be known to wait.
	err := st.note(ctx, s, func(r *job.Record) error {
		if r.Follows == leader {
			return job.ErrUnchanged
		}
		r.Follows = leader
		return nil
	})
	if err != nil {
		return false, err
	}
	err = st.env.Jobs.Follow(ctx, s.Job.Tenant, leader, s.Job.ID)
	if errors.Is(err, job.ErrEnded) || errors.Is(err, job.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		st.env.Log.InfoContext(ctx, "document is being worked on already", "job", s.Job.ID, "by", leader)
	}
	return err == nil, err
}

// note changes the job's record, unless the job has ended or its document was opened meanwhile.
func (st *steps) note(ctx context.Context, s *stage.Snapshot, change func(*job.Record) error) error {
	rec, err := st.env.Jobs.UpdateRun(ctx, s.Job, func(r *job.Record) error {
		if r.State.Final() || r.PageCount > 0 || r.DuplicateOf != "" {
			return job.ErrUnchanged
		}
		return change(r)
	})
	if err != nil {
		return err
	}
	s.Job = rec
	return nil
}
