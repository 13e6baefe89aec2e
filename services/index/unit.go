package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

type steps struct{ *Service }

// result says what to do about a unit whose batch is gone.
type result struct{ rerender bool }

// NewTask returns an empty task.
func (*steps) NewTask() *busv1.IndexTask { return &busv1.IndexTask{} }

// Unit names the pages that come together, or the end of the run.
func (*steps) Unit(t *busv1.IndexTask) string {
	switch {
	case t.GetFinalise():
		return "finalise"
	case t.GetRemove():
		return "remove"
	case len(t.GetPages()) == 1:
		return stage.PageUnit(int(t.GetPages()[0]))
	default:
		return stage.ChunkUnit(int(t.GetChunk()))
	}
}

// Done reports whether every page of the unit has been counted. The end of a run is done when the job has ended, which the handler sees
// before it asks.
func (*steps) Done(_ context.Context, s *stage.Snapshot, t *busv1.IndexTask) (result, bool, error) {
	if t.GetFinalise() || t.GetRemove() {
		return result{}, false, nil
	}
	if s.Progress == nil {
		return result{}, false, fault.New(fault.Unavailable, "the record read is older than the task")
	}
	for _, n := range t.GetPages() {
		if !s.Progress.Done(int(n), int(n)) {
			return result{}, false, nil
		}
	}
	return result{}, true, nil
}

