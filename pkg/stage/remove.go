package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

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
func (e Deps) RemoveJob(ctx context.Context, rec *job.Record, state job.State, index Remover) (*job.Record, error) {
	tenant, id := rec.Tenant, rec.ID
	rec, err := e.Jobs.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		if r.State.IsGone() {
			return job.ErrUnchanged
		}
		return r.Transition(state, time.Now())
	})
	if err != nil || rec.IsTombstone() {
		return rec, err
	}
	if err := e.OnJobEnd(ctx, rec); err != nil {
		return rec, err
	}
	if err := e.RemoveJobData(ctx, rec, index); err != nil || index == nil {
		return rec, err
	}
	if err := e.Bus.PublishEvent(ctx, NewEvent(rec, strings.ToLower(string(rec.State)), "")); err != nil {
		return rec, err
	}
	rec, err = e.Jobs.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		if r.IsTombstone() {
			return job.ErrUnchanged
		}
		return r.Tombstone(r.State, time.Now())
	})
	if err != nil {
		return nil, err
	}
	e.Log.InfoContext(ctx, "job removed", "job", id, "state", rec.State)
	return rec, nil
}

// RemoveJobData removes all that is kept of a job but its record. It is done once more some time after a job's
// removal, because a worker that was at it then may have written since. A process without an index passes nil for it,
// and the index service is asked.
func (e Deps) RemoveJobData(ctx context.Context, rec *job.Record, index Remover) error {
	if index == nil {
		return e.Bus.Publish(ctx, RemoveMessage(rec, int(time.Now().UnixNano())))
	}
	// The progress first: who can no longer count its pages finds that the job is gone.
	err := e.Jobs.DeleteProgress(ctx, rec.Tenant, rec.ID)
	if err == nil {
		err = errors.Join(
			index.DeleteJob(ctx, rec.Tenant, string(rec.ID)),
			e.Blobs.DeletePrefix(ctx, job.Folder(rec.Tenant, rec.ID)),
			e.Bus.PurgeDeadLetters(ctx, rec.Tenant, string(rec.ID)),
		)
	}
	if err != nil {
		return fmt.Errorf("remove job %s: %w", rec.ID, err)
	}
	return nil
}
