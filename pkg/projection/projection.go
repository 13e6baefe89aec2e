// Package projection keeps the index's documents as the job records are, and fills an index anew from the blobs.
package projection

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
)

const (
	// lookEvery is how far the index's documents are behind the records, when nothing else is.
	lookEvery = time.Second
	// catchUp is how long before the start a record may have been written to be looked at once more: longer than any service is away. The index
	// service stores documents of jobs that end as well.
	catchUp = 24 * time.Hour
	// atOnce is how many documents are stored at a time.
	atOnce = 200
)

// Document returns what the index keeps of a job: what its record says, with the batch for one more label.
func Document(r *job.Record) search.Document {
	labels := maps.Clone(r.Labels)
	if r.Batch != "" {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[job.BatchLabel] = string(r.Batch)
	}
	return search.Document{
		Tenant: r.Tenant, Job: string(r.ID), Filename: r.Filename, SHA256: r.SHA256, PageCount: r.PageCount, State: string(r.State),
		CreateTime: r.CreateTime, EndTime: r.EndTime, Labels: labels,
	}
}

// Projector tells the index of every job that is accepted or changes its state. It reads the records as they change, so that no service has to think
// of it. Several of them do the same work once more, and no harm.
type Projector struct {
	jobs  *job.Store
	store search.Store
	log   *slog.Logger
}

// New returns a Projector that is not yet running.
func New(jobs *job.Store, store search.Store, log *slog.Logger) *Projector {
	return &Projector{jobs: jobs, store: store, log: log}
}

type jobRef struct {
	tenant string
	id     job.ID
}

// Run stores documents until ctx is done. While the broker or the index is away it waits. A nil error means a clean stop.
func (p *Projector) Run(ctx context.Context, ready func()) error {
	ready()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var after uint64
	since := time.Now().Add(-catchUp)
	for {
		last, err := p.pass(ctx, after, since)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			// Whoever is away is told of by readiness checks; the next pass does the same again.
			p.log.DebugContext(ctx, "pass over the job records", "error", err)
		default:
			after = last
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// pass stores the documents of all records that were written after the revision, and since the time, and returns the revision up to which that holds.
func (p *Projector) pass(ctx context.Context, after uint64, since time.Time) (uint64, error) {
	changed := map[jobRef]bool{}
	last, err := p.jobs.Changes(ctx, after, func(c job.Change) {
		if c.Err == nil && !c.Written.Before(since) && !c.State.Gone() && c.State != "" {
			changed[jobRef{c.Tenant, c.ID}] = true
		}
	})
	if err != nil {
		return after, err
	}
	return last, p.put(ctx, changed)
}

// put stores the documents of jobs as their records are now, but for those that are gone: what removes jobs removes them from the index as well.
func (p *Projector) put(ctx context.Context, changed map[jobRef]bool) error {
	var refs []jobRef
	var docs []search.Document
	flush := func() error {
		if err := p.store.PutDocuments(ctx, docs); err != nil {
			return err
		}
		// A job that was deleted meanwhile would come back.
		for _, ref := range refs {
			r, err := p.jobs.Load(ctx, ref.tenant, ref.id)
			if errors.Is(err, job.ErrNotFound) || err == nil && r.State.Gone() {
				err = p.store.DeleteJob(ctx, ref.tenant, string(ref.id))
			}
			if err != nil {
				return err
			}
		}
		refs, docs = nil, nil
		return nil
	}
	for ref := range changed {
		r, err := p.jobs.Load(ctx, ref.tenant, ref.id)
		if errors.Is(err, job.ErrNotFound) || err == nil && r.State.Gone() {
			continue
		}
		if err != nil {
			return err
		}
		refs, docs = append(refs, ref), append(docs, Document(r))
		if len(docs) == atOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
