package stage

import (
	"context"
	"errors"
	"fmt"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// AfterEnd does what follows the end of a job, whatever it ended as: its claim on its content is given up unless it has results to share, and
// those that wait for its end are woken. It is idempotent: whoever repeats an end repeats this, and the reconciler does once more where a crash
// cut it.
func (e Env) AfterEnd(ctx context.Context, r *job.Record) error {
	if !r.State.Final() || r.Buried() {
		return nil
	}
	// First, so that those that are woken find nobody to wait for.
	if r.State != job.Succeeded && r.Shares() {
		if err := e.Jobs.DropContent(ctx, r); err != nil {
			return err
		}
	}
	return e.wake(ctx, r)
}

// wake queues the jobs again that wait for the end of this one. They look anew at what there is to take over.
func (e Env) wake(ctx context.Context, r *job.Record) error {
	var messages []bus.Message
	for _, id := range r.Followers {
		f, err := e.Jobs.Load(ctx, r.Tenant, id)
		if errors.Is(err, job.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !f.State.Final() && f.PageCount == 0 {
			// The same number at every repeat; another one than that of the task which found it had to wait.
			messages = append(messages, FirstMessage(f, int(r.EndTime.Unix())))
		}
	}
	if err := e.Bus.PublishAll(ctx, messages, nil); err != nil {
		return fmt.Errorf("wake the jobs that wait for %s: %w", r.ID, err)
	}
	return nil
}

// Password returns what opens a job's document; empty where it came without one, and after the job's end.
func (e Env) Password(r *job.Record) (string, error) {
	if r.Sealed == "" {
		return "", nil
	}
	if e.Sealer == nil {
		// Another replica may have the key; or somebody gives it to this one.
		return "", fault.Wrap(fault.Busy, fault.Unavailable, errors.New("the document's password is sealed, and this service has no key"))
	}
	password, err := e.Sealer.Open(r.Tenant, r.ID, r.Sealed)
	switch {
	case errors.Is(err, job.ErrOtherKey): // as without a key
		return "", fault.Wrap(fault.Busy, fault.Unavailable, err)
	case err != nil:
		return "", fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return password, nil
}
