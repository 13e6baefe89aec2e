package webhook

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxQueueCalls bounds the calls under way to one webhook, or to the addresses that a tenant's jobs came with;
	// maxTenantCalls those of a tenant, and maxCalls all of a process. A call may take its timeout, so the tenant's bound
	// is what keeps others' calls going.
	maxQueueCalls, maxTenantCalls, maxCalls = 4, 8, 256
	// maxQueueWaiting bounds the calls of a queue that wait in memory; others go back to the stream.
	maxQueueWaiting = 64
	// maxWait is how long a call may wait in memory: beyond it, with the call's own timeout, the broker would hand it to
	// another process, which it then may do at once.
	maxWait = 12 * time.Second
	// putBackSpacing is the time between two calls of a queue that come back from the stream, so that a long queue of one
	// tenant is not handed out over and over; maxPutBack bounds the wait.
	putBackSpacing, maxPutBack = 20 * time.Millisecond, time.Minute
)

// queueKey says which calls are made in turn: those to a webhook of a tenant, and those to the addresses that its jobs
// came with.
type queueKey struct{ tenant, hook string }

// waitingCall is a call that waits in memory.
type waitingCall struct {
	msg   jetstream.Msg
	to    delivery
	since time.Time
}

// callQueues share the calls under way among tenants and their receivers.
type callQueues struct {
	running sync.WaitGroup // workers
	slots   chan struct{}  // one token for each call under way

	mu      sync.Mutex // guards what follows
	queues  map[queueKey]*callQueue
	tenants map[string]chan struct{} // one token for each of a tenant's calls under way; gone when the last queue is
}

// callQueue holds the calls that wait for one receiver's turn, in the order of the stream.
type callQueue struct {
	waiting []waitingCall
	workers int
	// putBack is when the last call that was put back comes again.
	putBack time.Time
}

func newCallQueues() *callQueues {
	return &callQueues{slots: make(chan struct{}, maxCalls), queues: map[queueKey]*callQueue{},
		tenants: map[string]chan struct{}{}}
}

// drain gives back the calls that wait, and returns when no call is under way; no more may be added.
func (l *callQueues) drain() {
	l.mu.Lock()
	var waiting []waitingCall
	for _, of := range l.queues {
		waiting = append(waiting, of.waiting...)
		of.waiting = nil
	}
	l.mu.Unlock()
	for _, c := range waiting {
		_ = c.msg.Nak() // else the broker hands it out again a little later
	}
	l.running.Wait()
}

// add has a call made in its turn by work, which is called with the tenant's tokens. Where the queue is full it
// returns how long the call should wait in the stream.
func (l *callQueues) add(c waitingCall, work func(waitingCall)) (putBack time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := queueKey{c.to.Tenant, c.to.Hook}
	of := l.queues[key]
	if of == nil {
		of = &callQueue{}
		l.queues[key] = of
	}
	if len(of.waiting) >= maxQueueWaiting {
		if of.putBack.Before(c.since) {
			of.putBack = c.since.Add(time.Second)
		}
		of.putBack = of.putBack.Add(putBackSpacing)
		if most := c.since.Add(maxPutBack); of.putBack.After(most) {
			of.putBack = most
		}
		return of.putBack.Sub(c.since)
	}
	of.waiting = append(of.waiting, c)
	if of.workers < maxQueueCalls {
		of.workers++
		if l.tenants[key.tenant] == nil {
			l.tenants[key.tenant] = make(chan struct{}, maxTenantCalls)
		}
		tenant := l.tenants[key.tenant]
		l.running.Go(func() { l.runWorker(key, tenant, work) })
	}
	return 0
}

// runWorker makes the calls of a queue until none waits.
func (l *callQueues) runWorker(key queueKey, tenant chan struct{}, work func(waitingCall)) {
	for {
		tenant <- struct{}{}
		l.slots <- struct{}{}
		c, ok := l.next(key)
		if ok {
			work(c)
		}
		<-l.slots
		<-tenant
		if !ok {
			return
		}
	}
}

// next takes the queue's next call. Where there is none, it counts the worker off and forgets what is not in use.
func (l *callQueues) next(key queueKey) (waitingCall, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.queues[key]
	if len(of.waiting) > 0 {
		c := of.waiting[0]
		of.waiting = of.waiting[1:]
		return c, true
	}
	if of.workers--; of.workers > 0 {
		return waitingCall{}, false
	}
	delete(l.queues, key)
	for other := range l.queues {
		if other.tenant == key.tenant {
			return waitingCall{}, false
		}
	}
	delete(l.tenants, key.tenant)
	return waitingCall{}, false
}
