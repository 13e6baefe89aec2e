package limits

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

// backlogGuard refuses uploads while the queue is full, before anything of them is read or stored. The stages behind
// ingest need no look: when one of them stands still the queues fill up one after the other, and this one last.
//
// The backlog is asked for at most once in backlogAge, by one upload; the others go by what is known. So some uploads
// may get past a queue that has just filled up. That is what the tenth above the mark is for, and beyond it the
// reconciler queues the accepted jobs later.
type backlogGuard struct {
	loadBacklog func(ctx context.Context, s bus.Stage) (bus.Backlog, error)
	// maxBacklog is the mark; 0 means nine tenths of the queue's limit.
	maxBacklog int64

	mu      sync.Mutex // guards all below
	known   bus.Backlog
	askedAt time.Time
	asking  chan struct{} // closed when the answer is there; nil while no upload asks
}

func newBacklogGuard(b *bus.Bus, limit int64) *backlogGuard {
	return &backlogGuard{loadBacklog: b.QueryBacklog, maxBacklog: limit}
}

// check returns a QUEUE_FULL fault while the backlog is at its mark. A backlog that cannot be read admits the
// upload: then the broker is away, and the upload itself finds out.
func (a *backlogGuard) check(ctx context.Context) error {
	b := a.currentBacklog(ctx)
	mark := a.maxBacklog
	if mark == 0 {
		mark = b.Limit - b.Limit/10
	}
	if mark <= 0 || b.Tasks < mark { // a queue without a limit has a negative one
		return nil
	}
	return fault.New(fault.QueueFull, "%d documents wait to be worked on, and the server takes no more; try later",
		b.Tasks)
}

// currentBacklog returns what is known, asking for it where that is too old. While one upload asks, others wait only
// if nothing is known at all.
func (a *backlogGuard) currentBacklog(ctx context.Context) bus.Backlog {
	a.mu.Lock()
	if time.Since(a.askedAt) < backlogAge {
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
	b, err := a.loadBacklog(ctx, bus.Ingest)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.known = b
	} else {
		a.known = bus.Backlog{} // out of date by now
	}
	a.askedAt, a.asking = time.Now(), nil
	close(done)
	return a.known
}
