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
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/outcome"
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

// UnitName names the page.
func (*steps) UnitName(t *busv1.OcrTask) string { return jobs.PageUnitName(jobs.OCRPage(t)) }

// LoadResult reports whether the page's words stand in the store.
func (st *steps) LoadResult(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (result, bool, error) {
	page := jobs.OCRPage(t)
	key := job.RecognisedKey(s.Job.Tenant, s.Job.ID, s.Job.Run, page)
	if s.Progress.PagesDone(page, page) {
		return result{batch: key}, true, nil
	}
	found, err := st.deps.Blobs.BlobExists(ctx, key)
	return result{batch: key}, found, err
}

// ProcessUnit recognises the page and stores its words.
func (st *steps) ProcessUnit(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (result, error) {
	n := jobs.OCRPage(t)
	native, err := st.readNativePage(ctx, t, n)
	if errors.Is(err, blob.ErrNotFound) {
		return result{rerender: true}, nil
	}
	if err != nil {
		return result{}, err
	}
	raster, err := st.deps.Blobs.OpenFile(ctx, t.GetRaster().GetKey())
	if errors.Is(err, blob.ErrNotFound) {
		// A crash took the raster, which is not synced to disk. The page does not fail for it.
		return result{rerender: true}, nil
	}
	if err != nil {
		return result{}, fmt.Errorf("open raster of page %d: %w", n, err)
	}
	defer raster.Close()
	page, err := st.readPage(ctx, s, native, Image{File: raster, DPI: t.GetDpi()})
	if err != nil {
		return result{}, err
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
	if err := st.deps.Blobs.PutBytes(ctx, key, data, stage.ContentTypeProtobuf); err != nil {
		return result{}, fmt.Errorf("store page %d: %w", n, err)
	}
	return result{batch: key}, nil
}

// readNativePage returns what render read on the page.
func (st *steps) readNativePage(ctx context.Context, t *busv1.OcrTask, page int) (*inkstreamv1.Page, error) {
	data, err := st.deps.Blobs.ReadBytes(ctx, t.GetBatch().GetKey(), stage.MaxBatchBytes)
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

// readPage reads a page's raster, unless it has a text layer that agrees with the ink. What is wrong with the page is
// its outcome, not an error. The error is bus.ErrTakesLong where it takes longer than a first try.
func (st *steps) readPage(ctx context.Context, s *stage.Snapshot, native *inkstreamv1.Page,
	img Image) (*inkstreamv1.Page, error) {
	layer := native.GetReason()
	native.Reason = ""
	if layer == outcome.LayerSample {
		agrees, err := st.checkTextLayer(ctx, s, native, img)
		if err != nil || agrees {
			return native, err
		}
	}
	page, err := st.recognisePage(ctx, s, int(native.GetNumber()), img, RecogniseOptions{
		Deskew: s.Job.Options.Deskew.IsOn(), Rotate: s.Job.Options.Rotate.IsOn(), Engine: s.Job.Options.Engine,
		Tenant: s.Job.Tenant, Job: string(s.Job.ID),
	})
	switch {
	case err != nil:
		return nil, err
	case page.GetOutcome() != outcome.Failed:
		if layer != "" && settleTextLayer(native, page) && (layer == outcome.LayerSample || !hasWords(page)) {
			return native, nil // or the reading has nothing more
		}
		reason := native.GetReason()
		page = layout.MergeNativeAndOCR(native, page)
		outcome.SetOCR(page)
		page.Reason = reason
	case layer != "": // what there is is worth more than nothing
		keepTextLayer(native, comparison{})
		native.Notes = append(native.Notes, "the text layer was not held against the page: "+page.GetError().GetCode())
		return native, nil
	default:
		page.Width, page.Height, page.Rotation = native.GetWidth(), native.GetHeight(), native.GetRotation()
	}
	return page, nil
}

// recognisePage has page n recognised as opts say, in the languages of the job, within its time. What is wrong with the
// page is its outcome, not an error. The error is bus.ErrTakesLong where it takes longer than a first try.
func (st *steps) recognisePage(ctx context.Context, s *stage.Snapshot, n int, img Image,
	opts RecogniseOptions) (*inkstreamv1.Page, error) {
	r := s.Job
	if opts.Languages = r.Options.Languages; opts.Languages == "" {
		opts.Languages, opts.MayBeOther = st.cfg.Languages, true
	}
	limit := job.ShorterLimit(r.Options.PageTimeout, st.cfg.PageTimeout)
	// A vision model may take as long as the page may: it holds no core, and a short first try would cut its answer.
	mayAskModel := opts.Engine != "" && opts.Engine != EngineName
	opts.Timeout = limit
	firstTry := !mayAskModel && st.cfg.FirstTry < limit/3 && (!s.Slow || !st.deps.HasSlowPageTime(s))
	if firstTry {
		opts.Timeout = st.cfg.FirstTry
	}
	start := time.Now()
	var page *inkstreamv1.Page
	var err error
	for range fault.MaxCrashTries {
		stage.Heartbeat(ctx)
		page, err = st.engine.RecognisePage(ctx, img, opts)
		if fault.CodeOf(err) != fault.EngineCrashed || ctx.Err() != nil {
			break
		}
	}
	st.deps.Tel.Metrics.RecordEngineTime(ctx, EngineName, time.Since(start))
	if late := fault.CodeOf(err) == fault.PageTimeout && ctx.Err() == nil; late && firstTry {
		err = st.deps.DeferSlowPage(s)
	} else if late {
		st.deps.ChargeSlowPage(ctx, s, bus.OCR, n, limit)
	}
	switch {
	case err == nil:
		if opts.Engine != "" && (st.cfg.Engine == "" || st.cfg.Engine == EngineName) {
			page.Notes = append(page.Notes, "the job asks for a vision model, and this server has none")
		}
		return page, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("recognise page %d: %w", n, ctx.Err())
	case errors.Is(err, bus.ErrTakesLong):
		return nil, err
	case fault.KindOf(err) == fault.EngineCrash || fault.KindOf(err) == fault.Permanent:
		st.deps.Log.WarnContext(ctx, "page failed", "job", r.ID, "page", n, "code", fault.CodeOf(err), "error", err)
		return outcome.NewFailedPage(n, string(bus.OCR), err), nil
	default:
		return nil, fmt.Errorf("recognise page %d: %w", n, err)
	}
}

// PlanFollowUp passes the page on to index, or has its chunk rendered again.
func (st *steps) PlanFollowUp(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask,
	res result) (stage.FollowUp, error) {
	if res.rerender {
		return st.requestRerender(ctx, s, t)
	}
	spans := append(t.GetSpans(), &busv1.Span{
		Stage: string(bus.OCR), StartTime: timestamppb.New(s.Started), EndTime: timestamppb.Now(),
	})
	next := jobs.RecognisedMessage(t, s.Lane, jobs.OCRPage(t), &busv1.Blob{Key: res.batch}, spans)
	return stage.FollowUp{Messages: []bus.Message{next}}, nil
}

// requestRerender removes what is left of the chunk's batch, which would make render believe that it is done, and
// releases the chunk once more.
func (st *steps) requestRerender(ctx context.Context, s *stage.Snapshot, t *busv1.OcrTask) (stage.FollowUp, error) {
	st.deps.Log.InfoContext(ctx, "raster is gone, chunk is rendered again", "job", s.Job.ID, "chunk", t.GetChunk())
	if err := st.deps.Blobs.Delete(ctx, job.BatchKey(s.Job.Tenant, s.Job.ID, s.Job.Run, int(t.GetChunk()))); err != nil {
		return stage.FollowUp{}, fmt.Errorf("remove batch: %w", err)
	}
	replay := int(s.Started.Unix())
	return stage.FollowUp{Messages: []bus.Message{jobs.RenderMessage(s.Job, s.Lane, int(t.GetChunk()), replay)}}, nil
}
