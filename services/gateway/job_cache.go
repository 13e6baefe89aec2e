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
	// maxCachedJobs is how many jobs either half of recent holds.
	maxCachedJobs = 256
	// maxCachedBytes bounds a view that is kept; one with thousands of failed pages is made again each time.
	maxCachedBytes = 16 << 10
)

// cachedJob is a job as it stood when it was last loaded. Callers share it until the job changes, so no caller may
// change it.
type cachedJob struct {
	rec      *job.Record
	progress *job.Progress // nil where there is none, or the record tells all
	view     *inkstreamv1.Job
	// json is the view as JSON.
	json func() ([]byte, error)
}

// jobCache keeps the last look at the jobs that are looked at. Whether a job has changed since, the bucket is asked
// every time, so what is answered is as new as without it; but that costs no decoding, no view and no encoding where
// it has not, which is what most polls find. It is safe for concurrent use.
type jobCache struct {
	mu sync.Mutex // guards what follows
	// newGeneration takes what is new; once it is full it becomes old, and what was old and not asked for again is
	// forgotten.
	newGeneration, oldGeneration map[jobRef]*cachedJob
}

// lookupJob returns the last look at a job, nil where there is none.
func (r *jobCache) lookupJob(ref jobRef) *cachedJob {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.newGeneration[ref]; l != nil {
		return l
	}
	l := r.oldGeneration[ref]
	if l != nil {
		r.insertJob(ref, l)
	}
	return l
}

func (r *jobCache) storeJob(ref jobRef, l *cachedJob) {
	if proto.Size(l.view) > maxCachedBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.insertJob(ref, l)
}

// insertJob puts a look among the young; the caller holds mu.
func (r *jobCache) insertJob(ref jobRef, l *cachedJob) {
	if r.newGeneration == nil || len(r.newGeneration) >= maxCachedJobs {
		r.newGeneration, r.oldGeneration = make(map[jobRef]*cachedJob, maxCachedJobs), r.newGeneration
	}
	r.newGeneration[ref] = l
}

// loadCachedJob looks at a job that is still there.
func (s *Service) loadCachedJob(ctx context.Context, ref jobRef) (*cachedJob, error) {
	last := s.jobCache.lookupJob(ref)
	if last == nil {
		last = &cachedJob{}
	}
	rec, err := s.reloadRecord(ctx, ref, last.rec)
	if err == nil && rec.State.IsGone() {
		err = errJobGone(rec)
	}
	if err != nil {
		return nil, err
	}
	p, err := s.reloadProgress(ctx, rec, last.progress)
	if err != nil {
		return nil, err
	}
	if rec == last.rec && p == last.progress {
		return last, nil
	}
	now := &cachedJob{rec: rec, progress: p, view: jobToProto(rec, p)}
	now.json = sync.OnceValues(func() ([]byte, error) { return encodeIndented(now.view) })
	s.jobCache.storeJob(ref, now)
	return now, nil
}

// reloadRecord loads a job's record, which may be a tombstone; it returns the known one, which may be nil, where
// nothing was written since.
func (s *Service) reloadRecord(ctx context.Context, ref jobRef, known *job.Record) (*job.Record, error) {
	var rec *job.Record
	var err error
	if known != nil {
		rec, err = s.deps.Jobs.ReloadRecord(ctx, known)
	} else {
		rec, err = s.deps.Jobs.LoadRecord(ctx, ref.tenant, ref.id)
	}
	if errors.Is(err, job.ErrNotFound) {
		return s.awaitFreshJob(ctx, ref)
	}
	return rec, err
}

// reloadProgress loads the page progress of a job's present run, nil where there is none; it returns the known one,
// which may be nil, where nothing was written since.
func (s *Service) reloadProgress(ctx context.Context, r *job.Record, known *job.Progress) (p *job.Progress, err error) {
	if r.Outcomes != nil || r.PageCount == 0 {
		return nil, nil // the record has it all, or there is nothing yet
	}
	if known != nil {
		p, err = s.deps.Jobs.ReloadProgress(ctx, r.Tenant, r.ID, known)
	} else {
		p, err = s.deps.Jobs.LoadProgress(ctx, r.Tenant, r.ID)
	}
	if errors.Is(err, job.ErrNotFound) {
		return nil, nil
	}
	return p, err
}
