package index

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// maxBatchBytes and maxBatchBlobs bound what a shelf holds before it writes: the store makes one wait for the disk of
// it.
const (
	maxBatchBytes = 4 << 20
	maxBatchBlobs = 256
)

// batchWriter gathers blobs and writes them together.
type batchWriter struct {
	blobs   *blob.Store
	waiting []blob.Object
	size    int
}

// addBlob adds a blob, and writes what is there when it is much.
func (c *batchWriter) addBlob(ctx context.Context, o blob.Object) error {
	c.waiting = append(c.waiting, o)
	if c.size += len(o.Data); c.size < maxBatchBytes && len(c.waiting) < maxBatchBlobs {
		return nil
	}
	return c.flushBatch(ctx)
}

// flushBatch writes what is waiting, and commits what open writers have written.
func (c *batchWriter) flushBatch(ctx context.Context, open ...*blob.Writer) error {
	if err := c.blobs.PutAll(ctx, c.waiting, open...); err != nil {
		return fmt.Errorf("store what was gathered: %w", err)
	}
	c.waiting, c.size = c.waiting[:0], 0
	return nil
}

// runCopier reads what a run has, and copies what it took over from an earlier run into its own folder, so that the
// earlier one can go.
type runCopier struct{ batchWriter }

// readAndCopy returns the newest of the blobs that the runs of a job may have, and its run; key names that of a run.
func (c *runCopier) readAndCopy(ctx context.Context, r *job.Record,
	key func(run int) string) (data []byte, run int, err error) {
	for _, run := range r.PageRuns() {
		data, err := c.blobs.ReadBytes(ctx, key(run), stage.MaxBatchBytes)
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil || run == r.Run {
			return data, run, err
		}
		return data, run, c.addBlob(ctx, blob.Object{Key: key(r.Run), Data: data, Compress: true})
	}
	return nil, 0, fmt.Errorf("read %s: %w", key(r.Run), blob.ErrNotFound)
}

// readPage returns a stored page; the images of one that an earlier run has come with it.
func (c *runCopier) readPage(ctx context.Context, r *job.Record, n int) ([]byte, error) {
	data, run, err := c.readAndCopy(ctx, r, func(run int) string { return job.PageKey(r.Tenant, r.ID, run, n) })
	if err != nil || run == r.Run {
		return data, err
	}
	p, err := document.DecodePage(data)
	if err != nil {
		return nil, err
	}
	for _, img := range p.GetImages() {
		if !isImageName(img.GetName()) {
			continue
		}
		from, to := job.ArtifactKey(r.Tenant, r.ID, run, img.GetName()), job.ArtifactKey(r.Tenant, r.ID, r.Run, img.GetName())
		if err := c.blobs.CopyBlob(ctx, from, to); err != nil && !errors.Is(err, blob.ErrNotFound) {
			return nil, fmt.Errorf("take over an image: %w", err)
		}
	}
	return data, nil
}

// isImageName reports whether a name is one that render gives to images.
func isImageName(name string) bool {
	return strings.HasPrefix(name, "images/") && !strings.Contains(name, "..") && strings.Count(name, "/") == 1
}
