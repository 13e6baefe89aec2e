package webhook

import (
	"math/rand/v2"
	"net/url"
	"sync"
	"time"
)

const (
	// slowCall is how long a call that fails takes if it counts against its receiver: it held a place for that long. A
	// receiver that refuses at once holds none.
	slowCall = 3 * time.Second
	// slowCallsToOpen is how many of them, one after the other, open a receiver's circuit.
	slowCallsToOpen = 2
	// firstOpen and maxOpen bound how long a circuit is open; it doubles with each call that fails again.
	firstOpen, maxOpen = 30 * time.Second, 10 * time.Minute
	// forgetCircuit is how long a receiver's failures are remembered, and maxCircuits how many receivers.
	forgetCircuit, maxCircuits = time.Hour, 10_000
)

// openCircuitError means that a receiver is not called for a while, because it did not answer in time.
type openCircuitError struct{ wait time.Duration }

// Error implements error.
func (e *openCircuitError) Error() string {
	return "the receiver does not answer in time, and is left alone for a while"
}

// circuitBreaker leaves receivers alone that do not answer in time: each call to one holds a place of its tenant for
// the whole timeout.
//
//	closed ──slow failures──> open ──time──> one call (half open) ──slow failure──> open for twice as long
//	   ^                                            └──────────── any other end ──> closed
type circuitBreaker struct {
	mu        sync.Mutex // guards what follows
	receivers map[string]*circuit
}

type circuit struct {
	failures int
	open     time.Duration // how long it is open, or was the last time
	until    time.Time     // until when
	trying   bool          // the one call of a circuit that was open is under way
	last     time.Time
}

func newCircuitBreaker() *circuitBreaker { return &circuitBreaker{receivers: map[string]*circuit{}} }

// receiverKey names a receiver: what answers for a tenant at an address. Another tenant's failures do not count.
func receiverKey(tenant, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return tenant
	}
	return tenant + " " + u.Host
}

// check returns how long the receiver is to be left alone; 0 where it may be called, after which record must follow.
func (b *circuitBreaker) check(receiver string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.receivers[receiver]
	switch {
	case c == nil || c.open == 0:
		return 0
	case now.Before(c.until):
		return c.until.Sub(now) + rand.N(time.Second)
	case c.trying:
		return time.Second + rand.N(time.Second)
	default:
		c.trying = true
		return 0
	}
}

// record notes how a call ended.
func (b *circuitBreaker) record(receiver string, took time.Duration, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil || took < slowCall {
		delete(b.receivers, receiver)
		return
	}
	c := b.receivers[receiver]
	if c == nil {
		b.forget(now)
		c = &circuit{}
		b.receivers[receiver] = c
	}
	c.failures++
	c.last, c.trying = now, false
	if c.failures >= slowCallsToOpen && !now.Before(c.until) {
		c.open = min(max(2*c.open, firstOpen), maxOpen)
		c.until = now.Add(c.open)
	}
}

// forget makes room for another receiver.
func (b *circuitBreaker) forget(now time.Time) {
	if len(b.receivers) < maxCircuits {
		return
	}
	for name, c := range b.receivers {
		if now.Sub(c.last) > forgetCircuit {
			delete(b.receivers, name)
		}
	}
	for name := range b.receivers { // any: what is forgotten is tried again
		if len(b.receivers) < maxCircuits {
			return
		}
		delete(b.receivers, name)
	}
}
