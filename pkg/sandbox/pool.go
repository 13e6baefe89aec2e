package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Pool keeps children of one program. All its methods may be called from many goroutines.
type Pool struct {
	cfg       Config
	log       *slog.Logger
	slots     *leaseSlots
	closing   chan struct{} // closed when Close begins
	wakeWatch chan struct{} // a token has the watch look at busy children
	forker    *forker

	processes sync.WaitGroup // reapers, readers of last words, and starts under way
	helpers   sync.WaitGroup // the forker and the watch

	mu       sync.Mutex // guards what follows
	closed   bool
	forking  bool // the forker runs
	watching bool
	retiring bool // retireIdle runs
	warned   bool // about missing walls
	live     map[*process]struct{}
	idle     []*process // the one that was used last is used first: its caches are warm
	stats    Stats
}

// Stats counts a pool's children.
type Stats struct {
	Live     int                // processes now, those that are just starting included
	Idle     int                // of them, those that wait for a lease
	Started  int                // ever ready
	Recycled int                // stopped because they were worn
	Retired  int                // stopped because there was nothing for them to do
	Deaths   map[ExitReason]int // died or killed, since the pool was made
}

// NewPool returns a pool. It starts no process yet: Lease and StartChildren do.
func NewPool(cfg Config, log *slog.Logger) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	closing := make(chan struct{})
	return &Pool{
		cfg: cfg, log: log,
		slots: newLeaseSlots(cfg, closing), closing: closing, wakeWatch: make(chan struct{}, 1),
		forker: newForker(),
		live:   make(map[*process]struct{}), stats: Stats{Deaths: make(map[ExitReason]int)},
	}, nil
}

// LeaseChild waits for a free child, starting one where none is warm, and lends it out until Release. An error is
// ctx's, ErrClosed, or says why a child did not start: it wraps an *ExitError if the process died, a *RemoteError if
// Setup failed.
func (p *Pool) LeaseChild(ctx context.Context) (*Child, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lease %s child: %w", p.cfg.Program, err)
	}
	tokens, err := p.slots.acquire(ctx)
	if err != nil {
		return nil, err
	}
	tenant, _ := tenantOf(ctx)
	proc, err := p.takeIdleOrStart(ctx, tenant)
	if err != nil {
		p.slots.release(tokens)
		return nil, err
	}
	child := &Child{pool: p, proc: proc, tokens: tokens, tenant: tenant}
	child.BeginUse(ctx)
	if IsSlowWork(ctx) {
		proc.lowerPriority(slowPriority)
	}
	return child, nil
}

// StartChildren starts children until n are there, Size at most, so that the first documents do not wait for them. It
// returns the first error.
func (p *Pool) StartChildren(ctx context.Context, n int) error {
	n = min(n, p.cfg.Size)
	children := make([]*Child, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { children[i], errs[i] = p.LeaseChild(ctx) })
	}
	wg.Wait()
	var first error
	for i, c := range children {
		if errs[i] == nil {
			c.Release()
		} else if first == nil {
			first = errs[i]
		}
	}
	return first
}

// takeIdleOrStart returns an idle child that is alive and may work for the tenant, or a new one.
func (p *Pool) takeIdleOrStart(ctx context.Context, tenant string) (*process, error) {
	for {
		proc, err := p.takeIdle(tenant)
		if err != nil {
			return nil, err
		}
		if proc == nil {
			return p.startProcess(ctx)
		}
		if !proc.isGone() {
			return proc, nil
		}
		// It died while it was idle, e.g. by the kernel's choice when memory ran short. That must not count against the
		// next document.
		death := proc.killBroken(nil)
		p.log.WarnContext(ctx, "idle sandbox child died", "program", p.cfg.Program, "reason", string(death.Reason), "detail",
			death.Detail)
		proc.closeFiles()
	}
}

// takeIdle takes the last of the idle children that may work for the tenant, nil where none may: where a child has one
// tenant in its life, one of the tenant's, or else one that has not been called yet.
func (p *Pool) takeIdle(tenant string) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	best := len(p.idle) - 1
	if p.cfg.OneTenant {
		best = lastIndexOwned(p.idle, owner{tenant: tenant, known: true})
		if best < 0 {
			best = lastIndexOwned(p.idle, owner{})
		}
	}
	if best < 0 {
		return nil, nil
	}
	proc := p.idle[best]
	p.idle = slices.Delete(p.idle, best, best+1)
	return proc, nil
}

func lastIndexOwned(all []*process, by owner) int {
	for i, proc := range slices.Backward(all) {
		if proc.owner == by {
			return i
		}
	}
	return -1
}

// returnChild takes a child back: to the idle ones, or to its end.
func (p *Pool) returnChild(proc *process, tokens *leaseTokens) {
	defer p.slots.release(tokens)
	if proc.isGone() {
		proc.killProcess(nil)
		proc.closeFiles()
		return
	}
	if p.isWorn(proc) {
		endIdle(proc)
		p.updateStats(func(s *Stats) { s.Recycled++ })
		p.notifyObserver(Recycled, "")
		return
	}
	if beyond := p.addIdle(proc); beyond != nil {
		endIdle(beyond)
	}
}

// endIdle ends a child that is in no call. It waits until the child is gone, because its memory is in use until then
// and the next lease may start another at once.
func endIdle(proc *process) {
	proc.retireProcess()
	proc.killAndWait(nil)
	proc.closeFiles()
}

