// Package jobview reads jobs for the gateway's other packages: their records and progress, the tombstones of those that
// are gone, and how the API shows them.
package jobview

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
)

// Service reads jobs. It is safe for concurrent use.
type Service struct {
	deps  stage.Deps
	index search.Store // nil where the gateway was started without one
	cache *lru.Cache[Ref, *cachedJob]
}

// New returns a Service; the index may be nil.
func New(deps stage.Deps, index search.Store) (*Service, error) {
	cache, err := lru.New[Ref, *cachedJob](maxCachedJobs)
	if err != nil {
		return nil, fmt.Errorf("cache of jobs: %w", err)
	}
	return &Service{deps: deps, index: index, cache: cache}, nil
}

// RequireIndex returns the index database that lists and searches read, or says that there is none.
func (s *Service) RequireIndex() (search.Store, error) {
	if s.index == nil {
		return nil, fault.New(apierror.NoIndex, "this gateway has no index database; start it with --index")
	}
	return s.index, nil
}

// Ref names a job of a tenant.
type Ref struct {
	Tenant string
	ID     job.ID
}

// ParseRef returns the job that a request names. What has not the form of an id is no job.
func ParseRef(ctx context.Context, id string) (Ref, error) {
	parsed, err := job.ParseID(id)
	if err != nil {
		return Ref{}, errJobNotFound()
	}
	return Ref{Tenant: access.TenantFrom(ctx), ID: parsed}, nil
}

func errJobNotFound() error { return fault.New(fault.JobNotFound, "there is no such job") }

const (
	// freshJobAge is the age up to which a job that is not found may only be missing on the replica that was asked: a
	// read on a replicated bucket can be older than a write that was acknowledged before it.
	freshJobAge = 5 * time.Second
	// freshJobTimeout is how long such a job is looked for.
	freshJobTimeout = 500 * time.Millisecond
)

// LoadRecord loads the record of a job that is still there; one that was deleted or has expired is an error that says
// so.
func (s *Service) LoadRecord(ctx context.Context, ref Ref) (*job.Record, error) {
	rec, err := s.LoadAnyRecord(ctx, ref)
	if err == nil && rec.State.IsGone() {
		return nil, ErrJobGone(rec)
	}
	return rec, err
}

// ErrJobGone says why a job's tombstone is all there is.
func ErrJobGone(r *job.Record) error {
	if r.State == job.Expired {
		return fault.New(apierror.JobExpired, "the job's retention is over; its results are gone")
	}
	return fault.New(apierror.JobDeleted, "the job was deleted")
}

// LoadAnyRecord loads a job's record, which may be a tombstone.
func (s *Service) LoadAnyRecord(ctx context.Context, ref Ref) (*job.Record, error) {
	return s.reloadRecord(ctx, ref, nil)
}

// maxReadAttempts bounds how often results are read of a job that is run again and again during the reads.
const maxReadAttempts = 3

// ReadWithRecord calls read with the record of a job that is still there. Where read fails, the job may have been
// removed since, or a later run's results may have taken the place of what it read: then nothing is lost, and the
// answer is that the job is gone, or what the newer record has.
func ReadWithRecord[T any](ctx context.Context, s *Service, id string,
	read func(*job.Record) (T, error)) (got T, err error) {
	rec, err := s.LoadRequestedJob(ctx, id)
	if err != nil {
		return got, err
	}
	for tries := 1; ; tries++ {
		got, err = read(rec)
		if err == nil || tries == maxReadAttempts {
			return got, err
		}
		now, loadErr := s.reloadRecord(ctx, Ref{Tenant: rec.Tenant, ID: rec.ID}, rec)
		switch {
		case loadErr != nil || now == rec:
			return got, err
		case now.State.IsGone():
			return got, ErrJobGone(now)
		}
		rec = now
	}
}

// awaitFreshJob looks again and again for a job that was not found, as long as it may only be missing on a replica.
func (s *Service) awaitFreshJob(ctx context.Context, ref Ref) (*job.Record, error) {
	if !isFreshJob(ref.ID) {
		return nil, errJobNotFound()
	}
	tick := time.NewTicker(freshJobTimeout / 10)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < freshJobTimeout; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		rec, err := s.deps.Jobs.LoadRecord(ctx, ref.Tenant, ref.ID)
		if !errors.Is(err, job.ErrNotFound) {
			return rec, err
		}
	}
	return nil, errJobNotFound()
}

// isFreshJob reports whether the job was created a moment ago, by the time in its id.
func isFreshJob(id job.ID) bool {
	u, err := ulid.ParseStrict(string(id))
	return err == nil && time.Since(u.Timestamp()).Abs() < freshJobAge
}

// LoadProgress loads the page progress of a job's present run; nil where there is none.
func (s *Service) LoadProgress(ctx context.Context, r *job.Record) (*job.Progress, error) {
	return s.reloadProgress(ctx, r, nil)
}

// LoadJobView loads a job as the API shows it. The view is shared: the caller must not change it.
func (s *Service) LoadJobView(ctx context.Context, ref Ref) (*inkstreamv1.Job, error) {
	l, err := s.loadCachedJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return l.view, nil
}

// LoadJobJSON returns how a job stands, as JSON.
func (s *Service) LoadJobJSON(ctx context.Context, id string) ([]byte, error) {
	ref, err := ParseRef(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := s.loadCachedJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return l.json()
}

// LoadRequestedJob loads the record of the job that a request names.
func (s *Service) LoadRequestedJob(ctx context.Context, id string) (*job.Record, error) {
	ref, err := ParseRef(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.LoadRecord(ctx, ref)
}

// ErrNoResult says that a job which has ended has not what was asked for.
func ErrNoResult(r *job.Record) error {
	facts := map[string]string{"state": string(r.State)}
	message := "the job ended " + string(r.State) + " without a result"
	if r.Error != nil {
		facts["jobError"] = string(r.Error.Code)
		message += ": " + string(r.Error.Code)
	}
	return &apierror.DetailError{Facts: facts, Err: fault.New(fault.JobFailed, "%s", message)}
}

// HasResults reports whether a job in that final state has results by right.
func HasResults(s job.State) bool { return s == job.Succeeded || s == job.Partial }
