package render

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A chunk whose pages take long must not keep a worker for as long as all of them take: sixteen pages that hang would
// take half an hour, and a few such chunks would keep every worker from all other jobs. So a chunk that has had its
// turn stores what was read of it, and goes on as another task, which waits behind the others of its lane. A page that
// takes longer than a first try has the chunk give way at once: it goes on with that page as a task that is marked as
// slow, and behind that page as an ordinary one again.

// chunkResult is what a task of render yields: the chunk's batch, or the page that another task goes on with.
type chunkResult struct {
	batch    *inkstreamv1.PageBatch // the pages that were read so far; nil where every page had ended before
	nextPage int                    // 0 where the chunk is read
	slow     bool                   // nextPage takes longer than a first try
}

// loadPartialBatch returns what the tasks before this one have read of the chunk. Where a crash took it, this one
// begins with the first page.
func (st *steps) loadPartialBatch(ctx context.Context, r *job.Record,
	t *busv1.RenderTask) (*inkstreamv1.PageBatch, error) {
	if t.GetFromPage() == 0 {
		return &inkstreamv1.PageBatch{}, nil
	}
	data, err := st.deps.Blobs.ReadBytes(ctx, partialBatchKey(r, t), stage.MaxBatchBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return &inkstreamv1.PageBatch{}, nil
	}
	if err != nil {
		return nil, err
	}
	var part inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &part); err != nil {
		return &inkstreamv1.PageBatch{}, nil //nolint:nilerr // a half-written part of a crash
	}
	return &part, nil
}

// storePartialBatch stores what was read of a chunk, up to the page that another task goes on with.
func (st *steps) storePartialBatch(ctx context.Context, r *job.Record, t *busv1.RenderTask, part chunkResult) error {
	data, err := proto.Marshal(part.batch)
	if err != nil {
		return fmt.Errorf("encode part: %w", err)
	}
	if err := st.deps.Blobs.PutBytes(ctx, partialBatchKey(r, t), data, stage.ContentTypeProtobuf); err != nil {
		return fmt.Errorf("store part: %w", err)
	}
	st.deps.Log.InfoContext(ctx, "chunk gives way to others, because its pages take long", "job", r.ID, "chunk",
		t.GetChunk(), "page", part.nextPage, "slow", part.slow)
	return failpoint.Hit(string(bus.Render), "part")
}

func partialBatchKey(r *job.Record, t *busv1.RenderTask) string {
	return job.PartKey(r.Tenant, r.ID, r.Run, int(t.GetChunk()))
}

// newContinuation returns the task that goes on with a chunk where r has left it.
func newContinuation(t *busv1.RenderTask, r chunkResult, lane bus.Lane) bus.Message {
	if r.slow {
		return jobs.SlowPageMessage(t, r.nextPage)
	}
	return jobs.ContinuationMessage(t, lane, r.nextPage)
}
