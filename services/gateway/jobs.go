package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// jobRef names a job of a tenant.
type jobRef struct {
	tenant string
	id     job.ID
}

// parseJobRef returns the job that a request names. What has not the form of an id is no job.
func parseJobRef(ctx context.Context, id string) (jobRef, error) {
	parsed, err := job.ParseID(id)
	if err != nil {
		return jobRef{}, errJobNotFound()
	}
	return jobRef{tenantFromContext(ctx), parsed}, nil
}

func errJobNotFound() error { return fault.New(fault.JobNotFound, "there is no such job") }

const (
	// freshJobAge is the age up to which a job that is not found may only be missing on the replica that was asked: a
	// read on a replicated bucket can be older than a write that was acknowledged before it.
	freshJobAge = 5 * time.Second
	// freshJobTimeout is how long such a job is looked for.
	freshJobTimeout = 500 * time.Millisecond
)

// loadRecord loads the record of a job that is still there; one that was deleted or has expired is an error that says
// so.
func (s *Service) loadRecord(ctx context.Context, ref jobRef) (*job.Record, error) {
	rec, err := s.loadAnyRecord(ctx, ref)
	if err == nil && rec.State.IsGone() {
		return nil, errJobGone(rec)
	}
	return rec, err
}

// errJobGone says why a job's tombstone is all there is.
func errJobGone(r *job.Record) error {
	if r.State == job.Expired {
		return fault.New(jobExpired, "the job's retention is over; its results are gone")
	}
	return fault.New(jobDeleted, "the job was deleted")
}

// loadAnyRecord loads a job's record, which may be a tombstone.
func (s *Service) loadAnyRecord(ctx context.Context, ref jobRef) (*job.Record, error) {
	return s.reloadRecord(ctx, ref, nil)
}

// maxReadAttempts bounds how often results are read of a job that is run again and again during the reads.
const maxReadAttempts = 3

// readWithRecord calls read with the record of a job that is still there. Where read fails, the job may have been
// removed since, or a later run's results may have taken the place of what it read: then nothing is lost, and the
// answer is that the job is gone, or what the newer record has.
func readWithRecord[T any](ctx context.Context, s *Service, id string,
	read func(*job.Record) (T, error)) (got T, err error) {
	rec, err := s.loadRequestedJob(ctx, id)
	if err != nil {
		return got, err
	}
	for tries := 1; ; tries++ {
		got, err = read(rec)
		if err == nil || tries == maxReadAttempts {
			return got, err
		}
		now, loadErr := s.reloadRecord(ctx, jobRef{rec.Tenant, rec.ID}, rec)
		switch {
		case loadErr != nil || now == rec:
			return got, err
		case now.State.IsGone():
			return got, errJobGone(now)
		}
		rec = now
	}
}

// awaitFreshJob looks again and again for a job that was not found, as long as it may only be missing on a replica.
func (s *Service) awaitFreshJob(ctx context.Context, ref jobRef) (*job.Record, error) {
	if !isFreshJob(ref.id) {
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
		rec, err := s.deps.Jobs.LoadRecord(ctx, ref.tenant, ref.id)
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

// loadProgress loads the page progress of a job's present run; nil where there is none.
func (s *Service) loadProgress(ctx context.Context, r *job.Record) (*job.Progress, error) {
	return s.reloadProgress(ctx, r, nil)
}

// loadJobView loads a job as the API shows it. The view is shared: the caller must not change it.
func (s *Service) loadJobView(ctx context.Context, ref jobRef) (*inkstreamv1.Job, error) {
	l, err := s.loadCachedJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return l.view, nil
}

// GetJob answers a job's state.
func (s *Service) GetJob(ctx context.Context, req *inkstreamv1.GetJobRequest) (*inkstreamv1.Job, error) {
	ref, err := parseJobRef(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	wait := req.GetWait().AsDuration()
	if wait < 0 {
		return nil, invalidField(fault.InvalidArgument, "wait", "want a duration that is not negative")
	}
	if wait > 0 {
		return s.awaitJobEnd(ctx, ref, min(wait, maxWait))
	}
	return s.loadJobView(ctx, ref)
}

// serveJobStatus is GET /v1/jobs/{id} without a query, by far the most frequent request: it is answered without the
// way through gRPC, which is a third of the cost. What else there is at that address next answers.
func (s *Service) serveJobStatus(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.ContentLength != 0 || !utf8.ValidString(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		data, err := s.loadJobJSON(r.Context(), r.PathValue("id"))
		if err != nil {
			s.writeError(w, r, "GET job", err)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // a client that hung up has no use for it
	})
}

// loadJobJSON returns how a job stands, as JSON.
func (s *Service) loadJobJSON(ctx context.Context, id string) ([]byte, error) {
	ref, err := parseJobRef(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := s.loadCachedJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return l.json()
}

// maxWait is the longest that a call waits for a job's end, below what proxies allow a request.
const maxWait = time.Minute

// awaitJobEnd answers when the job ends, or as it stands when the time is over or the server stops.
func (s *Service) awaitJobEnd(ctx context.Context, ref jobRef, wait time.Duration) (*inkstreamv1.Job, error) {
	timed, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var last *inkstreamv1.Job
	err := s.hub.watchJob(timed, ref, func(v *view) error {
		last = v.job
		return nil
	}, 0, nil)
	if last != nil && ctx.Err() == nil {
		return last, nil
	}
	if timed.Err() != nil && ctx.Err() == nil {
		return s.loadJobView(ctx, ref)
	}
	return last, err
}

// errNoResult says that a job which has ended has not what was asked for.
func errNoResult(r *job.Record) error {
	facts := map[string]string{"state": string(r.State)}
	message := "the job ended " + string(r.State) + " without a result"
	if r.Error != nil {
		facts["jobError"] = string(r.Error.Code)
		message += ": " + string(r.Error.Code)
	}
	return &detailError{facts: facts, err: fault.New(fault.JobFailed, "%s", message)}
}

// hasResults reports whether a job in that final state has results by right.
func hasResults(s job.State) bool { return s == job.Succeeded || s == job.Partial }
