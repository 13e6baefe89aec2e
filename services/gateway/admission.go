package gateway

import (
	"context"
	"sync"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
)

const (
	// backlogAge is how old the known backlog may be.
	backlogAge = time.Second
	// backlogTimeout bounds the question for it. An upload does not wait for it longer than that.
	backlogTimeout = 2 * time.Second
)

// admission refuses uploads while the queue is full, before anything of them is read or stored. The stages behind ingest need no look: when
// one of them stands still the queues fill up one after the other, and this one last.
//
// The backlog is asked for at most once in backlogAge, by one upload; the others go by what is known. So some uploads may get past a queue
// that has just filled up. That is what the tenth above the mark is for, and beyond it the reconciler queues the accepted jobs later.
type admission struct {
	ask func(ctx context.Context, s bus.Stage) (bus.Backlog, error)
	// max is the mark; 0 means nine tenths of the queue's limit.
	max int64

	mu     sync.Mutex // guards all below
	known  bus.Backlog
	asked  time.Time
	asking chan struct{} // closed when the answer is there; nil while nobody asks
}

func newAdmission(b *bus.Bus, limit int64) *admission { return &admission{ask: b.Backlog, max: limit} }

// admit returns a QUEUE_FULL fault while the backlog is at its mark. A backlog that nobody can tell admits: then the broker is away, and the
// upload itself finds out.
func (a *admission) admit(ctx context.Context) error {
	b := a.backlog(ctx)
	mark := a.max
	if mark == 0 {
		mark = b.Limit - b.Limit/10
	}
	if mark <= 0 || b.Tasks < mark { // a queue without a limit has a negative one
		return nil
	}
	return fault.New(fault.QueueFull, "%d documents wait to be worked on, and the server takes no more; try later", b.Tasks)
}

// backlog returns what is known, asking for it where that is too old. While one upload asks, others wait only if nothing is known at all.
func (a *admission) backlog(ctx context.Context) bus.Backlog {
	a.mu.Lock()
	if time.Since(a.asked) < backlogAge {
		defer a.mu.Unlock()
		return a.known
	}
	if wait := a.asking; wait != nil {
		known := a.known
		a.mu.Unlock()
		if !known.Time.IsZero() {
			return known
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.known
	}
	done := make(chan struct{})
	a.asking = done
	a.mu.Unlock()

	// The answer is for all uploads, so it does not end with this one's client.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backlogTimeout)
	defer cancel()
	b, err := a.ask(ctx, bus.Ingest)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.known = b
	} else {
		a.known = bus.Backlog{} // out of date by now
	}
	a.asked, a.asking = time.Now(), nil
	close(done)
	return a.known
}

// shares counts what tenants hold of something, each at most so much.
type shares struct {
	most int

	mu   sync.Mutex // guards held
	held map[string]int
}

// take takes one more for a tenant, and reports whether it may have it; the tenant gives it back by give.
func (h *shares) take(tenant string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[tenant] >= h.most {
		return false
	}
	if h.held == nil {
		h.held = map[string]int{}
	}
	h.held[tenant]++
	return true
}

func (h *shares) give(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[tenant]--; h.held[tenant] == 0 {
		delete(h.held, tenant)
	}
}

// uploadPlace takes one of the places for uploads; the caller calls release in the end.
func (s *Service) uploadPlace(ctx context.Context) (release func(), err error) {
	name := tenant(ctx)
	if s.shares.take(name) {
		select {
		case s.uploads <- struct{}{}:
			return func() { <-s.uploads; s.shares.give(name) }, nil
		default:
			s.shares.give(name)
		}
	}
	return nil, fault.New(fault.QueueFull, "the server has as many uploads under way as it takes; try later")
}
