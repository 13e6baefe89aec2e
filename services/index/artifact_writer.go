package index

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
)

// artifactWriter writes the artifacts of a run. What it writes is stored with the batch, as one group.
type artifactWriter struct {
	job     *job.Record
	batch   *batchWriter
	writers []*blob.Writer // of artifacts that are written as streams
}

// createArtifact opens an artifact that is written as a stream. It appears under its name when all of them are whole.
func (f *artifactWriter) createArtifact(ctx context.Context, name string) (*blob.Writer, error) {
	key := job.ArtifactKey(f.job.Tenant, f.job.ID, f.job.Run, name)
	w, err := f.batch.blobs.NewWriter(ctx, key, blob.PutOptions{Compress: true})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	f.writers = append(f.writers, w)
	return w, nil
}

// storeArtifact stores an artifact that is at hand as a whole.
func (f *artifactWriter) storeArtifact(ctx context.Context, name string, data []byte) error {
	key := job.ArtifactKey(f.job.Tenant, f.job.ID, f.job.Run, name)
	return f.batch.addBlob(ctx, blob.Object{Key: key, Data: data, Compress: true})
}

// abortWriters drops what was written as streams, after an error, which is what went wrong first.
func (f *artifactWriter) abortWriters() {
	for _, w := range f.writers {
		_ = w.Abort() // what stays behind is temporary
	}
}

// wrapArtifactError says which artifact an error is about.
func wrapArtifactError(name string, err error) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
