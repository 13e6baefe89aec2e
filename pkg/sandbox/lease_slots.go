package sandbox

import (
	"context"
	"fmt"
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
}

func newLeaseSlots(cfg Config, closing <-chan struct{}) *leaseSlots {
	return &leaseSlots{
		program: cfg.Program, closing: closing,
		ordinary: make(chan struct{}, cfg.Size), priority: make(chan struct{}, prioritySize),
		reserved: make(chan struct{}, reservedSize), slow: make(chan struct{}, max(cfg.Size/2, 1)),
	}
}

// acquire puts tokens where there is room for them, and returns where that was. An error is ctx's, or ErrClosed.
func (s *leaseSlots) acquire(ctx context.Context) (slots []chan struct{}, err error) {
	if IsSlowWork(ctx) {
		slot, err := s.acquireSlot(ctx, s.slow, nil)
		if err != nil {
			return nil, err
		}
		slots = append(slots, slot)
	}
	var beyond chan struct{} // never ready where it is nil
	if hasPriority(ctx) {
		beyond = s.priority
	}
	slot, err := s.acquireSlot(ctx, s.ordinary, beyond)
	if err != nil {
		releaseSlots(slots)
		return nil, err
	}
	return append(slots, slot), nil
}

func releaseSlots(slots []chan struct{}) {
	for _, slot := range slots {
		<-slot
	}
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

// acquireSlot puts a token into the first of the places that has room for one, those that are spare being the last of
// them, or waits until one of them has.
func (s *leaseSlots) acquireSlot(ctx context.Context, first, second chan struct{}) (chan struct{}, error) {
	if tenant, known := tenantOf(ctx); known && !IsSlowWork(ctx) {
		defer s.waiting.Add(tenant)()
	}
	spare := s.spareSlots(ctx)
	for _, place := range []chan struct{}{first, second, spare} {
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
		case second <- struct{}{}:
			return second, nil
		case spare <- struct{}{}:
			return spare, nil
		case <-tick.C:
			tell() // that others have the children is no fault of the caller's
			spare = s.spareSlots(ctx)
		case <-s.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("lease %s child: %w", s.program, ctx.Err())
		}
	}
}
