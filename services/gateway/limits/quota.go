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
	// atMost is how many there were at the last look, and all that were accepted since; looked is when that was.
	atMost   int
	accepted int
	looked   time.Time
}

func newQuota() *quota { return &quota{inFlight: map[quotaKey]*inFlightJobs{}} }

// ReserveJobs takes n places among the jobs of the caller and of its tenant; release gives back those that did not
// become jobs. Without a quota it does nothing.
func (s *Service) ReserveJobs(ctx context.Context, n int) (release func(), err error) {
	var taken []func()
	release = func() {
		for _, f := range taken {
			f()
		}
	}
	for _, b := range s.rates.JobBounds(access.CallerFrom(ctx)) {
		one, err := s.reserveBound(ctx, quotaKey{access.TenantFrom(ctx), b.Caller}, int(b.Max), n)
		if err != nil {
			release()
			return nil, err
		}
		taken = append(taken, one)
	}
	return release, nil
}

// quotaLook is how long the count of a look holds where it leaves room: jobs that have ended since only make more.
const quotaLook = time.Second

// reserveKnown takes n places if the count of the last look leaves room for them.
func (q *quota) reserveKnown(who quotaKey, limit, n int) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.inFlight[who]
	if t == nil || time.Since(t.looked) > quotaLook || t.atMost+t.reserved+n > limit {
		return nil, false
	}
	return q.reserveLocked(t, n), true
}

// reserveLocked takes n places; the caller holds mu.
func (q *quota) reserveLocked(t *inFlightJobs, n int) (release func()) {
	t.reserved += n
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.reserved -= n
	})
}

// reserveBound takes n places among the jobs of a caller or a tenant.
func (s *Service) reserveBound(ctx context.Context, who quotaKey, limit, n int) (release func(), err error) {
	q := s.quota
	if release, ok := q.reserveKnown(who, limit, n); ok {
		return release, nil
	}
	known, err := s.listActiveJobs(ctx, who, limit)
	if err != nil {
		// An index that is away must not refuse uploads: until it is back, the jobs of the last seconds count alone.
		s.deps.Log.WarnContext(ctx, "the jobs of a caller cannot be counted", "error", err)
	}
	q.mu.Lock()
	t := q.inFlight[who]
	if t == nil {
		t = &inFlightJobs{recent: map[job.ID]time.Time{}}
		q.inFlight[who] = t
	}
	accepted := t.accepted
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
	t.atMost, t.looked = count+t.accepted-accepted, time.Now()
	if count+t.reserved+n > limit {
		return nil, apierror.NewRetryError(apierror.QuotaExceeded, quotaRetry, "the caller has as many jobs under way as it may have")
	}
	return q.reserveLocked(t, n), nil
}

// RecordAccepted remembers a job of a caller that has a quota.
func (s *Service) RecordAccepted(ctx context.Context, id job.ID) {
	bounds := s.rates.JobBounds(access.CallerFrom(ctx))
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	for _, b := range bounds {
		if t := s.quota.inFlight[quotaKey{access.TenantFrom(ctx), b.Caller}]; t != nil {
			t.recent[id] = time.Now()
			t.atMost++
			t.accepted++
		}
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

// ConsumeDailyBytes takes an upload's bytes off the caller's day and off its tenant's, or refuses it.
func (s *Service) ConsumeDailyBytes(ctx context.Context, bytes int64) error {
	_, err := s.ReserveDailyBytes(ctx, bytes)
	return err
}

// CheckExpectedBytes refuses an upload of which so much is known to come where the caller's day has no room for it.
// It counts nothing.
func (s *Service) CheckExpectedBytes(ctx context.Context, bytes int64) error {
	for _, b := range s.rates.ByteBounds(access.CallerFrom(ctx)) {
		if err := s.checkDailyBytes(ctx, bytes, b, s.deps.Jobs.CheckQuota); err != nil {
			return err
		}
	}
	return nil
}

// Reservation is what an upload that is to come has been counted as already, and whose: a caller's, or where the name
// is empty its tenant's.
type Reservation struct {
	Callers []string  `json:"callers"`
	Bytes   int64     `json:"bytes"`
	Time    time.Time `json:"time"`
}

// ReserveDailyBytes takes the bytes of an upload that is to come off the caller's day, or refuses it. It returns nil
// where the caller's bytes are not counted.
func (s *Service) ReserveDailyBytes(ctx context.Context, bytes int64) (*Reservation, error) {
	id := access.CallerFrom(ctx)
	bounds := s.rates.ByteBounds(id)
	if len(bounds) == 0 {
		return nil, nil
	}
	r := &Reservation{Bytes: bytes, Time: time.Now().UTC()}
	for _, b := range bounds {
		if err := s.checkDailyBytes(ctx, bytes, b, s.deps.Jobs.ConsumeQuota); err != nil {
			return nil, errors.Join(err, s.ReturnDailyBytes(ctx, id.Tenant, r))
		}
		r.Callers = append(r.Callers, b.Caller)
	}
	return r, nil
}

// ReturnDailyBytes gives back what an upload has reserved that did not come.
func (s *Service) ReturnDailyBytes(ctx context.Context, tenant string, r *Reservation) error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, caller := range r.Callers {
		errs = append(errs, s.deps.Jobs.ReturnQuota(ctx, tenant, caller, r.Bytes, r.Time))
	}
	return errors.Join(errs...)
}

// checkDailyBytes asks whether the caller's day has room for so many bytes.
func (s *Service) checkDailyBytes(
	ctx context.Context, bytes int64, b Bound, ask func(ctx context.Context, tenant, caller string, n, limit int64,
		now time.Time) (bool, error),
) error {
	now := time.Now()
	room, err := ask(ctx, access.TenantFrom(ctx), b.Caller, bytes, b.Max, now)
	if err != nil || room {
		return err
	}
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	return apierror.NewRetryError(apierror.QuotaExceeded, tomorrow.Sub(now), "the caller has uploaded as many bytes today as it may")
}
