package gateway

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// recentJobs is how many jobs either half of recent holds.
	recentJobs = 256
	// recentBytes bounds a view that is kept; one with thousands of failed pages is made anew each time.
	recentBytes = 16 << 10
)

// look is a job as it stood when it was looked at. Whoever looks again meanwhile gets the same one, so nobody changes it.
type look struct {
	rec      *job.Record
	progress *job.Progress // nil where there is none, or the record tells all
	view     *inkstreamv1.Job
	// text is the view as JSON.
	text func() ([]byte, error)
}

// recent keeps the last look at the jobs that are looked at. Whether a job has changed since, the bucket is asked every time, so what is answered is
// as new as without it; but that costs no decoding, no view and no encoding where it has not, which is what most polls find. It is safe for
// concurrent use.
type recent struct {
	mu sync.Mutex // guards what follows
	// young takes what is new; once it is full it becomes old, and what was old and not asked for again is forgotten.
	young, old map[jobRef]*look
}

// last returns the last look at a job, nil where there is none.
func (r *recent) last(ref jobRef) *look {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.young[ref]; l != nil {
		return l
	}
	l := r.old[ref]
	if l != nil {
		r.add(ref, l)
	}
	return l
}

func (r *recent) keep(ref jobRef, l *look) {
	if proto.Size(l.view) > recentBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(ref, l)
}

// add puts a look among the young; the caller holds mu.
func (r *recent) add(ref jobRef, l *look) {
	if r.young == nil || len(r.young) >= recentJobs {
		r.young, r.old = make(map[jobRef]*look, recentJobs), r.young
	}
	r.young[ref] = l
}

// look looks at a job that is still there.
func (s *Service) look(ctx context.Context, ref jobRef) (*look, error) {
	last := s.recent.last(ref)
	if last == nil {
		last = &look{}
	}
	rec, err := s.newerRecord(ctx, ref, last.rec)
	if err == nil && rec.State.Gone() {
		err = errGone(rec)
	}
	if err != nil {
		return nil, err
	}
	p, err := s.newerProgress(ctx, rec, last.progress)
	if err != nil {
		return nil, err
	}
	if rec == last.rec && p == last.progress {
		return last, nil
	}
	now := &look{rec: rec, progress: p, view: viewOf(rec, p)}
	now.text = sync.OnceValues(func() ([]byte, error) { return encodeIndented(now.view) })
	s.recent.keep(ref, now)
	return now, nil
}

// newerRecord loads a job's record, which may be a tombstone; it returns the known one, which may be nil, where nothing was written since.
func (s *Service) newerRecord(ctx context.Context, ref jobRef, known *job.Record) (*job.Record, error) {
	var rec *job.Record
	var err error
	if known != nil {
		rec, err = s.env.Jobs.Reload(ctx, known)
	} else {
		rec, err = s.env.Jobs.Load(ctx, ref.tenant, ref.id)
	}
	if errors.Is(err, job.ErrNotFound) {
		return s.awaitFresh(ctx, ref)
	}
	return rec, err
}

// newerProgress loads the page progress of a job's present run, nil where there is none; it returns the known one, which may be nil, where nothing
// was written since.
func (s *Service) newerProgress(ctx context.Context, r *job.Record, known *job.Progress) (p *job.Progress, err error) {
	if r.Outcomes != nil || r.PageCount == 0 {
		return nil, nil // the record has it all, or there is nothing yet
	}
	if known != nil {
		p, err = s.env.Jobs.ReloadProgress(ctx, r.Tenant, r.ID, known)
	} else {
		p, err = s.env.Jobs.LoadProgress(ctx, r.Tenant, r.ID)
	}
	if errors.Is(err, job.ErrNotFound) {
		return nil, nil
	}
	return p, err
}
