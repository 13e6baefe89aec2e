package jobview

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apijson"
)

const (
	// maxCachedJobs bounds the jobs that are kept.
	maxCachedJobs = 512
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

// loadCachedJob looks at a job that is still there. The last look is kept of the jobs that are looked at. Whether a job
// has changed since, the bucket is asked every time, so what is answered is as new as without it; but that costs no
// decoding, no view and no encoding where it has not, which is what most polls find.
func (s *Service) loadCachedJob(ctx context.Context, ref Ref) (*cachedJob, error) {
	last, known := s.cache.Get(ref)
	if !known {
		last = &cachedJob{}
	}
	rec, err := s.reloadRecord(ctx, ref, last.rec)
	if err == nil && rec.State.IsGone() {
		err = ErrJobGone(rec)
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
	now := &cachedJob{rec: rec, progress: p, view: ToProto(rec, p)}
	now.json = sync.OnceValues(func() ([]byte, error) { return apijson.EncodeIndented(now.view) })
	if proto.Size(now.view) <= maxCachedBytes {
		s.cache.Add(ref, now)
	}
	return now, nil
}

// reloadRecord loads a job's record, which may be a tombstone; it returns the known one, which may be nil, where
// nothing was written since.
func (s *Service) reloadRecord(ctx context.Context, ref Ref, known *job.Record) (*job.Record, error) {
	var rec *job.Record
	var err error
	if known != nil {
		rec, err = s.deps.Jobs.ReloadRecord(ctx, known)
	} else {
		rec, err = s.deps.Jobs.LoadRecord(ctx, ref.Tenant, ref.ID)
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
		return r.ImpliedProgress()
	}
	return p, err
}
