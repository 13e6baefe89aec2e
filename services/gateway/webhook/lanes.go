package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// fetchCalls is how many calls are taken from the queue at once, and fetchTimeout how long a question for them waits.
	fetchCalls, fetchTimeout = 16, 30 * time.Second
	// maxLaneCalls bounds the calls under way to one webhook, or to the addresses that a tenant's jobs came with;
	// maxTenantCalls those of a tenant, and maxCalls all of a process. A call may take its timeout, so the tenant's bound
	// is what keeps others' calls going.
	maxLaneCalls, maxTenantCalls, maxCalls = 4, 8, 256
	// maxLaneWaiting bounds the calls of a lane that wait in memory; others go back to the queue.
	maxLaneWaiting = 64
	// maxWait is how long a call may wait in memory: beyond it, with the call's own timeout, the broker would hand it to
	// another process, which it then may do at once.
	maxWait = 12 * time.Second
	// putBackSpacing is the time between two calls of a lane that come back from the queue, so that a long queue of one
	// tenant is not handed out over and over; maxPutBack bounds the wait.
	putBackSpacing, maxPutBack = 20 * time.Millisecond, time.Minute
)

// laneKey says whose calls are made in turn: those to a webhook of a tenant, and those to the addresses that its jobs
// came with.
type laneKey struct{ tenant, hook string }

// waitingCall is a call that waits in memory.
type waitingCall struct {
	msg   jetstream.Msg
	to    delivery
	since time.Time
}

// lanes share the calls under way among tenants and their receivers.
type lanes struct {
	running sync.WaitGroup // workers
	slots   chan struct{}  // one token for each call under way

	mu      sync.Mutex // guards what follows
	lanes   map[laneKey]*lane
	tenants map[string]chan struct{} // one token for each of a tenant's calls under way; gone when the last lane is
}

type lane struct {
	waiting []waitingCall
	workers int
	// putBack is when the last call that was put back comes again.
	putBack time.Time
}

func newLanes() *lanes {
	return &lanes{slots: make(chan struct{}, maxCalls), lanes: map[laneKey]*lane{},
		tenants: map[string]chan struct{}{}}
}

// drain gives back the calls that wait, and returns when no call is under way; no more may be added.
func (l *lanes) drain() {
	l.mu.Lock()
	var waiting []waitingCall
	for _, of := range l.lanes {
		waiting = append(waiting, of.waiting...)
		of.waiting = nil
	}
	l.mu.Unlock()
	for _, c := range waiting {
		_ = c.msg.Nak() // else the broker hands it out again a little later
	}
	l.running.Wait()
}

// add has a call made in its turn by work, which is called with the tenant's tokens. Where the lane is full it returns
// how long the call should wait in the queue.
func (l *lanes) add(c waitingCall, work func(waitingCall)) (putBack time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := laneKey{c.to.Tenant, c.to.Hook}
	of := l.lanes[key]
	if of == nil {
		of = &lane{}
		l.lanes[key] = of
	}
	if len(of.waiting) >= maxLaneWaiting {
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
	if of.workers < maxLaneCalls {
		of.workers++
		if l.tenants[key.tenant] == nil {
			l.tenants[key.tenant] = make(chan struct{}, maxTenantCalls)
		}
		tenant := l.tenants[key.tenant]
		l.running.Go(func() { l.runWorker(key, tenant, work) })
	}
	return 0
}

// runWorker makes the calls of a lane until none waits.
func (l *lanes) runWorker(key laneKey, tenant chan struct{}, work func(waitingCall)) {
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

// next takes the lane's next call. Where there is none, it counts the worker off and forgets what is not in use.
func (l *lanes) next(key laneKey) (waitingCall, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lanes[key]
	if len(of.waiting) > 0 {
		c := of.waiting[0]
		of.waiting = of.waiting[1:]
		return c, true
	}
	if of.workers--; of.workers > 0 {
		return waitingCall{}, false
	}
	delete(l.lanes, key)
	for other := range l.lanes {
		if other.tenant == key.tenant {
			return waitingCall{}, false
		}
	}
	delete(l.tenants, key.tenant)
	return waitingCall{}, false
}

// assignDelivery puts a call into its lane.
func (d *Dispatcher) assignDelivery(ctx context.Context, msg jetstream.Msg) error {
	var to delivery
	if err := json.Unmarshal(msg.Data(), &to); err != nil {
		return errors.Join(err, msg.Term())
	}
	wait := d.lanes.add(waitingCall{msg, to, time.Now()}, func(c waitingCall) {
		if time.Since(c.since) > maxWait {
			// The broker may give it to another process while it is made.
			if err := c.msg.Nak(); err != nil {
				d.log.WarnContext(ctx, "webhook", "error", err)
			}
			return
		}
		if err := d.handleDelivery(ctx, c.msg, c.to); err != nil {
			d.log.WarnContext(ctx, "webhook", "error", err)
		}
	})
	if wait > 0 {
		return msg.NakWithDelay(wait)
	}
	return nil
}

// handleDelivery makes a call and settles it by the answer.
func (d *Dispatcher) handleDelivery(ctx context.Context, msg jetstream.Msg, to delivery) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	start := time.Now()
	status, err := d.callWebhook(ctx, to)
	if errors.Is(err, ErrNoJob) || errors.Is(err, ErrNoHook) {
		return msg.Ack()
	}
	if open, ok := errors.AsType[*openCircuitError](err); ok && time.Since(meta.Timestamp) < d.cfg.GiveUpAfter {
		return msg.NakWithDelay(open.wait) // no attempt was made
	}
	wait := retryDelay(d.cfg.MinRetryDelay, time.Since(meta.Timestamp), meta.NumDelivered)
	// What waited for long because no gateway ran has another chance all the same.
	again := err != nil && !errors.Is(err, ErrForbidden) &&
		(meta.NumDelivered < minTries || time.Since(meta.Timestamp)+wait < d.cfg.GiveUpAfter)
	if to.Hook != jobHook {
		a := Attempt{Delivery: to.deliveryID(), Job: to.Job, Run: to.Run, Time: start.UTC(), Number: int(meta.NumDelivered),
			Status: status, Took: time.Since(start)}
		if err != nil {
			a.Error = err.Error()
		}
		if again {
			a.RetryTime = time.Now().Add(wait).UTC()
		}
		if err := d.hooks.recordAttempt(ctx, to.Tenant, to.Hook, a); err != nil {
			d.log.WarnContext(ctx, "attempt is not kept", "webhook", to.Hook, "error", err)
		}
	}
	if err == nil {
		return msg.Ack()
	}
	if again {
		d.log.InfoContext(ctx, "call failed, will be made again", "job", to.Job, "webhook", to.Hook, "tries",
			meta.NumDelivered, "delay", wait)
		return msg.NakWithDelay(wait)
	}
	d.log.WarnContext(ctx, "call given up", "job", to.Job, "webhook", to.Hook, "tries", meta.NumDelivered)
	if err := d.storeDeadLetter(ctx, msg, meta, to, err); err != nil {
		return errors.Join(err, msg.NakWithDelay(wait))
	}
	return msg.Term()
}

// retryDelay returns the wait before the next try of a call that is so old: as long as it has waited so far, so that
// the waits double, up to an hour, spread by a quarter. Deliveries are no measure, for a call that finds no place is
// put back. The first wait does not depend on how long the call was in the queue.
func retryDelay(first, age time.Duration, deliveries uint64) time.Duration {
	wait := first
	if deliveries > 1 {
		wait = max(first, min(age, maxRetryDelay))
	}
	return wait - rand.N(wait/4+1)
}
