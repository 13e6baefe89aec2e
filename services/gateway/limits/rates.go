package limits

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
)

// RatesConfig says how much each caller may ask for. Zero means no limit, and less the default.
type RatesConfig struct {
	// UploadsPerSecond and ReadsPerSecond are the steady rates of a caller, who may use Burst seconds' worth at once.
	UploadsPerSecond, ReadsPerSecond float64
	// Quota is what a tenant may use, but for keys that are given more.
	Quota access.Quota
}

// Default stands for a limit that nothing says.
const Default = -1

// The limits of servers that ask for keys, where nothing says others: beyond what people and their programs do, and
// short of what fills a queue of 100,000 tasks or a disk before it is noticed. Servers that ask for none have one tenant,
// and no limits.
const (
	DefaultUploadsPerSecond = 50
	DefaultReadsPerSecond   = 500
	DefaultJobs             = 5000
	DefaultBytesPerDay      = 200e9
)

// UnsetRates returns limits of which nothing is said.
func UnsetRates() RatesConfig {
	return RatesConfig{UploadsPerSecond: Default, ReadsPerSecond: Default, Quota: access.Quota{Jobs: Default, BytesPerDay: Default}}
}

// WithDefaults returns the limits with those filled in that nothing says.
func (c RatesConfig) WithDefaults(asksForKeys bool) RatesConfig {
	fallback := RatesConfig{}
	if asksForKeys {
		fallback = RatesConfig{UploadsPerSecond: DefaultUploadsPerSecond, ReadsPerSecond: DefaultReadsPerSecond,
			Quota: access.Quota{Jobs: DefaultJobs, BytesPerDay: DefaultBytesPerDay}}
	}
	if c.UploadsPerSecond < 0 {
		c.UploadsPerSecond = fallback.UploadsPerSecond
	}
	if c.ReadsPerSecond < 0 {
		c.ReadsPerSecond = fallback.ReadsPerSecond
	}
	if c.Quota.Jobs < 0 {
		c.Quota.Jobs = fallback.Quota.Jobs
	}
	if c.Quota.BytesPerDay < 0 {
		c.Quota.BytesPerDay = fallback.Quota.BytesPerDay
	}
	return c
}

// burstSeconds is how many seconds' worth of requests may come at once.
const burstSeconds = 10

// Rates counts callers' requests, and knows their quotas. The rates are per gateway: with several, each allows its
// share of requests in full, so set them with their number in mind. It is safe for concurrent use.
type Rates struct {
	cfg RatesConfig

	mu        sync.Mutex // guards what follows
	callers   map[string]*callerLimiters
	nextSweep time.Time // when callers that are gone are forgotten next
}

type callerLimiters struct {
	uploads, reads *rate.Limiter
	seen           time.Time
}

// NewRates returns Rates that have counted no request yet. Polling is never limited below submitting:
// where ReadsPerSecond is less than UploadsPerSecond, it is raised to it.
func NewRates(cfg RatesConfig) *Rates {
	if cfg.ReadsPerSecond > 0 && (cfg.UploadsPerSecond == 0 || cfg.ReadsPerSecond < cfg.UploadsPerSecond) {
		cfg.ReadsPerSecond = cfg.UploadsPerSecond
	}
	return &Rates{cfg: cfg, callers: map[string]*callerLimiters{}}
}

// Decision is the answer to a request; its numbers are those of the RateLimit headers
// (draft-ietf-httpapi-ratelimit-headers).
type Decision struct {
	OK bool
	// Limit is what may come at once; 0 where there is no limit.
	Limit int
	// Remaining is what may still come now.
	Remaining int
	// Reset is when all of the limit is there again.
	Reset time.Duration
	// RetryAfter is when another try makes sense; set unless OK.
	RetryAfter time.Duration
}

// AllowUpload asks for one upload.
func (l *Rates) AllowUpload(id *access.Identity, now time.Time) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return requestToken(l.limitersOf(id, now).uploads, l.cfg.UploadsPerSecond, now)
}

// AllowRead asks for any other request.
func (l *Rates) AllowRead(id *access.Identity, now time.Time) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return requestToken(l.limitersOf(id, now).reads, l.cfg.ReadsPerSecond, now)
}

