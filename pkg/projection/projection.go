// Package projection keeps the index's documents as the job records are, and its events as the audit trail is, and
// rebuilds an index from the blobs.
package projection

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/search"
)

const (
	// passInterval is how far the index is behind the records and the audit trail, when it is not busy.
	passInterval = time.Second
	// catchUpPeriod is how long before the start a record may have been written to be looked at once more: longer than
	// any service is away.
	catchUpPeriod = 24 * time.Hour
	// removalDelay is how long after a document was stored it can be that the mark of its job's removal is read: longer
	// than a scanner goes on with a watch that has died.
	removalDelay = 2 * time.Minute
	// eventRests is how many rests of the index come between two copies of events at least: fewer ask for a trail than
	// for a list.
	eventRests = 3
	// documentBatchSize is how many documents are stored at a time.
	documentBatchSize = 200
)

// IndexPage returns what the index keeps of a page: its text with the words put together that a hyphen breaks at the
// end of a line.
func IndexPage(tenant string, id job.ID, run, number int, text, language string) search.Page {
	return search.Page{Tenant: tenant, Job: string(id), Run: run, Number: number, Text: layout.Dehyphenate(text),
		Language: language}
}

// IndexDocument returns what the index keeps of a job: what its record says, with the batch, the caller and the code
// that it ended with for labels.
func IndexDocument(r *job.Record) search.Document {
	labels := maps.Clone(r.Labels)
	code := ""
	if r.Error != nil {
		code = string(r.Error.Code)
	}
	for name, value := range map[string]string{job.BatchLabel: string(r.Batch), job.CallerLabel: r.Caller,
		job.CodeLabel: code} {
		if value == "" {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	return search.Document{
		Tenant: r.Tenant, Job: string(r.ID), Filename: r.Filename, SHA256: r.SHA256, PageCount: r.PageCount,
		State:      string(r.State),
		CreateTime: r.CreateTime, EndTime: r.EndTime, Labels: labels, Lane: r.Lane(), Stages: indexStageRuns(r.Stages),
	}
}

// indexStageRuns returns what the stages did for a job.
func indexStageRuns(times map[string]job.StageTimes) map[string]search.StageRun {
	runs := make(map[string]search.StageRun, len(times))
	for name, t := range times {
		runs[name] = search.StageRun{Start: t.Start, End: t.End, Units: t.Units,
			Busy: time.Duration(t.Busy * float64(time.Second))}
	}
	return runs
}

// Projector tells the index of every job that is accepted or changes its state, and of every event. It reads the
// records and the audit trail as they grow, so that no service has to do it. Several Projectors repeat the same work,
// which does no harm.
type Projector struct {
	jobs  *job.Store
	bus   *bus.Bus
	store search.Store
	log   *slog.Logger
	asked chan struct{} // holds one where a pass is asked for
}

// New returns a Projector that is not yet running.
func New(jobs *job.Store, b *bus.Bus, store search.Store, log *slog.Logger) *Projector {
	return &Projector{jobs: jobs, bus: b, store: store, log: log, asked: make(chan struct{}, 1)}
}

// CopySoon has the index told of what changed before its time has come. It does not wait for it, and may be called by
// any goroutine.
func (p *Projector) CopySoon() {
	select {
	case p.asked <- struct{}{}:
	default:
	}
}

type jobRef struct {
	tenant string
	id     job.ID
}

// Run stores documents and events until ctx is done. While the broker or the index is away it waits. A nil error
// means a clean stop.
func (p *Projector) Run(ctx context.Context, ready func()) error {
	ready()
	scanner := p.jobs.NewRecordScanner()
	defer scanner.Close()
	store := &timedStore{Store: p.store}
	records := recordCopier{scanner: scanner, store: store, since: time.Now().Add(-catchUpPeriod)}
	events := eventCopier{bus: p.bus, store: store}
	var eventsCopied time.Time
	var rest time.Duration
	for asked := false; ; {
		store.spent = 0
		err := records.copyChangedRecords(ctx)
		if now := time.Now(); now.Sub(eventsCopied) >= max(passInterval, eventRests*rest) {
			err, eventsCopied = errors.Join(err, events.copyNewEvents(ctx)), now
		}
		if err != nil && ctx.Err() == nil {
			// Readiness checks report a dependency that is away; the next pass does the same again.
			p.log.DebugContext(ctx, "pass over the job records and the audit trail", "error", err)
		}
		rest = p.store.RestAfter(store.spent)
		askable := rest
		if !asked { // what ends alone is in the index at once
			askable = 0
		}
		if asked, err = p.awaitNextPass(ctx, max(passInterval, rest), askable); err != nil {
			return nil
		}
	}
}

// awaitNextPass waits until a pass is due or, after a rest, asked for, and reports whether it was. Its error is that of
// ctx.
func (p *Projector) awaitNextPass(ctx context.Context, due, rest time.Duration) (bool, error) {
	dueTimer, restTimer := time.NewTimer(due), time.NewTimer(rest)
	defer dueTimer.Stop()
	defer restTimer.Stop()
	var asked <-chan struct{} // once rested
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-dueTimer.C:
			return false, nil
		case <-restTimer.C:
			asked = p.asked
		case <-asked:
			return true, nil
		}
	}
}

