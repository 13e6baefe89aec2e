package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"inkstream.dev/pkg/fairshare"
)

// leaseSlots decide who gets one of a pool's children next.
type leaseSlots struct {
	ordinary chan struct{} // one token for each child that is leased
	priority chan struct{} // the same for the leases that go beyond Size; see WithPriority
	reserved chan struct{} // the same for those of tenants that use little; see WithTenant
	slow     chan struct{} // one token for each lease for slow work; see WithSlowWork
	tenants  fairshare.Account
	waiting  fairshare.Waiting // tenants of leases that wait
	closing  <-chan struct{}   // closed when the pool begins to close
	program  string

	mu     sync.Mutex                 // guards urgent
	urgent map[*leaseTokens]time.Time // the ordinary leases that are urgent, by when they began
}

// leaseTokens are the tokens of one lease, in the places that they came from.
type leaseTokens struct{ places []chan struct{} }

// urgentPatience is how long an urgent lease lets others that are urgent have all ordinary children: longer than nearly
// all pages take. One more child would make none of them sooner where each core has one already, and it takes as much
// memory as they do.
const urgentPatience = 10 * time.Second

func newLeaseSlots(cfg Config, closing <-chan struct{}) *leaseSlots {
	return &leaseSlots{
		program: cfg.Program, closing: closing,
		ordinary: make(chan struct{}, cfg.Size), priority: make(chan struct{}, prioritySize),
		reserved: make(chan struct{}, reservedSize), slow: make(chan struct{}, max(cfg.Size/2, 1)),
		urgent: make(map[*leaseTokens]time.Time),
	}
}

// acquire puts tokens where there is room for them, and returns where that was. An error is ctx's, or ErrClosed.
func (s *leaseSlots) acquire(ctx context.Context) (*leaseTokens, error) {
	tokens := &leaseTokens{}
	if IsSlowWork(ctx) {
		slot, err := s.acquireSlot(ctx, s.slow)
		if err != nil {
			return nil, err
		}
		tokens.places = append(tokens.places, slot)
	}
	slot, err := s.acquireSlot(ctx, s.ordinary)
	if err != nil {
		s.release(tokens)
		return nil, err
	}
	tokens.places = append(tokens.places, slot)
	if slot == s.ordinary && hasPriority(ctx) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.urgent[tokens] = time.Now()
	}
	return tokens, nil
}

func (s *leaseSlots) release(t *leaseTokens) {
	s.mu.Lock()
	delete(s.urgent, t)
	s.mu.Unlock()
	for _, place := range t.places {
		<-place
	}
}

// prioritySlots returns the places for urgent leases where the one of ctx may have one now beyond first, nil where it may
// not: it is for slow work, or all ordinary children do what is as urgent, and none has for long.
func (s *leaseSlots) prioritySlots(ctx context.Context, first chan struct{}) chan struct{} {
	if first == s.slow || !hasPriority(ctx) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.urgent) < cap(s.ordinary) {
		return s.priority
	}
	for _, since := range s.urgent {
		if time.Since(since) >= urgentPatience {
			return s.priority
		}
	}
	return nil
}

// spareSlots returns the places for tenants that use little where the one of ctx does now, nil where it does not.
func (s *leaseSlots) spareSlots(ctx context.Context) chan struct{} {
	if tenant, known := tenantOf(ctx); known && !IsSlowWork(ctx) && s.tenants.Lightest(s.waiting.Tenants())[tenant] &&
		(len(s.reserved) < reservedSize-1 || s.tenants.IsProven(tenant)) { // the last is for who is known to take little
		return s.reserved
	}
	return nil
}

// leaseLookInterval is how often a lease that waits looks whether its tenant uses little by now: it does once others
// hold more, or what it held itself came back.
const leaseLookInterval = 100 * time.Millisecond

// acquireSlot puts a token into first, or where that is full and the context's lease is for it, into one of the places
// beyond: for urgent leases, or for tenants that use little. Where none has room it waits.
func (s *leaseSlots) acquireSlot(ctx context.Context, first chan struct{}) (chan struct{}, error) {
	if tenant, known := tenantOf(ctx); known && !IsSlowWork(ctx) {
		defer s.waiting.Add(tenant)()
	}
	var urgent chan struct{} // not at once: where calls are short, one of the ordinary comes free before the first look
	spare := s.spareSlots(ctx)
	for _, place := range []chan struct{}{first, spare} {
		select {
		case place <- struct{}{}:
			return place, nil
		default:
		}
	}
	tell := starvationHookOf(ctx)
	tick := time.NewTicker(leaseLookInterval)
	defer tick.Stop()
	for {
		select {
		case first <- struct{}{}:
			return first, nil
		case urgent <- struct{}{}:
			return urgent, nil
		case spare <- struct{}{}:
			return spare, nil
		case <-tick.C:
			tell() // that others have the children is no fault of the caller's
			urgent, spare = s.prioritySlots(ctx, first), s.spareSlots(ctx)
		case <-s.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("lease %s child: %w", s.program, ctx.Err())
		}
	}
}
