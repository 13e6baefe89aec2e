package limits

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"inkstream.dev/services/gateway/access"
)

// RatesConfig says how much each caller may ask for. Zero means no limit.
type RatesConfig struct {
	// UploadsPerSecond and ReadsPerSecond are the steady rates; a caller may use Burst seconds' worth at once.
	UploadsPerSecond, ReadsPerSecond float64
	// Quota is what callers may use whose key does not say.
	Quota access.Quota
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
func (l *Rates) BytesPerDay(id *access.Identity) int64 {
	if id.Quota.BytesPerDay > 0 {
		return id.Quota.BytesPerDay
	}
	return l.cfg.Quota.BytesPerDay
}

// JobLimit returns how many jobs may be under way, 0 for any number, and whose count: the caller's where its key says
// how many, and where the name is empty all of its tenant's.
func (l *Rates) JobLimit(id *access.Identity) (limit int, caller string) {
	if id.Quota.Jobs > 0 {
		return id.Quota.Jobs, id.Caller
	}
	return l.cfg.Quota.Jobs, ""
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
