package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
)

const (
	// markKey is in the folder of a tenant that cannot be: names of tenants have no underscore in front.
	markKey      = "_reconcile/mark.json"
	maxMarkBytes = 4 << 10
)

// LoadMark returns what the blob store remembers of the mark of the bucket of jobs; the zero Mark where it remembers none.
func LoadMark(ctx context.Context, blobs *blob.Store) (m job.Mark, err error) {
	data, err := blobs.Bytes(ctx, markKey, maxMarkBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read the mark %s: %w", markKey, err)
	}
	return m, nil
}

// guard finds out whether the bucket of jobs was replaced by an older copy, also while no process was there to see it: then the blob store remembers a
// higher revision of the mark. Documents that are older than that moment may be of jobs which the copy lacks. An error means that nothing may be
// discarded now.
func (r *Reconciler) guard(ctx context.Context) error {
	seen, err := LoadMark(ctx, r.env.Blobs) // first, because a mark is set in the bucket before it is here
	if err != nil {
		return err
	}
	mark, err := r.env.Jobs.Mark(ctx)
	if err != nil {
		return err
	}
	older, restored := mark.Revision < seen.Revision, r.restored
	switch {
	case older:
		restored = r.now()
	case mark.Restored.After(restored):
		restored = mark.Restored
	}
	if older || restored.After(mark.Restored) || r.revision != r.marked {
		// A read that was out of date fails here, so that it does not pass for an older copy.
		if mark, err = r.env.Jobs.SetMark(ctx, mark, restored); errors.Is(err, job.ErrExists) && !older {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(mark)
		if err != nil {
			return fmt.Errorf("encode the mark: %w", err)
		}
		if err := r.env.Blobs.PutBytes(ctx, markKey, data, "application/json"); err != nil {
			return err
		}
		r.marked = r.revision
	}
	if r.restored = restored; older {
		r.log.WarnContext(ctx, "the broker's jobs are those of an older copy: no document from before now is discarded, and those without a job become jobs anew",
			"mark", seen.Revision)
		r.forget()
		r.uploads = uploads{}
	}
	return nil
}