// Work indexes the unit's pages and counts them. Whoever counts the last page finishes the job: the end of a run is a task of its own only where
// a crash or an error came between the two, and where a run has no pages to count.
func (st *steps) Work(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (result, error) {
	if t.GetFinalise() {
		return result{}, st.finalise(ctx, s)
	}
	if t.GetRemove() {
		// A replica that lags: the job was deleted before the task was made.
		return result{}, fault.New(fault.Unavailable, "the record read is older than the job's removal")
	}
	pages, err := st.pages(ctx, s, t)
	if errors.Is(err, blob.ErrNotFound) {
		// A crash took the batch, which is not synced to disk. Its pages are read again.
		return result{rerender: true}, nil
	}
	if err != nil {
		return result{}, err
	}
	if err := st.keep(ctx, s.Job, pages); err != nil {
		return result{}, err
	}
	if err := failpoint.Hit(string(bus.Index), "work"); err != nil {
		return result{}, err
	}
	if last, err := st.count(ctx, s, t, pages); err != nil || !last {
		return result{}, err
	}
	if err := st.tidy(ctx, s, t); err != nil {
		return result{}, err
	}
	// Ahead of the end, so that the trail has them in this order whatever happens in between.
	if err := st.env.Bus.PublishAll(ctx, nil, counted(s, t)); err != nil {
		return result{}, fmt.Errorf("publish what happened to the pages: %w", err)
	}
	if err := failpoint.Hit("finalise", "begin"); err != nil {
		return result{}, err
	}
	return result{}, st.finalise(ctx, s)
}

// pages returns the pages of the unit that have not been counted yet, in reading order.
func (st *steps) pages(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) ([]*inkstreamv1.Page, error) {
	data, err := st.env.Blobs.Bytes(ctx, t.GetBatch().GetKey(), stage.MaxBatch)
	if err != nil {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &batch); err != nil {
		return nil, fmt.Errorf("decode batch: %w", err)
	}
	byNumber := make(map[int32]*inkstreamv1.Page, len(batch.GetPages()))
	for _, p := range batch.GetPages() {
		byNumber[p.GetNumber()] = p
	}
	var pages []*inkstreamv1.Page
	for _, n := range t.GetPages() {
		if s.Progress.Done(int(n), int(n)) {
			continue
		}
		p := byNumber[n]
		if p == nil {
			return nil, fault.New(fault.Internal, "batch lacks page %d", n)
		}
		layout.ArrangeWith(p, layout.Options{NoTables: s.Job.Options.NoTables})
		document.Languages(p)
		if o := p.GetOutcome(); (o == job.OutcomeNative || o == job.OutcomeBlank) && p.GetQuality() == 0 {
			p.Quality = 1 // sound text of its own, or none to read wrong
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// keep writes the pages' results, and their rows in the search index beside it.
func (st *steps) keep(ctx context.Context, r *job.Record, pages []*inkstreamv1.Page) error {
	rows := make([]search.Page, 0, len(pages))
	objects := make([]blob.Object, 0, len(pages))
	for _, p := range pages {
		n := int(p.GetNumber())
		data, err := document.Store(p)
		if err != nil {
			return err
		}
		objects = append(objects, blob.Object{Key: job.PageKey(r.Tenant, r.ID, r.Run, n), Data: data})
		rows = append(rows, projection.Page(r.Tenant, r.ID, r.Run, n, p.GetText(), p.GetLanguage()))
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := st.env.Blobs.PutAll(gctx, objects); err != nil {
			return fmt.Errorf("store pages: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := st.store.PutPages(gctx, rows); err != nil {
			return fmt.Errorf("index pages: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// count sets the pages' outcomes in the progress, each once. It reports whether that was the last of the job: exactly one caller is told so.
func (st *steps) count(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask, pages []*inkstreamv1.Page) (last bool, err error) {
	outcomes := make([]job.Outcome, 0, len(pages))
	for _, p := range pages {
		outcomes = append(outcomes, job.Outcome{
			Page: int(p.GetNumber()), Kind: p.GetOutcome(), Code: fault.Code(p.GetError().GetCode()),
		})
	}
	fresh := 0
	progress, err := st.env.Jobs.UpdateProgressFrom(ctx, s.Job.Tenant, s.Job.ID, s.Progress, func(p *job.Progress) error {
		fresh = 0 // an earlier try may have found other progress
		if p.Run != s.Job.Run {
			return fault.Wrap(fault.Busy, fault.Unavailable, job.ErrSuperseded)
		}
		n, err := p.Set(outcomes)
		if err != nil {
			return fault.Wrap(fault.Permanent, fault.Internal, err)
		}
		if fresh = n; n == 0 {
			return job.ErrUnchanged
		}
		for _, span := range t.GetSpans() {
			p.Ran(span.GetStage(), span.GetStartTime().AsTime(), span.GetEndTime().AsTime())
		}
		p.Ran(string(bus.Index), s.Started, time.Now())
		return nil
	})
	if err != nil {
		return false, err
	}
	s.Progress = progress
	if fresh == 0 {
		return false, nil
	}
	for _, o := range outcomes {
		st.env.Tel.Metrics.Pages(ctx, o.Kind, 1)
	}
	return progress.AllDone(), nil
}

// Next releases the chunk that waits for this one, and finishes the job after its last page.
func (st *steps) Next(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask, res result) (stage.Outcome, error) {
	r, chunk := s.Job, int(t.GetChunk())
	if t.GetFinalise() {
		return afterFinalise(s), nil
	}
	if res.rerender {
		return st.rerender(ctx, s, t)
	}
	if r.State.Final() { // this unit was the last, and what was kept for the run is gone
		return stage.Outcome{Events: []*busv1.Event{stage.EndEvent(r)}}, nil
	}
	out := stage.Outcome{Events: counted(s, t)}
	if err := st.tidy(ctx, s, t); err != nil {
		return out, err
	}
	if first, last := r.ChunkRange(chunk); !s.Progress.Done(first, last) {
		return out, nil
	}
	if m, open := stage.ReleaseChunk(r, s.Progress, s.Lane, chunk+max(r.Window, 1)); open {
		out.Messages = append(out.Messages, m)
	}
	if s.Progress.AllDone() {
		out.Messages = append(out.Messages, stage.FinaliseMessage(r, s.Lane, 0))
	}
	return out, nil
}

// counted is what the trail is told of a unit whose pages are counted: which of them failed, and whether the chunk is done with them.
func counted(s *stage.Snapshot, t *busv1.IndexTask) (events []*busv1.Event) {
	for _, n := range t.GetPages() {
		if s.Progress.Outcome(int(n)) == job.OutcomeFailed {
			e := stage.NewEvent(s.Job, "page_failed", string(bus.Index))
			e.Page, e.Code = n, string(s.Progress.Code(int(n)))
			events = append(events, e)
		}
	}
	if first, last := s.Job.ChunkRange(int(t.GetChunk())); s.Progress.Done(first, last) {
		events = append(events, stage.NewEvent(s.Job, "chunk_done", string(bus.Index), "unit", strconv.Itoa(int(t.GetChunk()))))
	}
	return events
}

// tidy removes what was kept for the unit's pages. The chunk's batch stays until the chunk is done, for it tells render that it is.
func (st *steps) tidy(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) error {
	r := s.Job
	var keys []string
	for _, n := range t.GetPages() {
		if s.Progress.Outcome(int(n)) == job.OutcomeOCR || len(t.GetPages()) == 1 {
			keys = append(keys, job.RasterKey(r.Tenant, r.ID, r.Run, int(n)), job.RecognisedKey(r.Tenant, r.ID, r.Run, int(n)))
		}
	}
	first, last := r.ChunkRange(int(t.GetChunk()))
	if s.Progress.Done(first, last) {
		keys = append(keys, job.BatchKey(r.Tenant, r.ID, r.Run, int(t.GetChunk())))
	}
	for _, key := range keys {
		if err := st.env.Blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove temporary blob: %w", err)
		}
	}
	return nil
}

// rerender removes what would make render and ocr believe that they are done with the pages, and releases the chunk once more. The unit's own batch may
// be there for others: a folder that machines share holds what one of them takes for lost.
func (st *steps) rerender(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.Outcome, error) {
	r, chunk := s.Job, int(t.GetChunk())
	for _, key := range []string{t.GetBatch().GetKey(), job.BatchKey(r.Tenant, r.ID, r.Run, chunk)} {
		if err := st.env.Blobs.Delete(ctx, key); err != nil {
			return stage.Outcome{}, fmt.Errorf("remove batch: %w", err)
		}
	}
	return stage.Outcome{Messages: []bus.Message{stage.RenderChunk(r, s.Lane, chunk, int(s.Started.Unix()))}}, nil
}
