package vision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// errAway means that no endpoint can be asked now.
var errAway = errors.New("no vision endpoint answers")

const (
	minPause, maxPause = time.Second, time.Minute
	// goodAnswers is after how many good answers an endpoint is asked for one page more.
	goodAnswers = 50
)

// endpoint is a server with what is known of it.
type endpoint struct {
	number  int
	url     string
	limit   int // pages at once, adapted
	pending int
	good    int           // answers since the limit changed
	until   time.Time     // not asked before
	pause   time.Duration // the last one, while it fails
	refusal error         // a wrong key or model, which does not pass by itself
	useless int           // answers in a row that no page could be made of
	banned  error         // what the canary page says against its use
	flaw    error         // what it says beside
}

// balancer chooses endpoints.
type balancer struct {
	most int

	mu        sync.Mutex // guards all below
	endpoints []*endpoint
	changed   chan struct{} // closed when an endpoint has room
}

func newBalancer(urls []string, most int) *balancer {
	b := &balancer{most: most, changed: make(chan struct{})}
	for i, u := range urls {
		b.endpoints = append(b.endpoints, &endpoint{number: i, url: u, limit: most})
	}
	return b
}

// acquire returns the endpoint with the most room, and waits while all are full. Where all are away it returns errAway,
// with the refusal of one that refuses. tried are not taken again; last, if any, only where no other can be had.
func (b *balancer) acquire(ctx context.Context, tried map[*endpoint]bool, last *endpoint) (*endpoint, error) {
	for {
		b.mu.Lock()
		best, full, refusal := b.choose(tried, last)
		if best == nil && !full && last != nil {
			best, full, refusal = b.choose(tried, nil)
		}
		if best != nil {
			best.pending++
			b.mu.Unlock()
			return best, nil
		}
		changed := b.changed
		b.mu.Unlock()
		if !full {
			return nil, errors.Join(errAway, refusal)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *balancer) choose(tried map[*endpoint]bool, not *endpoint) (best *endpoint, full bool, refusal error) {
	now := time.Now()
	for _, e := range b.endpoints {
		if e.refusal != nil {
			refusal = e.refusal
		}
		if e.banned != nil {
			refusal = fmt.Errorf("vision endpoint %d: %w", e.number, e.banned)
			continue
		}
		if tried[e] || e == not || now.Before(e.until) {
			continue
		}
		room := e.limit
		if e.pause > 0 {
			room = 1 // one page tells whether it is back
		}
		if e.pending >= room {
			full = true
			continue
		}
		if best == nil || e.pending*best.limit < best.pending*e.limit {
			best = e
		}
	}
	return best, full, refusal
}

// release notes how a page ended at an endpoint.
func (b *balancer) release(e *endpoint, out outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.pending--
	switch out.result {
	case answered:
		e.pause, e.refusal = 0, nil
		if e.good++; e.good >= goodAnswers && e.limit < b.most {
			e.limit, e.good = e.limit+1, 0
		}
	case failed, busy, refused:
		e.limit, e.good = max(1, e.limit/2), 0
		e.pause = min(max(minPause, 2*e.pause), maxPause)
		if out.result == refused {
			e.refusal, e.pause = out.err, maxPause
		}
		e.until = time.Now().Add(max(e.pause, min(out.retryAfter, 10*maxPause)))
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// maxUseless is how many answers in a row may be of no use before an endpoint is left alone for a while. Of a model that
// loops on a quarter of all pages, one run in 65,000 is as long.
const maxUseless = 8

// judge notes whether a page could be made of an endpoint's answer. It reports whether that has the endpoint left alone.
func (b *balancer) judge(e *endpoint, useful bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if useful {
		e.useless = 0
		return false
	}
	if e.useless++; e.useless < maxUseless {
		return false
	}
	e.pause = min(minPause<<min(e.useless-maxUseless, 6), maxPause)
	e.until = time.Now().Add(e.pause)
	return true
}

// setVerdict notes what the canary page says of an endpoint.
func (b *balancer) setVerdict(e *endpoint, banned, flaw error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.banned, e.flaw = banned, flaw
	close(b.changed)
	b.changed = make(chan struct{})
}

// setUnreachable notes that an endpoint could not be tried. One that was sound stays so: the pages will tell.
func (b *balancer) setUnreachable(e *endpoint, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.banned != nil {
		e.banned = fmt.Errorf("%w: %w", errUnproven, err)
	}
}

// checkCanaries fails where the canary page says anything against an endpoint.
func (b *balancer) checkCanaries() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, e := range b.endpoints {
		if err := errors.Join(e.banned, e.flaw); err != nil {
			errs = append(errs, fmt.Errorf("endpoint %d: %s", e.number, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
	}
	return errors.Join(errs...)
}

// checkReady fails where every endpoint is away.
func (b *balancer) checkReady() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, e := range b.endpoints {
		if e.refusal == nil && e.pause == 0 && e.banned == nil {
			return nil
		}
		errs = append(errs, e.refusal, e.banned)
	}
	return errors.Join(append([]error{errAway}, errs...)...)
}

// outcome is how a request ended.
type outcome struct {
	result     result
	err        error
	retryAfter time.Duration
}

type result int

const (
	abandoned result = iota // by the caller, or for the page's sake: it tells nothing of the endpoint
	answered
	failed
	busy
	refused
)

// String names the result in metrics.
func (r result) String() string {
	return [...]string{"abandoned", "answered", "failed", "busy", "refused"}[r]
}
