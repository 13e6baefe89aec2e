package index

import (
	"context"
	"errors"
	"fmt"

	"inkstream.dev/pkg/job"
)

// remove removes all that is kept of a job that was deleted or has expired. A tombstone stays, and the audit trail. It is done again where a crash
// cut it, and where a handler that was at work may have written since.
func (st *steps) remove(ctx context.Context, r *job.Record) error {
	if err := st.env.Bus.PurgeDeadLetters(ctx, r.Tenant, string(r.ID)); err != nil {
		return err
	}
	if !r.Buried() {
		_, err := st.env.Remove(ctx, r, r.State, st.store)
		return err
	}
	err := errors.Join(
		st.store.DeleteJob(ctx, r.Tenant, string(r.ID)),
		st.env.Blobs.DeletePrefix(ctx, job.Folder(r.Tenant, r.ID)),
		st.env.Jobs.DropProgress(ctx, r.Tenant, r.ID),
	)
	if err != nil {
		return fmt.Errorf("remove what was written since: %w", err)
	}
	return nil
}
