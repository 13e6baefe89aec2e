package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

type steps struct{ *Service }

// NewTask returns an empty task.
func (*steps) NewTask() *busv1.RenderTask { return &busv1.RenderTask{} }

// UnitName names the chunk, or the rest of it.
func (*steps) UnitName(t *busv1.RenderTask) string {
	return jobs.RenderUnitName(int(t.GetChunk()), int(t.GetFromPage()))
}

// LoadResult reports whether every page of the chunk has ended, or its batch stands in the store: the batch is
// written last. The batch has a page for each page of the chunk that had not ended before; the outcome of those that
// go to recognition is set already.
func (st *steps) LoadResult(ctx context.Context, s *stage.Snapshot, t *busv1.RenderTask) (chunkResult, bool, error) {
	if s.Progress.PagesDone(int(t.GetFirstPage()), int(t.GetLastPage())) {
		return chunkResult{}, true, nil
	}
	data, err := st.deps.Blobs.ReadBytes(ctx, batchKey(s.Job, t), stage.MaxBatchBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return chunkResult{}, false, nil
	}
	if err != nil {
		return chunkResult{}, false, err
	}
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &batch); err != nil {
		return chunkResult{}, false, nil //nolint:nilerr // a half-written batch of a crash: read the chunk again
	}
	return chunkResult{batch: &batch}, isCompleteBatch(&batch, s.Progress, t), nil
}

// isCompleteBatch reports whether a batch has every page of its chunk that has not ended. One that a crash has
// emptied decodes as well, and the job would wait without end for pages that no task reports.
func isCompleteBatch(batch *inkstreamv1.PageBatch, p *job.Progress, t *busv1.RenderTask) bool {
	has := make(map[int]bool, len(batch.GetPages()))
	for _, page := range batch.GetPages() {
		has[int(page.GetNumber())] = true
	}
	for n := int(t.GetFirstPage()); n <= int(t.GetLastPage()); n++ {
		if !has[n] && !p.PagesDone(n, n) {
			return false
		}
	}
	return true
}

func batchKey(r *job.Record, t *busv1.RenderTask) string {
	return job.BatchKey(r.Tenant, r.ID, r.Run, int(t.GetChunk()))
}

// ProcessUnit reads the chunk's pages and stores their rasters and the batch; or a part of them, where they take long.
func (st *steps) ProcessUnit(ctx context.Context, s *stage.Snapshot, t *busv1.RenderTask) (chunkResult, error) {
	f, err := st.deps.OpenSource(ctx, s.Job, false)
	if err != nil {
		return chunkResult{}, err
	}
	defer f.Close()
	password, err := st.deps.DocumentPassword(s.Job)
	if err != nil {
		return chunkResult{}, err
	}
	doc, err := st.engine.OpenPages(ctx, f, password)
	if err != nil {
		return chunkResult{}, err
	}
	defer doc.Close()

	part, err := st.readPages(ctx, s, t, doc)
	if err != nil {
		return chunkResult{}, err
	}
	if part.nextPage > 0 {
		return part, st.storePartialBatch(ctx, s.Job, t, part)
	}
	batch := part.batch
	data, err := proto.Marshal(batch)
	if err != nil {
		return chunkResult{}, fmt.Errorf("encode batch: %w", err)
	}
	if err := failpoint.Hit(string(bus.Render), "work"); err != nil {
		return chunkResult{}, err
	}
	if err := st.deps.Blobs.PutBytes(ctx, batchKey(s.Job, t), data, stage.ContentTypeProtobuf); err != nil {
		return chunkResult{}, fmt.Errorf("store batch: %w", err)
	}
	return chunkResult{batch: batch}, nil
}

// readPages reads the chunk's pages and stores their rasters. The result names the page to go on with later where it
// has had its turn, or where a page takes longer than a first try.
func (st *steps) readPages(ctx context.Context, s *stage.Snapshot, t *busv1.RenderTask,
	doc *pdf.Document) (chunkResult, error) {
	batch, err := st.loadPartialBatch(ctx, s.Job, t)
	if err != nil {
		return chunkResult{}, err
	}
	kept := newImageStore(st.deps.Blobs, s.Job, batch)
	left, next := maxChunkWords, int(t.GetFirstPage())
	for _, p := range batch.GetPages() {
		left -= truncateWords(p, left) // none is cut: that was done when it was read
		next = int(p.GetNumber()) + 1
	}
	begun, tookLong := false, false
	for n := next; n <= int(t.GetLastPage()); n++ {
		if s.Progress.PagesDone(n, n) {
			continue // taken over from an earlier run, left out, or the chunk is rendered again
		}
		// Beyond the page at which the task began: otherwise one that began again after a crash would be taken for a
		// repeat of itself.
		if begun && n > int(t.GetFromPage()) && (tookLong || time.Since(s.Started) > st.cfg.TimeSlice) {
			return chunkResult{batch: batch, nextPage: n}, nil
		}
		stage.Heartbeat(ctx)
		start := time.Now()
		page, err := st.readPage(ctx, s, doc, n, kept)
		if errors.Is(err, bus.ErrTakesLong) {
			return chunkResult{batch: batch, nextPage: n, slow: true}, nil
		}
		if err != nil {
			return chunkResult{}, err
		}
		tookLong = s.Slow && time.Since(start) > st.engine.FirstTry() // the pages after it need not wait as it did
		page, words := limitPageWords(page, left)
		left -= words
		batch.Pages = append(batch.Pages, page)
		begun = true
	}
	return chunkResult{batch: batch}, nil
}

