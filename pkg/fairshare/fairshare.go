// Package fairshare accounts for what each tenant uses of something that all tenants share, such as the slots of a
// stage or the children of an engine. It answers one question: may a tenant take one of the places that are kept free for
// those who use little? A tenant that keeps all other places occupied, by whatever means, never gets these, so what
// another tenant waits for there depends on short work alone. The last of them is for tenants that are known to use little.
package fairshare

import (
	"iter"
	"math"
	"sync"
	"time"
)

// A stage has UrgentPlaces slots beyond its workers, for interactive tasks, and ReservedPlaces beyond these, for tenants
// that use little; an engine's pool has as many children.
const (
	UrgentPlaces   = 1
	ReservedPlaces = 2
)

const (
	// memory is the time in which what a tenant has used loses all but 1/e of its weight.
	memory = 90 * time.Second
	// longUse is how long a use takes that its tenant is remembered for, for as long as longMemory.
	longUse    = 2 * time.Second
	longMemory = 5 * time.Minute
	// forgetBelow is the use, in seconds, below which a tenant without a place is forgotten.
	forgetBelow = 0.01
)

// Account is what the tenants use of one shared thing. The zero value is ready. It is safe for concurrent use.
type Account struct {
	mu      sync.Mutex // guards all below
	tenants map[string]*usage
	now     func() time.Time // nil for time.Now
}

// usage is one tenant's part. The seconds that it has used fade with time, and grow with each place that it holds.
type usage struct {
	held    int
	seconds float64
	at      time.Time // when seconds was so much
	// longAt is when a use ended last that was long, endedAt when any did.
	longAt, endedAt time.Time
}

func (a *Account) clock() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now()
}

// settle brings what a tenant has used up to date.
func (u *usage) settle(now time.Time) {
	faded := math.Exp(-max(now.Sub(u.at).Seconds(), 0) / memory.Seconds())
	u.seconds = u.seconds*faded + float64(u.held)*memory.Seconds()*(1-faded)
	u.at = now
}

// Begin notes that a tenant has taken a place, until end is called. A second call of end does nothing.
func (a *Account) Begin(tenant string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if a.tenants == nil {
		a.tenants = make(map[string]*usage)
	}
	u := a.tenants[tenant]
	if u == nil {
		u = &usage{at: now}
		a.tenants[tenant] = u
	}
	u.settle(now)
	u.held++
	return sync.OnceFunc(func() { a.end(u, now) })
}

func (a *Account) end(u *usage, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	u.settle(now)
	u.held--
	u.endedAt = now
	if now.Sub(began) >= longUse {
		u.longAt = now
	}
}

// HeldBy returns how many places a tenant holds.
func (a *Account) HeldBy(tenant string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u := a.tenants[tenant]; u != nil {
		return u.held
	}
	return 0
}

// Lightest returns those of the tenants that wait for a place that one which is kept for those who use little is for, as
// IsLight says: of them those that have lately held places, and none for long, come first, then those of whom nothing is
// known, then those that have used less. Else many tenants that take long could keep out one that does not, by turns.
func (a *Account) Lightest(waiting iter.Seq[string]) map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	average, holders := a.settleAll(now)
	lightest, least := make(map[string]bool), math.Inf(1)
	for tenant := range waiting {
		u := a.tenants[tenant]
		if u != nil && u.held > 0 {
			continue
		}
		rank := u.rank(now)
		if rank < least {
			clear(lightest)
			least = rank
		}
		if rank == least && u.isLight(now, average, holders) {
			lightest[tenant] = true
		}
	}
	return lightest
}

// IsProven reports whether a tenant holds no place, and all that it held lately, of which there is some, it held for a
// short time.
func (a *Account) IsProven(tenant string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.tenants[tenant]
	return u != nil && u.held == 0 && u.rank(a.clock()) < 0
}

// rank returns a number that is the smaller, the earlier a tenant comes: -1 where it is proven, 0 where nothing is
// known of it, else what it has used.
func (u *usage) rank(now time.Time) float64 {
	switch {
	case u == nil || now.Sub(u.endedAt) >= longMemory:
		return 0
	case now.Sub(u.longAt) >= longMemory:
		return -1
	}
	u.settle(now)
	return u.seconds
}

// IsLight reports whether a tenant may take a place that is kept for those who use little: it holds none, and either
// all that it held lately it held for a short time, or it has used less than half of what those have used, on average,
// who hold the others.
func (a *Account) IsLight(tenant string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	average, holders := a.settleAll(now)
	return a.tenants[tenant].isLight(now, average, holders)
}

// settleAll brings all tenants up to date, forgets those of whom there is nothing to know, and returns how many hold
// places and what these have used on average.
func (a *Account) settleAll(now time.Time) (average float64, holders int) {
	sum := 0.0
	for name, u := range a.tenants {
		u.settle(now)
		switch {
		case u.held > 0:
			sum, holders = sum+u.seconds, holders+1
		case u.seconds < forgetBelow && now.Sub(u.endedAt) >= longMemory:
			delete(a.tenants, name)
		}
	}
	return sum / float64(max(holders, 1)), holders
}

// isLight is IsLight of a tenant beside so many holders, which have used so much on average.
func (u *usage) isLight(now time.Time, average float64, holders int) bool {
	switch {
	case u == nil:
		return true
	case u.held > 0:
		return false
	case now.Sub(u.longAt) >= longMemory:
		return true
	}
	return holders > 0 && u.seconds < average/2
}
