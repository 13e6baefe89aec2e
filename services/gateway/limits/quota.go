package limits

import (
	"context"
	"errors"
	"sync"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
)

const (
	// quotaRetry is when another try makes sense for a caller with as many jobs under way as it may have.
	quotaRetry = 5 * time.Second
	// indexLag is how far the index may be behind: jobs that were accepted since are counted by themselves.
	indexLag = 10 * time.Second
)

// quota counts the jobs of callers that have a quota of them. The index knows all jobs but the last ones; those are
// remembered here. So the count is exact as far as the jobs came through this gateway, and with several gateways it
// may be a moment behind.
type quota struct {
	mu       sync.Mutex // guards what follows
	inFlight map[quotaKey]*inFlightJobs
}

// quotaKey says whose jobs count together: those of one key, or, without a caller, all of a tenant.
type quotaKey struct{ tenant, caller string }

// inFlightJobs is what the index does not know of them yet.
type inFlightJobs struct {
	reserved int                  // that have a place, and no job yet
	recent   map[job.ID]time.Time // jobs, by when they were accepted
}

func newQuota() *quota { return &quota{inFlight: map[quotaKey]*inFlightJobs{}} }

// ReserveJobs takes n places among the caller's jobs; release gives back those that did not become jobs. Without a
// quota it does nothing.
func (s *Service) ReserveJobs(ctx context.Context, n int) (release func(), err error) {
	limit, caller := s.rates.JobLimit(access.CallerFrom(ctx))
	if limit == 0 {
		return func() {}, nil
	}
	who := quotaKey{access.TenantFrom(ctx), caller}
	known, err := s.listActiveJobs(ctx, who, limit)
	if err != nil {
		return nil, err
	}
	q := s.quota
	q.mu.Lock()
	t := q.inFlight[who]
	if t == nil {
		t = &inFlightJobs{recent: map[job.ID]time.Time{}}
		q.inFlight[who] = t
	}
	var unsure []job.ID
	for id, at := range t.recent {
		switch {
		case time.Since(at) > indexLag:
			delete(t.recent, id)
		case !known[id]:
			unsure = append(unsure, id)
		}
	}
	q.mu.Unlock()
	// What the index does not list has either not got there yet, or ended.
	count, ended := len(known), []job.ID(nil)
	for _, id := range unsure {
		rec, err := s.deps.Jobs.LoadRecord(ctx, who.tenant, id)
		switch {
		case errors.Is(err, job.ErrNotFound):
		case err != nil:
			return nil, err
		case rec.State.HasEnded():
			ended = append(ended, id)
		default:
			count++
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ended {
		delete(t.recent, id) // or every upload of the next seconds would look again
	}
	if count+t.reserved+n > limit {
		return nil, apierror.NewRetryError(apierror.QuotaExceeded, quotaRetry, "the caller has as many jobs under way as it may have")
	}
	t.reserved += n
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.reserved -= n
	}), nil
}

// RecordAccepted remembers a job of a caller that has a quota.
func (s *Service) RecordAccepted(ctx context.Context, id job.ID) {
	limit, caller := s.rates.JobLimit(access.CallerFrom(ctx))
	if limit == 0 {
		return
	}
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	if t := s.quota.inFlight[quotaKey{access.TenantFrom(ctx), caller}]; t != nil {
		t.recent[id] = time.Now()
	}
}

// listActiveJobs returns the jobs that have not ended, as the index knows them; no more than tell that the limit is
// reached.
func (s *Service) listActiveJobs(ctx context.Context, who quotaKey, limit int) (map[job.ID]bool, error) {
	known := map[job.ID]bool{}
	if s.index == nil {
		return known, nil
	}
	q := search.JobQuery{Tenant: who.tenant, States: []string{string(job.Pending), string(job.Running)},
		Limit: min(limit, search.MaxLimit)}
	if who.caller != "" {
		q.Filter.Labels = map[string]string{job.CallerLabel: who.caller}
	}
	for len(known) < limit {
		page, err := s.index.ListJobs(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Jobs {
			known[job.ID(d.Job)] = true
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	return known, nil
}

// ConsumeDailyBytes takes an upload's bytes off the caller's day, or refuses it.
func (s *Service) ConsumeDailyBytes(ctx context.Context, bytes int64) error {
	return s.checkDailyBytes(ctx, bytes, s.deps.Jobs.ConsumeQuota)
}

// CheckExpectedBytes refuses an upload of which so much is known to come where the caller's day has no room for it.
// It counts nothing.
func (s *Service) CheckExpectedBytes(ctx context.Context, bytes int64) error {
	return s.checkDailyBytes(ctx, bytes, s.deps.Jobs.CheckQuota)
}

// Reservation is what an upload that is to come has been counted as already.
type Reservation struct {
	Caller string    `json:"caller"`
	Bytes  int64     `json:"bytes"`
	Time   time.Time `json:"time"`
}

// ReserveDailyBytes takes the bytes of an upload that is to come off the caller's day, or refuses it. It returns nil
// where the caller's bytes are not counted.
func (s *Service) ReserveDailyBytes(ctx context.Context, bytes int64) (*Reservation, error) {
	id := access.CallerFrom(ctx)
	if s.rates.BytesPerDay(id) == 0 {
		return nil, nil
	}
	now := time.Now().UTC()
	if err := s.ConsumeDailyBytes(ctx, bytes); err != nil {
		return nil, err
	}
	return &Reservation{Caller: id.Caller, Bytes: bytes, Time: now}, nil
}

// ReturnDailyBytes gives back what an upload has reserved that did not come.
func (s *Service) ReturnDailyBytes(ctx context.Context, tenant string, r *Reservation) error {
	if r == nil {
		return nil
	}
	return s.deps.Jobs.ReturnQuota(ctx, tenant, r.Caller, r.Bytes, r.Time)
}

// checkDailyBytes asks whether the caller's day has room for so many bytes.
func (s *Service) checkDailyBytes(
	ctx context.Context, bytes int64, ask func(ctx context.Context, tenant, caller string, n, limit int64,
		now time.Time) (bool, error),
) error {
	id, now := access.CallerFrom(ctx), time.Now()
	limit := s.rates.BytesPerDay(id)
	if limit == 0 {
		return nil
	}
	room, err := ask(ctx, id.Tenant, id.Caller, bytes, limit, now)
	if err != nil || room {
		return err
	}
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	return apierror.NewRetryError(apierror.QuotaExceeded, tomorrow.Sub(now), "the caller has uploaded as many bytes today as it may")
}