// timedStore measures how long the index took for what was written. It is for one goroutine.
type timedStore struct {
	search.Store
	spent time.Duration
}

func (s *timedStore) PutDocuments(ctx context.Context, docs []search.Document) error {
	defer s.addSince(time.Now())
	return s.Store.PutDocuments(ctx, docs)
}

func (s *timedStore) PutEvents(ctx context.Context, events []search.Event) error {
	defer s.addSince(time.Now())
	return s.Store.PutEvents(ctx, events)
}

func (s *timedStore) addSince(start time.Time) { s.spent += time.Since(start) }

// recordCopier stores the documents of records, of each pass those that were written since the last one.
type recordCopier struct {
	scanner *job.RecordScanner
	store   search.Store
	since   time.Time // records written earlier are left

	after  uint64               // the revision up to which all is stored
	stored map[jobRef]time.Time // when what may have been removed in between was stored last
}

// copyChangedRecords stores documents as the records are. What removes a job marks its record first, and then removes
// its document: if the document is stored in between, the mark is read later.
func (p *recordCopier) copyChangedRecords(ctx context.Context) error {
	if p.stored == nil {
		p.stored = map[jobRef]time.Time{}
	}
	var docs []search.Document
	var failed error
	flush := func() {
		if failed != nil || len(docs) == 0 {
			return
		}
		failed = p.store.PutDocuments(ctx, docs)
		docs = docs[:0]
	}
	last, err := p.scanner.Scan(ctx, p.after, func(c job.Change, record func() (*job.Record, error)) {
		ref := jobRef{c.Tenant, c.ID}
		switch {
		case failed != nil:
		case c.State.IsGone() || c.State == "":
			if _, ok := p.stored[ref]; ok {
				if flush(); failed == nil {
					failed = p.store.DeleteJob(ctx, ref.tenant, string(ref.id))
				}
			}
		case c.Err == nil && !c.Written.Before(p.since):
			r, err := record()
			if err != nil {
				return // as one of which c.Err says so
			}
			p.stored[ref] = time.Now()
			if docs = append(docs, IndexDocument(r)); len(docs) == documentBatchSize {
				flush()
			}
		}
	})
	flush()
	if errors.Is(err, job.ErrRestored) {
		p.after = last
	}
	if err = errors.Join(err, failed); err != nil {
		return err // and all of it again
	}
	p.after = last
	maps.DeleteFunc(p.stored, func(_ jobRef, at time.Time) bool { return time.Since(at) > removalDelay })
	return nil
}
