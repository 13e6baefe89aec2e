package stage

import (
	"context"
	"errors"
	"fmt"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// OnJobEnd does what follows the end of a job, whatever it ended as: its claim on its content is given up unless it
// has results to share, and the jobs that wait for its end are queued again. It is idempotent: a caller that repeats
// an end repeats this, and the reconciler repeats it where a crash cut it.
func (e Deps) OnJobEnd(ctx context.Context, r *job.Record) error {
	if !r.State.HasEnded() || r.IsTombstone() {
		return nil
	}
	// First, so that the jobs that are queued again find no job to wait for.
	if r.State != job.Succeeded && r.CanDeduplicate() {
		if err := e.Jobs.ReleaseContent(ctx, r); err != nil {
			return err
		}
	}
	return e.requeueFollowers(ctx, r)
}

// requeueFollowers queues the jobs again that wait for the end of this one. They check again what there is to take
// over.
func (e Deps) requeueFollowers(ctx context.Context, r *job.Record) error {
	var messages []bus.Message
	for _, id := range r.Followers {
		f, err := e.Jobs.LoadRecord(ctx, r.Tenant, id)
		if errors.Is(err, job.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !f.State.HasEnded() && f.PageCount == 0 {
			// The same number at every repeat; another one than that of the task which found it had to wait.
			messages = append(messages, FirstMessage(f, int(r.EndTime.Unix())))
		}
	}
	if err := e.Bus.PublishAll(ctx, messages, nil); err != nil {
		return fmt.Errorf("wake the jobs that wait for %s: %w", r.ID, err)
	}
	return nil
}

// DocumentPassword returns what opens a job's document; empty where it came without one, and after the job's end.
func (e Deps) DocumentPassword(r *job.Record) (string, error) {
	if r.Sealed == "" {
		return "", nil
	}
	if e.Sealer == nil {
		// Another replica may have the key, or this one may be given it.
		return "", fault.Wrap(fault.Busy, fault.Unavailable,
			errors.New("the document's password is sealed, and this service has no key"))
	}
	password, err := e.Sealer.OpenSecret(r.Tenant, r.ID, r.Sealed)
	switch {
	case errors.Is(err, job.ErrWrongSealKey): // as without a key
		return "", fault.Wrap(fault.Busy, fault.Unavailable, err)
	case err != nil:
		return "", fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return password, nil
}