// BytesPerDay returns how much a caller may upload a day, 0 for any amount.
func (l *Rates) BytesPerDay(id *access.Identity) int64 { return firstBound(l.ByteBounds(id)).Max }

// JobLimit returns how many jobs may be under way, 0 for any number, and whose count: the caller's where its key says
// how many, and where the name is empty all of its tenant's.
func (l *Rates) JobLimit(id *access.Identity) (limit int, caller string) {
	b := firstBound(l.JobBounds(id))
	return int(b.Max), b.Caller
}

// Bound is how much may be used of something, and by whom: a caller, or where the name is empty all of its tenant.
type Bound struct {
	Max    int64
	Caller string
}

// boundsOf returns what bounds a use: a key's own quota, and what all of its tenant may use, unless the key was given
// more than that.
func boundsOf(own, tenant int64, caller string) []Bound {
	switch {
	case own == 0 && tenant == 0:
		return nil
	case own == 0:
		return []Bound{{tenant, ""}}
	case tenant == 0 || own > tenant:
		return []Bound{{own, caller}}
	}
	return []Bound{{own, caller}, {tenant, ""}}
}

// firstBound returns what bounds a caller itself; nothing does where Max is 0.
func firstBound(bounds []Bound) Bound {
	if len(bounds) == 0 {
		return Bound{}
	}
	return bounds[0]
}

// JobBounds returns what bounds the jobs under way of a caller.
func (l *Rates) JobBounds(id *access.Identity) []Bound {
	return boundsOf(int64(id.Quota.Jobs), int64(l.cfg.Quota.Jobs), id.Caller)
}

// ByteBounds returns what bounds the bytes that a caller uploads a day.
func (l *Rates) ByteBounds(id *access.Identity) []Bound {
	return boundsOf(id.Quota.BytesPerDay, l.cfg.Quota.BytesPerDay, id.Caller)
}

// CheckQuota refuses a quota beyond the server's, which only those who run the server may give: a tenant's administrator
// could free its tenant of all limits otherwise.
func (l *Rates) CheckQuota(giver *access.Identity, q access.Quota) error {
	if giver.RunsServer() {
		return nil
	}
	if most := l.cfg.Quota.Jobs; most > 0 && q.Jobs > most {
		return apierror.InvalidField(apierror.PermissionDenied, "max_jobs", "%d jobs at once are more than the %d that a tenant may give", q.Jobs, most)
	}
	if most := l.cfg.Quota.BytesPerDay; most > 0 && q.BytesPerDay > most {
		return apierror.InvalidField(apierror.PermissionDenied, "max_bytes_per_day", "%d bytes a day are more than the %d that a tenant may give",
			q.BytesPerDay, most)
	}
	return nil
}

func (l *Rates) limitersOf(id *access.Identity, now time.Time) *callerLimiters {
	if now.After(l.nextSweep) {
		for name, c := range l.callers {
			if now.Sub(c.seen) > time.Hour {
				delete(l.callers, name)
			}
		}
		l.nextSweep = now.Add(time.Hour)
	}
	name := id.Tenant + "/" + id.Caller
	c := l.callers[name]
	if c == nil {
		c = &callerLimiters{uploads: newLimiter(l.cfg.UploadsPerSecond), reads: newLimiter(l.cfg.ReadsPerSecond)}
		l.callers[name] = c
	}
	c.seen = now
	return c
}

func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), burstCapacity(perSecond))
}

func burstCapacity(perSecond float64) int { return max(int(math.Ceil(perSecond*burstSeconds)), 1) }

func requestToken(lim *rate.Limiter, perSecond float64, now time.Time) Decision {
	if perSecond <= 0 {
		return Decision{OK: true}
	}
	v := Decision{OK: lim.AllowN(now, 1), Limit: burstCapacity(perSecond)}
	left := max(lim.TokensAt(now), 0)
	v.Remaining = int(left)
	v.Reset = time.Duration((float64(v.Limit) - left) / perSecond * float64(time.Second))
	if !v.OK {
		v.RetryAfter = time.Duration((1 - left) / perSecond * float64(time.Second))
	}
	return v
}
