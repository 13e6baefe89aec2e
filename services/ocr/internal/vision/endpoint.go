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
	limits  bool          // until then, because it refused requests beyond what it takes
	slowed  time.Time     // when the limit was last halved
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

// wish says which endpoint a page is to be read by.
type wish struct {
	tried   map[*endpoint]bool // not these
	avoided *endpoint          // nor this one if any other can be had
	// patience is until when the page waits for an endpoint that is asked for too much.
	patience time.Time
}

// acquire returns the endpoint with the most room, and waits while all are full, or away for a short time because they
// are asked for too much: what the page has cost so far is more than a wait. Where all are away it returns errAway, with
// the refusal of one that refuses.
func (b *balancer) acquire(ctx context.Context, w wish) (*endpoint, error) {
	for {
		b.mu.Lock()
		c := b.choose(w, w.avoided)
		if c.best == nil && !c.full && w.avoided != nil {
			c = b.choose(w, nil)
		}
		if c.best != nil {
			c.best.pending++
			b.mu.Unlock()
			return c.best, nil
		}
		changed := b.changed
		b.mu.Unlock()
		if !c.full && c.back.IsZero() {
			return nil, errors.Join(errAway, c.refusal)
		}
		if err := waitForChange(ctx, changed, c.back); err != nil {
			return nil, err
		}
	}
}

// checkAway fails with errAway where acquire would for a page that no endpoint has tried.
func (b *balancer) checkAway() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.choose(wish{patience: time.Now().Add(maxPatience)}, nil)
	if c.best != nil || c.full || !c.back.IsZero() {
		return nil
	}
	return errors.Join(errAway, c.refusal)
}

// waitForChange waits until a channel is closed, or until a time if that is not zero.
func waitForChange(ctx context.Context, changed <-chan struct{}, until time.Time) error {
	var back <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		back = timer.C
	}
	select {
	case <-changed:
		return nil
	case <-back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// choice is what there is for a page: the best endpoint, or whether one is full, and when the first is back that is away
// for being asked for too much.
type choice struct {
	best    *endpoint
	full    bool
	back    time.Time
	refusal error
}

func (b *balancer) choose(w wish, not *endpoint) (c choice) {
	now := time.Now()
	for _, e := range b.endpoints {
		if e.refusal != nil {
			c.refusal = e.refusal
		}
		if e.banned != nil {
			c.refusal = fmt.Errorf("vision endpoint %d: %w", e.number, e.banned)
			continue
		}
		if w.tried[e] || e == not {
			continue
		}
		if now.Before(e.until) {
			if e.limits && !e.until.After(w.patience) && (c.back.IsZero() || e.until.Before(c.back)) {
				c.back = e.until
			}
			continue
		}
		room := e.limit
		if e.pause > 0 {
			room = 1 // one page tells whether it is back
		}
		if e.pending >= room {
			c.full = true
			continue
		}
		if c.best == nil || e.pending*c.best.limit < c.best.pending*e.limit {
			c.best = e
		}
	}
	return c
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
		now := time.Now()
		if out.began.After(e.slowed) { // those that were under way together tell it once
			e.limit, e.slowed = max(1, e.limit/2), now
			e.pause = min(max(minPause, 2*e.pause), maxPause)
		}
		e.good, e.limits = 0, out.result == busy
		if out.result == refused {
			e.refusal, e.pause = out.err, maxPause
		}
		if until := now.Add(max(e.pause, min(out.retryAfter, 10*maxPause))); until.After(e.until) {
			e.until = until
		}
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
	e.until, e.limits = time.Now().Add(e.pause), false
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
	began      time.Time
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
