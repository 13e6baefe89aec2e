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
	// restoreMarkerKey is in the folder of a tenant that cannot be: names of tenants have no underscore in front.
	restoreMarkerKey = "_reconcile/mark.json"
	maxMarkerBytes   = 4 << 10
)

// LoadRestoreMarker returns what the blob store remembers of the mark of the bucket of jobs; the zero Mark where it
// remembers none.
func LoadRestoreMarker(ctx context.Context, blobs *blob.Store) (m job.RestoreMarker, err error) {
	data, err := blobs.ReadBytes(ctx, restoreMarkerKey, maxMarkerBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read the mark %s: %w", restoreMarkerKey, err)
	}
	return m, nil
}

// detectRestore finds out whether the bucket of jobs was replaced by an older copy, also while no process was there
// to see it: then the blob store remembers a higher revision of the mark. Documents that are older than that moment
// may be of jobs which the copy lacks. An error means that nothing may be discarded now.
func (r *Reconciler) detectRestore(ctx context.Context) error {
	seen, err := LoadRestoreMarker(ctx, r.deps.Blobs) // first, because a mark is set in the bucket before it is here
	if err != nil {
		return err
	}
	mark, err := r.deps.Jobs.RestoreMarker(ctx)
	if err != nil {
		return err
	}
	older, restored := mark.Revision < seen.Revision, r.restoredAt
	switch {
	case older:
		restored = r.now()
	case mark.Restored.After(restored):
		restored = mark.Restored
	}
	if older || restored.After(mark.Restored) || r.revision != r.markedRevision {
		// A read that was out of date fails here, so that it does not pass for an older copy.
		if mark, err = r.deps.Jobs.SetRestoreMarker(ctx, mark, restored); errors.Is(err, job.ErrExists) && !older {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(mark)
		if err != nil {
			return fmt.Errorf("encode the mark: %w", err)
		}
		if err := r.deps.Blobs.PutBytes(ctx, restoreMarkerKey, data, "application/json"); err != nil {
			return err
		}
		r.markedRevision = r.revision
	}
	if r.restoredAt = restored; older {
		r.log.WarnContext(ctx,
			"the broker's jobs are those of an older copy: no document from before now is discarded, and those without a job become jobs anew",
			"mark", seen.Revision)
		r.resetRecordState()
		r.uploads = uploadScan{}
	}
	return nil
}
