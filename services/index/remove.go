package index

import (
	"context"

	"inkstream.dev/pkg/job"
)

// remove removes all that is kept of a job that was deleted or has expired. A tombstone stays, and the audit trail. It is done again where a crash
// cut it, and where a handler that was at work may have written since.
func (st *steps) remove(ctx context.Context, r *job.Record) error {
	if r.Buried() {
		return st.env.RemoveKept(ctx, r, st.store)
	}
	_, err := st.env.Remove(ctx, r, r.State, st.store)
	return err
}