// isWorn tells whether a child has served long enough.
func (p *Pool) isWorn(proc *process) bool {
	if p.cfg.RecycleAfter > 0 && proc.requests >= p.cfg.RecycleAfter || proc.hasLowPriority() {
		return true
	}
	used, ok := proc.ownMemory()
	return ok && used > p.cfg.RecycleBytes
}

// addIdle puts a child among the idle ones, and returns the one that is to end for it: itself where the pool is closed,
// the one that is idle for longest where more would be warm than Config.OneTenant says, or nil.
func (p *Pool) addIdle(proc *process) (beyond *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return proc
	}
	proc.idleSince = time.Now()
	p.idle = append(p.idle, proc)
	if p.cfg.IdleTimeout > 0 && !p.retiring {
		p.retiring = true
		p.helpers.Go(p.retireIdle)
	}
	if p.cfg.OneTenant && len(p.idle) > p.cfg.Size {
		beyond = p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
		p.stats.Retired++
	}
	return beyond
}

// retireIdle ends children that have been idle for long, until none is left.
func (p *Pool) retireIdle() {
	timer := time.NewTimer(min(p.cfg.IdleTimeout, surplusIdleTimeout))
	defer timer.Stop()
	for {
		select {
		case <-p.closing:
			return
		case <-timer.C:
		}
		old, left := p.takeOldIdle(time.Now())
		for _, proc := range old {
			endIdle(proc)
		}
		if !left {
			return
		}
		timer.Reset(min(p.cfg.IdleTimeout, surplusIdleTimeout))
	}
}

// surplusIdleTimeout is how long a child beyond Size stays without a lease, at most: those of Size are enough again, and
// each takes memory.
const surplusIdleTimeout = 2 * time.Second

// takeOldIdle takes the children whose time is over out of the idle ones, and reports whether others are left.
func (p *Pool) takeOldIdle(now time.Time) (old []*process, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	surplus := len(p.live) - p.cfg.Size
	n := 0 // the first are idle for longest
	for n < len(p.idle) {
		limit := p.cfg.IdleTimeout
		if n < surplus {
			limit = min(limit, surplusIdleTimeout)
		}
		if now.Sub(p.idle[n].idleSince) < limit {
			break
		}
		n++
	}
	old = slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.stats.Retired += n
	p.retiring = len(p.idle) > 0
	return old, p.retiring
}

// Stats returns the counts as they are now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Live, s.Idle, s.Deaths = len(p.live), len(p.idle), maps.Clone(p.stats.Deaths)
	return s
}

// Close kills and reaps every child and returns when the last is gone. Calls under way return ExitError{Reason:
// Cancelled}; they match ErrClosed. It returns nil, always; a second Close does nothing.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.processes.Wait()
		p.helpers.Wait()
		return nil
	}
	p.closed = true
	close(p.closing)
	var live []*process
	for proc := range p.live {
		live = append(live, proc)
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()

	for _, proc := range live {
		p.killOnClose(proc)
	}
	p.processes.Wait()
	close(p.forker.stop)
	p.helpers.Wait()
	for _, proc := range idle {
		proc.closeFiles() // the leased ones are closed by Release: their scratch file may be in use
	}
	return nil
}

// killOnClose kills a process because the pool is closing.
func (p *Pool) killOnClose(proc *process) {
	if proc.currentCall() == 0 {
		proc.retireProcess()
		return
	}
	proc.killProcess(&ExitError{Reason: Cancelled, cause: ErrClosed})
}

// registerStart announces a process to Close, and makes sure that the forker runs. It returns false when the pool is
// closed; else processes.Done must follow.
func (p *Pool) registerStart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.processes.Add(1)
	if !p.forking {
		p.forking = true
		p.helpers.Go(p.forker.serveRequests)
	}
	return true
}

// addProcess makes a new process the pool's. The caller has entered.
func (p *Pool) addProcess(proc *process) {
	p.mu.Lock()
	p.live[proc] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	p.processes.Go(proc.stderr.readPipe)
	p.processes.Go(func() {
		proc.reapProcess()
		p.countExit(proc)
		close(proc.done) // only now, so that who sees a death sees it counted
	})
	if closed {
		proc.killProcess(&ExitError{Reason: Cancelled, cause: ErrClosed}) // Close has been past already
	}
}

// countStarted counts a child that is ready, and says once what its walls lack.
func (p *Pool) countStarted(proc *process) {
	p.mu.Lock()
	p.stats.Started++
	warning := proc.isolation.Warning()
	warn := warning != "" && !p.warned
	p.warned = p.warned || warn
	p.mu.Unlock()
	if warn {
		p.log.Warn("sandbox is weaker than it should be", "program", p.cfg.Program, "missing", warning)
	}
	if p.cfg.ObserveWalls != nil {
		p.cfg.ObserveWalls(proc.isolation)
	}
	p.notifyObserver(Started, "")
}

// countExit counts a process that is gone.
func (p *Pool) countExit(proc *process) {
	p.mu.Lock()
	delete(p.live, proc)
	if !proc.retired {
		p.stats.Deaths[proc.exitError.Reason]++
	}
	p.mu.Unlock()
	if !proc.retired {
		p.notifyObserver(Died, proc.exitError.Reason)
	}
}

func (p *Pool) updateStats(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

func (p *Pool) notifyObserver(event Event, reason ExitReason) {
	if p.cfg.Observe != nil {
		p.cfg.Observe(event, reason)
	}
}
