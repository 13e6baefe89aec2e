package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// maxCarried bounds what a carrier holds before it writes: the store makes one wait for the disk of it.
const maxCarried = 4 << 20

// carrier reads what a run has, and copies what it took over from an earlier run into its own folder, so that the earlier one can go.
type carrier struct {
	blobs   *blob.Store
	waiting []blob.Object
	size    int
}

// read returns the newest of the blobs that the runs of a job may have; key names that of a run.
func (c *carrier) read(ctx context.Context, r *job.Record, key func(run int) string) ([]byte, error) {
	for _, run := range r.PageRuns() {
		data, err := c.blobs.Bytes(ctx, key(run), stage.MaxBatch)
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil || run == r.Run {
			return data, err
		}
		// The caller may append to data, which must not show in the copy.
		c.waiting = append(c.waiting, blob.Object{Key: key(r.Run), Data: slices.Clip(data), ContentType: "application/json"})
		if c.size += len(data); c.size < maxCarried {
			return slices.Clip(data), nil
		}
		return slices.Clip(data), c.flush(ctx)
	}
	return nil, fmt.Errorf("read %s: %w", key(r.Run), blob.ErrNotFound)
}

// flush writes what is waiting.
func (c *carrier) flush(ctx context.Context) error {
	if len(c.waiting) == 0 {
		return nil
	}
	if err := c.blobs.PutAll(ctx, c.waiting); err != nil {
		return fmt.Errorf("take over from an earlier run: %w", err)
	}
	c.waiting, c.size = c.waiting[:0], 0
	return nil
}
