package jobs

import (
	"context"
	"maps"
	"time"

	"inkstream.dev/pkg/job"
)

// RetryJob starts another run of a job that has ended; see job.Record.RestartRun. What is returned is the record of
// the new run, whose first task is queued, or will be by the reconciler where the broker does not take it now.
func (s Service) RetryJob(ctx context.Context, tenant string, id job.ID, scope job.Scope) (*job.Record, error) {
	var before job.Record
	rec, err := s.records.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		return r.RestartRun(scope, time.Now())
	})
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "job runs again", "job", id, "run", rec.Run, "scope", scope)
	if rec.CanDeduplicate() {
		// Jobs that come with the same bytes during this run wait for it. Where the claim fails they do the work themselves.
		if _, err := s.records.ClaimContent(ctx, rec); err != nil {
			s.log.WarnContext(ctx, "claim content", "job", id, "error", err)
		}
	}
	err = s.PublishEnd(ctx, &before)
	if err == nil { // ahead of the task, so that a crash leaves no run whose audit trail has no beginning
		err = s.bus.PublishEvent(ctx, newRetriedEvent(rec, scope == job.ScopeAll))
	}
	if err == nil {
		err = s.bus.Publish(ctx, FirstMessage(rec, 0))
	}
	if err != nil {
		s.log.WarnContext(ctx, "run accepted, but not queued yet; the reconciler will queue it", "job", id, "error", err)
	}
	return rec, nil
}

// CanRetry reports whether a job could have another run as it is now.
func CanRetry(r *job.Record, scope job.Scope) bool {
	probe := *r
	probe.Stages = maps.Clone(r.Stages)
	return probe.RestartRun(scope, time.Now()) == nil
}
