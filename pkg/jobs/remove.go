package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

// ErrJobGone means that a job was deleted or has expired.
var ErrJobGone = errors.New("the job is gone")

// DeleteJob ends a job if it has not ended, and has everything removed that is kept of it. When it returns the record
// says DELETED; index removes the rest. A job that is gone already is ErrJobGone.
func (s Service) DeleteJob(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	var before job.Record
	rec, err := s.records.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		if !r.State.HasEnded() {
			if err := r.Transition(job.Cancelled, time.Now()); err != nil {
				return err
			}
		}
		if r.State.IsGone() {
			return ErrJobGone
		}
		return r.Transition(job.Deleted, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if !before.State.HasEnded() {
		s.metrics.CountEndedJob(ctx, string(job.Cancelled))
	}
	s.log.InfoContext(ctx, "job deleted", "job", id)
	if err := s.purgeDeletedJob(ctx, rec, &before); err != nil {
		// The record says it, so handlers stop by themselves, and the reconciler has the rest removed.
		s.log.WarnContext(ctx, "job deleted, but not yet cleared away; the reconciler will do it", "job", id, "error", err)
	}
	return rec, nil
}

// purgeDeletedJob drops the tasks of a job that was deleted, whose record was before, publishes its events, and has
// the rest removed by index.
func (s Service) purgeDeletedJob(ctx context.Context, rec, before *job.Record) error {
	if err := s.bus.PurgeTasks(ctx, rec.Tenant, string(rec.ID)); err != nil {
		return err
	}
	if err := s.OnJobEnd(ctx, rec); err != nil {
		return err
	}
	var err error
	if before.State.HasEnded() {
		err = s.PublishEnd(ctx, before)
	} else {
		err = s.bus.PublishEvent(ctx, NewEvent(rec, "cancelled", ""))
	}
	if err == nil {
		err = s.bus.PublishEvent(ctx, NewEvent(rec, "deleted", ""))
	}
	if err != nil {
		return err
	}
	return s.bus.Publish(ctx, RemoveMessage(rec, 0))
}

// Remover removes a job's rows; the search index is one.
type Remover interface {
	// DeleteJob removes a job's pages and document. To have nothing to remove is no error.
	DeleteJob(ctx context.Context, tenant, job string) error
}

// RemoveJob removes everything that is kept of a job that has ended, and leaves a tombstone: a record that says
// EXPIRED or DELETED, and an event of that name. A process without an index passes nil for it: then the job is
// marked, and the index service is asked to do the rest. An error of an illegal change is returned for a job that has
// not ended.
//
// The order makes it safe to cut anywhere: first the record says that the job is gone, so that no reader begins to
// read what is about to go; the tombstone, which forgets what there was to remove, comes last. A record that is
// marked and not yet a tombstone is taken up again by the reconciler. A job that is gone already keeps its state.
func (s Service) RemoveJob(ctx context.Context, rec *job.Record, state job.State, index Remover) (*job.Record, error) {
	tenant, id := rec.Tenant, rec.ID
	rec, err := s.records.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		if r.State.IsGone() {
			return job.ErrUnchanged
		}
		return r.Transition(state, time.Now())
	})
	if err != nil || rec.IsTombstone() {
		return rec, err
	}
	if err := s.OnJobEnd(ctx, rec); err != nil {
		return rec, err
	}
	if err := s.RemoveJobData(ctx, rec, index); err != nil || index == nil {
		return rec, err
	}
	if err := s.bus.PublishEvent(ctx, NewEvent(rec, strings.ToLower(string(rec.State)), "")); err != nil {
		return rec, err
	}
	rec, err = s.records.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		if r.IsTombstone() {
			return job.ErrUnchanged
		}
		return r.Tombstone(r.State, time.Now())
	})
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "job removed", "job", id, "state", rec.State)
	return rec, nil
}

// RemoveJobData removes all that is kept of a job but its record. It is done once more some time after a job's
// removal, because a worker that was at it then may have written since. A process without an index passes nil for it,
// and the index service is asked.
func (s Service) RemoveJobData(ctx context.Context, rec *job.Record, index Remover) error {
	if index == nil {
		return s.bus.Publish(ctx, RemoveMessage(rec, int(time.Now().UnixNano())))
	}
	// The progress first: who can no longer count its pages finds that the job is gone.
	err := s.records.DeleteProgress(ctx, rec.Tenant, rec.ID)
	if err == nil {
		err = errors.Join(
			index.DeleteJob(ctx, rec.Tenant, string(rec.ID)),
			s.blobs.DeletePrefix(ctx, job.Folder(rec.Tenant, rec.ID)),
			s.bus.PurgeDeadLetters(ctx, rec.Tenant, string(rec.ID)),
		)
	}
	if err != nil {
		return fmt.Errorf("remove job %s: %w", rec.ID, err)
	}
	return nil
}
