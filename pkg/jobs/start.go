package jobs

import (
	"context"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
)

// StartRun records what ingest found in the document of a run, since started, and the job is RUNNING. A job that has
// ended, or whose document was opened before, stays as it is. The error is job.ErrSuperseded where the job was
// restarted, as with every function here that takes the run that is known.
func (s Service) StartRun(ctx context.Context, known *job.Record, pages int, facts *job.Document,
	started time.Time) (*job.Record, error) {
	return s.records.UpdateRunRecord(ctx, known, func(r *job.Record) error {
		if r.State.HasEnded() || r.PageCount > 0 {
			return job.ErrUnchanged
		}
		now := time.Now()
		r.PageCount, r.Follows = pages, ""
		r.Document = facts
		r.RecordStage(string(bus.Ingest), started, now)
		return r.Transition(job.Running, now)
	})
}

// StartAsDuplicate has the job take over the results of another one that has succeeded: RUNNING, and index ends it.
func (s Service) StartAsDuplicate(ctx context.Context, known *job.Record, of job.ID,
	started time.Time) (*job.Record, error) {
	return s.updateUnopenedJob(ctx, known, func(r *job.Record) error {
		now := time.Now()
		r.DuplicateOf, r.Follows = of, ""
		r.RecordStage(string(bus.Ingest), started, now)
		return r.Transition(job.Running, now)
	})
}

// SetLeader records which job's end the job waits for, to take over its results.
func (s Service) SetLeader(ctx context.Context, known *job.Record, leader job.ID) (*job.Record, error) {
	return s.updateUnopenedJob(ctx, known, func(r *job.Record) error {
		if r.Follows == leader {
			return job.ErrUnchanged
		}
		r.Follows = leader
		return nil
	})
}

// updateUnopenedJob changes the job's record, unless the job has ended or its document was opened since.
func (s Service) updateUnopenedJob(ctx context.Context, known *job.Record,
	change func(*job.Record) error) (*job.Record, error) {
	return s.records.UpdateRunRecord(ctx, known, func(r *job.Record) error {
		if r.State.HasEnded() || r.PageCount > 0 || r.DuplicateOf != "" {
			return job.ErrUnchanged
		}
		return change(r)
	})
}
