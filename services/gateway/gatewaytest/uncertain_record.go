package gatewaytest

import (
	"testing"

	"inkstream.dev/pkg/job"
)

// PDF is a document.
const PDF = "%PDF-1.7 hello"

// WantCompleteJob makes sure that a job has a record that is not gone, and its document.
func (b *Backend) WantCompleteJob(t *testing.T, id string) {
	t.Helper()
	rec, err := b.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
	if err != nil || rec.State != job.Pending {
		t.Errorf("record of %s: got %+v, %v, want a job that waits", id, rec, err)
	}
	data, err := b.Deps.Blobs.ReadBytes(t.Context(), job.SourceKey(job.DefaultTenant, job.ID(id)), 1000)
	if err != nil || string(data) != PDF {
		t.Errorf("document of %s: got %q, %v", id, data, err)
	}
}
