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
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// steps is what the handlers of the stage's kinds of tasks share.
type steps struct{ *Service }

// pageSteps are the five steps of an IndexTask.
type pageSteps struct{ *steps }

// unitResult says what to do about a unit whose batch is gone.
type unitResult struct{ rerender bool }

// NewTask returns an empty task.
func (*pageSteps) NewTask() *busv1.IndexTask { return &busv1.IndexTask{} }

// UnitName names the pages that come together.
func (*pageSteps) UnitName(t *busv1.IndexTask) string {
	if len(t.GetPages()) == 1 {
		return jobs.PageUnitName(int(t.GetPages()[0]))
	}
	return jobs.ChunkUnitName(int(t.GetChunk()))
}

// LoadResult reports whether every page of the unit has been counted.
func (*pageSteps) LoadResult(_ context.Context, s *stage.Snapshot, t *busv1.IndexTask) (unitResult, bool, error) {
	if s.Progress == nil {
		return unitResult{}, false, fault.New(fault.Unavailable, "the record read is older than the task")
	}
	for _, n := range t.GetPages() {
		if !s.Progress.PagesDone(int(n), int(n)) {
			return unitResult{}, false, nil
		}
	}
	return unitResult{}, true, nil
}

// ProcessUnit indexes the unit's pages and counts them. The handler that counts the last page finishes the job: the end
// of a run is a task of its own only where a crash or an error came between the two, and where a run has no pages to
// count.
func (st *pageSteps) ProcessUnit(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (unitResult, error) {
	pages, err := st.readUncountedPages(ctx, s, t)
	if errors.Is(err, blob.ErrNotFound) {
		// A crash took the batch, which is not synced to disk. Its pages are read again.
		return unitResult{rerender: true}, nil
	}
	if err != nil {
		return unitResult{}, err
	}
	if err := st.storePages(ctx, s, pages); err != nil {
		return unitResult{}, err
	}
	if err := failpoint.Hit(string(bus.Index), "work"); err != nil {
		return unitResult{}, err
	}
	if last, err := st.recordOutcomes(ctx, s, t, pages); err != nil || !last {
		return unitResult{}, err
	}
	if err := st.removeTempBlobs(ctx, s, t); err != nil {
		return unitResult{}, err
	}
	// Ahead of the end, so that the audit trail has them in this order whatever happens in between.
	if err := st.deps.Bus.PublishAll(ctx, nil, newCountedEvents(s, t)); err != nil {
		return unitResult{}, fmt.Errorf("publish what happened to the pages: %w", err)
	}
	if err := failpoint.Hit("finalise", "begin"); err != nil {
		return unitResult{}, err
	}
	return unitResult{}, st.finaliseRun(ctx, s)
}

// readUncountedPages returns the pages of the unit that have not been counted yet, in reading order.
func (st *pageSteps) readUncountedPages(ctx context.Context, s *stage.Snapshot,
	t *busv1.IndexTask) ([]*inkstreamv1.Page, error) {
	data, err := st.deps.Blobs.ReadBytes(ctx, t.GetBatch().GetKey(), stage.MaxBatchBytes)
	if err != nil {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	byNumber, err := decodeBatch(data)
	if err != nil {
		return nil, err
	}
	arrange := func(p *inkstreamv1.Page) {
		layout.ArrangePageWith(p, layout.Options{Tables: s.Job.Options.Tables.IsOn()})
	}
	var pages []*inkstreamv1.Page
	for _, n := range t.GetPages() {
		if s.Progress.PagesDone(int(n), int(n)) {
			continue
		}
		p := byNumber[n]
		if p == nil {
			return nil, fault.New(fault.Internal, "batch lacks page %d", n)
		}
		if err := tryArrange(p, arrange); err != nil {
			st.deps.Log.ErrorContext(ctx, "page could not be arranged, and keeps the order of its file", "job", s.Job.ID, "page", n,
				"error", err)
			if p, err = rereadUnarranged(data, n); err != nil {
				return nil, err
			}
		}
		document.DetectLanguages(p)
		if o := p.GetOutcome(); (o == outcome.Native || o == outcome.Blank) && p.GetQuality() == 0 {
			p.Quality = 1 // sound text of its own, or none to read wrong
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// decodeBatch returns the pages of a batch by their numbers.
func decodeBatch(data []byte) (map[int32]*inkstreamv1.Page, error) {
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &batch); err != nil {
		return nil, fmt.Errorf("decode batch: %w", err)
	}
	byNumber := make(map[int32]*inkstreamv1.Page, len(batch.GetPages()))
	for _, p := range batch.GetPages() {
		byNumber[p.GetNumber()] = p
	}
	return byNumber, nil
}

// tryArrange arranges a page. A panic is an error of ours, for which the document is not lost: it is returned, and
// what has become of the page by then is of no use.
func tryArrange(p *inkstreamv1.Page, arrange func(*inkstreamv1.Page)) (err error) {
	defer fault.RecoverPanic(&err)
	arrange(p)
	return nil
}

// unarrangedNote tells of a page whose words stand in the order of its file.
const unarrangedNote = "the page could not be arranged: its words stand in the order of the file"

// rereadUnarranged returns a page of a batch with its words in the order in which they came.
func rereadUnarranged(batch []byte, number int32) (*inkstreamv1.Page, error) {
	byNumber, err := decodeBatch(batch)
	if err != nil {
		return nil, err
	}
	p := byNumber[number]
	layout.KeepOrder(p)
	p.Notes = append(p.Notes, unarrangedNote)
	return p, nil
}

// indexedPage returns a page of a job, whose document is cut into so many chunks, as the search index has it. Pages of the
// batch lane, for which no user waits one by one, may wait for those of other jobs; of a longer document they may not,
// because its next chunks wait for them.
func indexedPage(s *stage.Snapshot, chunks, number int, text, language string) search.Page {
	page := projection.IndexPage(s.Job.Tenant, s.Job.ID, s.Job.Run, number, text, language)
	page.CanWait = s.Lane == bus.Batch && chunks <= 1
	return page
}

// storePages writes the pages' results to the blob store, and at the same time their rows to the search index.
func (st *pageSteps) storePages(ctx context.Context, s *stage.Snapshot, pages []*inkstreamv1.Page) error {
	r := s.Job
	rows := make([]search.Page, 0, len(pages))
	objects := make([]blob.Object, 0, len(pages))
	encode := document.EncodeObservedPage
	if st.deps.Blobs.Compresses() {
		encode = document.EncodeCompactPage
	}
	for _, p := range pages {
		n := int(p.GetNumber())
		data, err := encode(p)
		if err != nil {
			return err
		}
		objects = append(objects, blob.Object{Key: job.PageKey(r.Tenant, r.ID, r.Run, n), Data: data, Compress: true})
		rows = append(rows, indexedPage(s, r.ChunkCount(), n, p.GetText(), p.GetLanguage()))
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := st.deps.Blobs.PutAll(gctx, objects); err != nil {
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

// recordOutcomes sets the pages' outcomes in the progress, each once. It reports whether that was the last of the
// job: exactly one caller is told so.
func (st *pageSteps) recordOutcomes(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask,
	pages []*inkstreamv1.Page) (last bool, err error) {
	outcomes := make([]job.Outcome, 0, len(pages))
	for _, p := range pages {
		outcomes = append(outcomes, job.Outcome{
			Page: int(p.GetNumber()), Kind: p.GetOutcome(), Code: fault.Code(p.GetError().GetCode()),
			HasDoubts: len(p.GetDoubts()) > 0,
		})
	}
	fresh := 0
	progress, err := st.deps.Jobs.UpdateProgressFrom(ctx, s.Job.Tenant, s.Job.ID, s.Progress, func(p *job.Progress) error {
		fresh = 0 // an earlier try may have found other progress
		if p.Run != s.Job.Run {
			return fault.Wrap(fault.Busy, fault.Unavailable, job.ErrSuperseded)
		}
		n, err := p.SetOutcomes(outcomes)
		if err != nil {
			return fault.Wrap(fault.Permanent, fault.Internal, err)
		}
		if fresh = n; n == 0 {
			return job.ErrUnchanged
		}
		for _, span := range t.GetSpans() {
			p.RecordStage(span.GetStage(), span.GetStartTime().AsTime(), span.GetEndTime().AsTime())
		}
		p.RecordStage(string(bus.Index), s.Started, time.Now())
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
		st.deps.Tel.Metrics.CountPages(ctx, o.Kind, 1)
	}
	return progress.AllPagesDone(), nil
}

// PlanFollowUp releases the chunk that waits for this one, and finishes the job after its last page.
func (st *pageSteps) PlanFollowUp(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask,
	res unitResult) (stage.FollowUp, error) {
	r, chunk := s.Job, int(t.GetChunk())
	if res.rerender {
		return st.requestRerender(ctx, s, t)
	}
	if r.State.HasEnded() { // this unit was the last, and what was kept for the run is gone
		return stage.FollowUp{Events: []*busv1.Event{jobs.EndEvent(r)}}, nil
	}
	out := stage.FollowUp{Events: newCountedEvents(s, t)}
	if err := st.removeTempBlobs(ctx, s, t); err != nil {
		return out, err
	}
	if first, last := r.ChunkRange(chunk); !s.Progress.PagesDone(first, last) {
		return out, nil
	}
	if m, open := jobs.ReleaseMessage(r, s.Progress, s.Lane, chunk+max(r.Window, 1)); open {
		out.Messages = append(out.Messages, m)
	}
	if s.Progress.AllPagesDone() {
		out.Messages = append(out.Messages, jobs.FinaliseMessage(r, s.Lane, 0))
	}
	return out, nil
}

// newCountedEvents returns the events of a unit whose pages are counted, for the audit trail: which of them failed, and
// whether the chunk is done with them.
func newCountedEvents(s *stage.Snapshot, t *busv1.IndexTask) (events []*busv1.Event) {
	for _, n := range t.GetPages() {
		if s.Progress.PageOutcome(int(n)) == outcome.Failed {
			e := jobs.NewEvent(s.Job, "page_failed", string(bus.Index))
			e.Page, e.Code = n, string(s.Progress.PageFaultCode(int(n)))
			events = append(events, e)
		}
	}
	if first, last := s.Job.ChunkRange(int(t.GetChunk())); s.Progress.PagesDone(first, last) {
		events = append(events, jobs.NewEvent(s.Job, "chunk_done", string(bus.Index), "unit",
			strconv.Itoa(int(t.GetChunk()))))
	}
	return events
}

// removeTempBlobs removes what was kept for the unit's pages. The chunk's batch stays until the chunk is done, for it
// tells render that it is.
func (st *pageSteps) removeTempBlobs(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) error {
	r := s.Job
	var keys []string
	for _, n := range t.GetPages() {
		if s.Progress.PageOutcome(int(n)) == outcome.OCR || len(t.GetPages()) == 1 {
			keys = append(keys, job.RasterKey(r.Tenant, r.ID, r.Run, int(n)), job.RecognisedKey(r.Tenant, r.ID, r.Run, int(n)))
		}
	}
	first, last := r.ChunkRange(int(t.GetChunk()))
	if s.Progress.PagesDone(first, last) {
		keys = append(keys, job.BatchKey(r.Tenant, r.ID, r.Run, int(t.GetChunk())))
	}
	for _, key := range keys {
		if err := st.deps.Blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove temporary blob: %w", err)
		}
	}
	return nil
}

// requestRerender removes what would make render and ocr believe that they are done with the pages, and releases the
// chunk once more. The unit's own batch may be there for others: a folder that machines share holds what one of them
// takes for lost.
func (st *pageSteps) requestRerender(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.FollowUp, error) {
	r, chunk := s.Job, int(t.GetChunk())
	for _, key := range []string{t.GetBatch().GetKey(), job.BatchKey(r.Tenant, r.ID, r.Run, chunk)} {
		if err := st.deps.Blobs.Delete(ctx, key); err != nil {
			return stage.FollowUp{}, fmt.Errorf("remove batch: %w", err)
		}
	}
	return stage.FollowUp{Messages: []bus.Message{jobs.RenderMessage(r, s.Lane, chunk, int(s.Started.Unix()))}}, nil
}

// OnEnded finishes what a crash cut after the job's end, whichever of its tasks ended it.
func (st *pageSteps) OnEnded(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.FollowUp, error) {
	if s.Job.State.IsGone() {
		return stage.FollowUp{}, nil
	}
	if err := st.cleanUpAfterEnd(ctx, s.Job); err != nil {
		return stage.FollowUp{}, err
	}
	return st.lateEvents(ctx, s, t)
}

// lateEvents returns the events that the audit trail may lack of a unit of pages whose task comes back after the job's
// end: its pages were counted, but the handler that counted them did not learn of that, or did not publish the events,
// and other handlers ended the job. The audit trail keeps once what it has already.
func (st *pageSteps) lateEvents(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask) (stage.FollowUp, error) {
	if s.Job.Outcomes == nil { // what was cut ends with its cut
		return stage.FollowUp{}, nil
	}
	p, err := st.deps.Jobs.LoadProgress(ctx, s.Job.Tenant, s.Job.ID)
	if errors.Is(err, job.ErrNotFound) || err == nil && p.Run != s.Job.Run {
		return stage.FollowUp{}, nil
	}
	if err != nil {
		return stage.FollowUp{}, err
	}
	s.Progress = p
	return stage.FollowUp{Events: newCountedEvents(s, t)}, nil
}
