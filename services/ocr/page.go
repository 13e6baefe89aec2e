package ocr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

type steps struct{ *Service }

// result is what a unit yields: the key of its batch, or rerender where the raster is gone.
type result struct {
	batch    string
	rerender bool
}

// NewTask returns an empty task.
func (*steps) NewTask() *busv1.OcrTask { return &busv1.OcrTask{} }

// Unit names the page.
func (*steps) Unit(t *busv1.OcrTask) string { return stage.PageUnit(pageOf(t)) }

// pageOf returns the page that a task is about; 0, which no document has, where it names none.
func pageOf(t *busv1.OcrTask) int {
	if pages := t.GetPages(); len(pages) > 0 {
		return int(pages[0])
	}
	return 0
}

// Done reports whether the page's words stand in the store.
func (st *steps) Done(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (result, bool, error) {
	page := pageOf(t)
	key := job.RecognisedKey(s.Job.Tenant, s.Job.ID, s.Job.Run, page)
	if s.Progress.Done(page, page) {
		return result{batch: key}, true, nil
	}
	found, err := st.env.Blobs.Exists(ctx, key)
	return result{batch: key}, found, err
}

// Work recognises the page and stores its words.
func (st *steps) Work(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (result, error) {
	n := pageOf(t)
	native, err := st.native(ctx, t, n)
	if errors.Is(err, blob.ErrNotFound) {
		return result{rerender: true}, nil
	}
	if err != nil {
		return result{}, err
	}
	page, err := st.recognise(ctx, s.Job, t, n)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		// A crash took the raster, which is not synced to disk. The page does not fail for it.
		return result{rerender: true}, nil
	case err != nil:
		return result{}, err
	case page.GetOutcome() == job.OutcomeFailed:
		page.Width, page.Height, page.Rotation = native.GetWidth(), native.GetHeight(), native.GetRotation()
	default:
		page = layout.MergeNativeAndOCR(native, page)
		page.Outcome = job.OutcomeOCR
	}
	page.Number = int32(n)
	data, err := proto.Marshal(&inkstreamv1.PageBatch{Pages: []*inkstreamv1.Page{page}})
	if err != nil {
		return result{}, fmt.Errorf("encode page %d: %w", n, err)
	}
	if err := failpoint.Hit(string(bus.OCR), "work"); err != nil {
		return result{}, err
	}
	key := job.RecognisedKey(s.Job.Tenant, s.Job.ID, s.Job.Run, n)
	if err := st.env.Blobs.PutBytes(ctx, key, data, stage.TypeProtobuf); err != nil {
		return result{}, fmt.Errorf("store page %d: %w", n, err)
	}
	return result{batch: key}, nil
}

// native returns what render read on the page.
func (st *steps) native(ctx context.Context, t *busv1.OcrTask, page int) (*inkstreamv1.Page, error) {
	data, err := st.env.Blobs.Bytes(ctx, t.GetBatch().GetKey(), stage.MaxBatch)
	if err != nil {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &batch); err != nil {
		return nil, fmt.Errorf("decode batch: %w", err)
	}
	for _, p := range batch.GetPages() {
		if int(p.GetNumber()) == page {
			return p, nil
		}
	}
	return nil, fault.New(fault.Internal, "batch of chunk %d lacks page %d", t.GetChunk(), page)
}

// crashTries is how often a page may crash the engine before it is failed.
const crashTries = 2

// recognise reads the page's raster. What is wrong with the page is its outcome, not an error.
func (st *steps) recognise(ctx context.Context, r *job.Record, t *busv1.OcrTask, n int) (*inkstreamv1.Page, error) {
	f, err := st.env.Blobs.File(ctx, t.GetRaster().GetKey())
	if err != nil {
		return nil, fmt.Errorf("open raster of page %d: %w", n, err)
	}
	defer f.Close()
	languages := r.Options.Languages
	if languages == "" {
		languages = st.cfg.Languages
	}
	start := time.Now()
	var page *inkstreamv1.Page
	for range crashTries {
		stage.Alive(ctx)
		page, err = st.engine.Recognise(ctx, Image{File: f, DPI: t.GetDpi()}, RecogniseOptions{
			Languages: languages, Timeout: job.Shorter(r.Options.PageTimeout, st.cfg.PageTimeout),
			KeepSkew: r.Options.KeepSkew, KeepRotation: r.Options.KeepRotation,
		})
		if fault.CodeOf(err) != fault.EngineCrashed || ctx.Err() != nil {
			break
		}
	}
	st.env.Tel.Metrics.EngineSeconds(ctx, "tesseract", time.Since(start))
	switch {
	case err == nil:
		return page, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("recognise page %d: %w", n, ctx.Err())
	case fault.KindOf(err) == fault.EngineCrash || fault.KindOf(err) == fault.Permanent:
		st.env.Log.WarnContext(ctx, "page failed", "job", r.ID, "page", n, "code", fault.CodeOf(err), "error", err)
		return stage.FailedPage(n, string(bus.OCR), err), nil
	default:
		return nil, fmt.Errorf("recognise page %d: %w", n, err)
	}
}

// Next passes the page on to index, or has its chunk rendered again.
func (st *steps) Next(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask, res result) (stage.Outcome, error) {
	if res.rerender {
		return st.rerender(ctx, s, t)
	}
	spans := append(t.GetSpans(), &busv1.Span{
		Stage: string(bus.OCR), StartTime: timestamppb.New(s.Started), EndTime: timestamppb.Now(),
	})
	return stage.Outcome{Messages: []bus.Message{{
		Stage: bus.Index, Lane: s.Lane, Unit: st.Unit(t), Replay: int(t.GetReplay()),
		Task: &busv1.IndexTask{
			Unit: t.GetUnit(), Chunk: t.GetChunk(), Pages: t.GetPages(), Batch: &busv1.Blob{Key: res.batch}, Spans: spans,
		},
	}}}, nil
}

// rerender removes what is left of the chunk's batch, which would make render believe that it is done, and releases the chunk once more.
func (st *steps) rerender(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (stage.Outcome, error) {
	st.env.Log.InfoContext(ctx, "raster is gone, chunk is rendered again", "job", s.Job.ID, "chunk", t.GetChunk())
	if err := st.env.Blobs.Delete(ctx, job.BatchKey(s.Job.Tenant, s.Job.ID, s.Job.Run, int(t.GetChunk()))); err != nil {
		return stage.Outcome{}, fmt.Errorf("remove batch: %w", err)
	}
	replay := int(s.Started.Unix())
	return stage.Outcome{Messages: []bus.Message{stage.RenderChunk(s.Job, s.Lane, int(t.GetChunk()), replay)}}, nil
}
