package jobs

import (
	"context"
	"errors"
	"time"

	"inkstream.dev/pkg/job"
)

// ErrJobEnded means that a job has ended already, so that it cannot be cancelled.
var ErrJobEnded = errors.New("the job has ended")

// CancelJob ends a job at the user's wish: its queued tasks are dropped, those in hand stop within moments, and its
// temporary blobs go. A job that is CANCELLED already is cleaned up once more, and that is no error; one that ended
// otherwise is ErrJobEnded, with its record.
func (s Service) CancelJob(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	// What is queued after this moment stays: it may be of another run, which a client starts as soon as this one is
	// cancelled.
	before, err := s.bus.CurrentPositions(ctx)
	if err != nil {
		return nil, err
	}
	cancelled := false
	rec, err := s.records.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		cancelled = !r.State.HasEnded()
		if !cancelled {
			return job.ErrUnchanged
		}
		return r.Transition(job.Cancelled, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if rec.State != job.Cancelled {
		return rec, ErrJobEnded
	}
	err = s.PublishEnd(ctx, rec) // first, since the job is cancelled whatever becomes of the rest
	if cancelled {
		s.metrics.CountEndedJob(ctx, string(rec.State))
		s.log.InfoContext(ctx, "job cancelled", "job", id, "run", rec.Run)
		// Not at a repeat, which might meet the tasks of another run; what a crash left in the queues is dropped when it is
		// delivered.
		err = errors.Join(err, s.bus.PurgeTasksUntil(ctx, tenant, string(id), before))
	}
	err = errors.Join(err, s.OnJobEnd(ctx, rec))
	s.tryRemoveTempBlobs(ctx, rec)
	if err != nil {
		return nil, err
	}
	return rec, nil
}
