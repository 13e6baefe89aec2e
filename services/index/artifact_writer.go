package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
)

// maxBundleBytes bounds the blob that holds the artifacts of a short document, for it is made in memory.
const maxBundleBytes = 2 << 20

// artifactWriter writes the artifacts of a run. What it writes is stored with the batch, as one group, and those of a
// short document as one blob.
type artifactWriter struct {
	job     *job.Record
	batch   *batchWriter
	writers []*blob.Writer // of artifacts that are written as streams
	buffers []heldArtifact // likewise, where all are to be one blob
}

// heldArtifact is an artifact in the making.
type heldArtifact struct {
	name string
	data *bytes.Buffer
}

// bundles reports whether the artifacts are to be one blob.
func (f *artifactWriter) bundles() bool {
	return job.BundlesArtifacts(f.job.PageCount, f.batch.blobs.Compresses())
}

// createArtifact opens an artifact that is written as a stream. It appears under its name when all of them are whole.
func (f *artifactWriter) createArtifact(ctx context.Context, name string) (io.Writer, error) {
	if f.bundles() {
		f.buffers = append(f.buffers, heldArtifact{name, new(bytes.Buffer)})
		return f.buffers[len(f.buffers)-1].data, nil
	}
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

// storeAll stores what was written.
func (f *artifactWriter) storeAll(ctx context.Context) error {
	for _, a := range f.buffers {
		if err := f.storeArtifact(ctx, a.name, a.data.Bytes()); err != nil {
			return err
		}
	}
	if f.bundles() {
		if err := f.bundleWaiting(ctx); err != nil {
			return err
		}
	}
	return f.batch.flushBatch(ctx, f.writers...)
}

// bundleWaiting makes one blob of those that wait and that no other step has stored before: the artifacts, and what the
// gateway makes document.json and pages of.
func (f *artifactWriter) bundleWaiting(ctx context.Context) error {
	folder := job.RunFolder(f.job.Tenant, f.job.ID, f.job.Run)
	var small, others []blob.Object
	size := 0
	for _, o := range f.batch.waiting {
		switch name := strings.TrimPrefix(o.Key, folder); {
		case strings.HasPrefix(name, "artifacts/"), name == job.PlanName, name == job.JSONIndexName:
			small = append(small, o)
			size += len(o.Data)
		default:
			others = append(others, o)
		}
	}
	if len(small) < 2 || size > maxBundleBytes {
		return nil
	}
	bundle, err := f.batch.blobs.Bundle(ctx, folder, small)
	if err != nil {
		return err
	}
	f.batch.waiting = slices.Concat(others, []blob.Object{bundle})
	return nil
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
