package index

import (
	"context"

	"inkstream.dev/pkg/job"
)

// removeJob removes all that is kept of a job that was deleted or has expired. A tombstone stays, and the audit
// trail. It is done again where a crash cut it, and where a handler that was at work may have written since.
func (st *steps) removeJob(ctx context.Context, r *job.Record) error {
	if r.IsTombstone() {
		return st.deps.RemoveJobData(ctx, r, st.store)
	}
	_, err := st.deps.RemoveJob(ctx, r, r.State, st.store)
	return err
}
