package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/rest"
)

const (
	// jsonName is the artifact that is put together of stored pages.
	jsonName = "document.json"
	// assembledBytes is about how much of it is made at a time, of at most assembledPages pages, which are read at once.
	assembledBytes, assembledPages = 256 << 10, 16
	// assembledWeight is how many bytes of memory it takes to make a byte: those that are made and sent, and the pages.
	assembledWeight = 8
	// maxJSONIndex bounds what is read of an index, which has a few bytes a page, and the document's outline.
	maxJSONIndex = 64 << 20
)

// assembledJSON reads the document.json of a run whose index alone is stored. It is not safe for concurrent use.
type assembledJSON struct {
	ctx    context.Context //nolint:containedctx // an io.Reader takes none
	blobs  *blob.Store
	limits *limits.Service
	rec    *job.Record
	run    int
	index  *document.JSONIndex
	plan   *document.Plan // nil until it is needed

	next  int64  // the byte that is read next
	piece []byte // what was made last
	start int64  // where it begins
}

// openAssembledJSON opens document.json where an index of it is stored. The error wraps [blob.ErrNotFound] if there is
// none.
func (s *artifactStore) openAssembledJSON(ctx context.Context, rec *job.Record) (*assembledJSON, blob.Attributes, error) {
	r := &assembledJSON{ctx: ctx, blobs: s.blobs, limits: s.limits, rec: rec, run: rec.ArtifactsRun()}
	key := job.JSONIndexKey(rec.Tenant, rec.ID, r.run)
	attrs, err := r.blobs.ReadAttributes(ctx, key)
	if err != nil {
		return nil, attrs, err
	}
	data, err := r.blobs.ReadBytes(ctx, key, maxJSONIndex)
	if err != nil {
		return nil, attrs, err
	}
	if r.index, err = document.DecodeJSONIndex(data); err != nil {
		return nil, attrs, err
	}
	attrs.Size, attrs.ContentType = r.index.Size(), rest.JSONType
	return r, attrs, nil
}

// memory is how many bytes of memory it takes to read it.
func (r *assembledJSON) memory() int64 {
	return assembledWeight * max(assembledBytes, r.index.LongestPage())
}

// Seek sets where it is read next.
func (r *assembledJSON) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.next
	case io.SeekEnd:
		offset += r.index.Size()
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	r.next = offset
	return offset, nil
}

// Read reads on, to the end of what is made at a time at most.
func (r *assembledJSON) Read(p []byte) (int, error) {
	if r.next >= r.index.Size() {
		return 0, io.EOF
	}
	if at := r.next - r.start; at < 0 || at >= int64(len(r.piece)) {
		if err := r.makePiece(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.piece[r.next-r.start:])
	r.next += int64(n)
	return n, nil
}

// Close does nothing: nothing is open.
func (r *assembledJSON) Close() error { return nil }

// loadPlan reads what the document as a whole tells about its pages.
func (r *assembledJSON) loadPlan() error {
	if r.plan != nil {
		return nil
	}
	data, err := r.blobs.ReadBytes(r.ctx, job.PlanKey(r.rec.Tenant, r.rec.ID, r.run), jobview.MaxPageBytes)
	if err != nil {
		return fmt.Errorf("read the document's plan: %w", err)
	}
	r.plan, err = document.DecodePlan(data)
	return err
}

// makePiece makes what has the byte that is read next.
func (r *assembledJSON) makePiece() error {
	if err := r.loadPlan(); err != nil {
		return err
	}
	first, last, start := r.index.FindPages(r.next, assembledBytes)
	last = min(last, first+assembledPages-1)
	stored := make([][]byte, last-first+1)
	g, ctx := errgroup.WithContext(r.ctx)
	for i := range stored {
		g.Go(func() (err error) {
			stored[i], err = r.readPage(ctx, first+i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	release, err := r.limits.AcquireProcessor(r.ctx)
	if err != nil {
		return err
	}
	defer release()
	pages := make([]*inkstreamv1.Page, len(stored))
	for i, data := range stored {
		if pages[i], err = document.DecodePage(data); err != nil {
			return fmt.Errorf("page %d: %w", first+i, err)
		}
		pages[i].Number = int32(first + i)
		r.plan.ApplyTo(pages[i])
	}
	r.start = start
	r.piece, err = r.index.AppendPages(r.piece[:0], first, pages)
	return err
}

// readPage returns a stored page. Of one that was not asked for nothing is stored; that it is none of the others, its
// length tells, which is in the index.
func (r *assembledJSON) readPage(ctx context.Context, n int) ([]byte, error) {
	data, err := r.blobs.ReadBytes(ctx, job.PageKey(r.rec.Tenant, r.rec.ID, r.run, n), jobview.MaxPageBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return document.EncodeObservedPage(outcome.NewSkippedPage(n, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("read page %d: %w", n, err)
	}
	return data, nil
}