// readPage reads one page and keeps its images. What is wrong with the page is its outcome, not an error.
// The error is bus.ErrTakesLong where it takes longer than a first try.
func (st *steps) readPage(ctx context.Context, s *stage.Snapshot, doc *pdf.Document, n int,
	kept *imageStore) (*inkstreamv1.Page, error) {
	start, r := time.Now(), s.Job
	limit := job.ShorterLimit(r.Options.PageTimeout, st.engine.PageTimeout())
	firstTry := st.engine.FirstTry() < limit/3 && (!s.Slow || !st.deps.HasSlowPageTime(s))
	reading := sandbox.WithFirstTry(ctx)
	if !firstTry { // it would have no more time behind others
		reading = sandbox.WithFullTime(ctx)
	}
	res, err := readPageWithRetry(pageOptions(&r.Options), limit, firstTry,
		func(opts pdf.PageOptions) (*pdf.PageResult, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return doc.ReadPage(reading, n, opts)
		})
	st.deps.Tel.Metrics.RecordEngineTime(ctx, service.PDFium, time.Since(start))
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read page %d: %w", n, ctx.Err())
		}
		switch late := fault.CodeOf(err) == fault.PageTimeout; {
		case late && firstTry:
			if err = st.deps.DeferSlowPage(s); errors.Is(err, bus.ErrTakesLong) {
				return nil, err
			}
		case late:
			st.deps.ChargeSlowPage(ctx, s, bus.Render, n, limit)
		}
		if !isPageFault(err) {
			return nil, fmt.Errorf("read page %d: %w", n, err)
		}
		st.deps.Log.WarnContext(ctx, "page failed", "job", r.ID, "page", n, "code", fault.CodeOf(err), "error", err)
		return outcome.NewFailedPage(n, string(bus.Render), err), nil
	}
	if err := kept.storeImages(ctx, res); err != nil {
		return nil, err
	}
	if res.Raster == nil {
		return res.Page, nil
	}
	outcome.SetOCR(res.Page)
	res.Page.Dpi = res.Raster.DPI
	switch res.Triage {
	case pdf.Layered:
		res.Page.Reason = outcome.LayerSample
	case pdf.LayeredMixed:
		res.Page.Reason = outcome.LayerWhole
	}
	err = storeTempBlob(ctx, st.deps.Blobs, job.RasterKey(r.Tenant, r.ID, r.Run, n), "image/x-portable-graymap",
		func(w io.Writer) error {
			_, err := res.Raster.WriteTo(w)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("store raster: %w", err)
	}
	return res.Page, nil
}

// readPageWithRetry reads a page once more, plainly, where it cannot be read with all that belongs to it: what it
// says is worth more than its images, links, annotations and tags, should one of them be the trouble. A note on the
// page says that they are missing. A third of the limit is kept for that try. In a first try a page that takes long is
// left at that.
func readPageWithRetry(opts pdf.PageOptions, limit time.Duration, firstTry bool,
	read func(pdf.PageOptions) (*pdf.PageResult, error)) (*pdf.PageResult, error) {
	opts.Timeout = limit * 2 / 3
	res, err := read(opts)
	for try := 1; try < fault.MaxCrashTries && fault.CodeOf(err) == fault.EngineCrashed; try++ {
		res, err = read(opts)
	}
	why := fault.CodeOf(err)
	if firstTry && why == fault.PageTimeout {
		return res, err
	}
	if why != fault.EngineCrashed && why != fault.EngineMemory && why != fault.PageTimeout {
		return res, err
	}
	opts.Images, opts.Plain, opts.Timeout = false, true, limit/3
	if res, err = read(opts); err == nil {
		res.Page.Notes = append(res.Page.Notes,
			fmt.Sprintf("images, links, annotations and tags left out, because with them the page could not be read: %s", why))
	}
	return res, err
}

// isPageFault reports whether an error is the page's own fault.
func isPageFault(err error) bool {
	switch fault.CodeOf(err) {
	case fault.EngineCrashed, fault.PageTimeout, fault.PageBudget, fault.EngineMemory, fault.PageDamaged,
		fault.PageGeometry:
		return true
	default:
		return false
	}
}

// storeTempBlob stores a temporary blob that write writes.
func storeTempBlob(ctx context.Context, blobs *blob.Store, key, contentType string,
	write func(io.Writer) error) (err error) {
	w, err := blobs.NewWriter(ctx, key, blob.PutOptions{ContentType: contentType})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // which is nothing once it is closed
	if err := write(w); err != nil {
		return err
	}
	return w.Close()
}

// PlanFollowUp sends each page that needs recognition on its own, and all others together to index.
func (st *steps) PlanFollowUp(_ context.Context, s *stage.Snapshot, t *busv1.RenderTask,
	r chunkResult) (stage.FollowUp, error) {
	var out stage.FollowUp
	if r.nextPage > 0 {
		out.Messages = []bus.Message{newContinuation(t, r, s.Lane)}
		return out, nil
	}
	if r.batch == nil {
		return out, nil // every page has ended
	}
	ref := &busv1.Blob{Key: batchKey(s.Job, t)}
	spans := []*busv1.Span{{Stage: string(bus.Render), StartTime: timestamppb.New(s.Started), EndTime: timestamppb.Now()}}
	var others []int32
	for _, p := range r.batch.GetPages() {
		n := int(p.GetNumber())
		switch {
		case s.Progress.PagesDone(n, n):
		case p.GetOutcome() == outcome.OCR:
			out.Messages = append(out.Messages, jobs.OCRMessage(s.Job, t, s.Lane, n, p.GetDpi(), ref, spans))
			spans = nil // the chunk's time is told once
		default:
			others = append(others, int32(n))
		}
	}
	if len(others) > 0 {
		out.Messages = append(out.Messages, jobs.PagesMessage(t, s.Lane, others, ref, spans))
	}
	return out, nil
}
