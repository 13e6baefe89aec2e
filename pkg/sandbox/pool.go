package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
)

// Pool keeps children of one program. All its methods may be called from many goroutines.
type Pool struct {
	cfg     Config
	log     *slog.Logger
	slots   chan struct{} // one token for each child that is leased
	urgent  chan struct{} // the same for the leases that go beyond Size; see Urgent
	closing chan struct{} // closed when Close begins
	forker  *forker

	processes sync.WaitGroup // reapers, readers of last words, and starts under way
	helpers   sync.WaitGroup // the forker and the watch

	mu       sync.Mutex // guards what follows
	closed   bool
	forking  bool // the forker runs
	watching bool
	warned   bool // about missing walls
	live     map[*process]struct{}
	idle     []*process // the one that was used last is used first: its caches are warm
	stats    Stats
}

// Stats counts a pool's children.
type Stats struct {
	Live     int            // processes now, those that are just starting included
	Idle     int            // of them, those that wait for a lease
	Started  int            // ever ready
	Recycled int            // stopped because they were worn
	Deaths   map[Reason]int // died or killed, since the pool was made
}

// NewPool returns a pool. It starts no process yet: Lease and Warm do.
func NewPool(cfg Config, log *slog.Logger) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Pool{
		cfg: cfg, log: log,
		slots: make(chan struct{}, cfg.Size), urgent: make(chan struct{}, urgentSize), closing: make(chan struct{}), forker: newForker(),
		live: make(map[*process]struct{}), stats: Stats{Deaths: make(map[Reason]int)},
	}, nil
}

// Lease waits for a free child, starting one where none is warm, and lends it out until Release. An error is ctx's, ErrClosed, or says
// why a child did not start: it wraps a *Death if the process died, a *RemoteError if Setup failed.
func (p *Pool) Lease(ctx context.Context) (*Child, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lease %s child: %w", p.cfg.Program, err)
	}
	slot, err := p.slot(ctx)
	if err != nil {
		return nil, err
	}
	proc, err := p.take(ctx)
	if err != nil {
		<-slot
		return nil, err
	}
	return &Child{pool: p, proc: proc, slot: slot}, nil
}

// slot puts a token where there is room for one, and returns where that was.
func (p *Pool) slot(ctx context.Context) (chan struct{}, error) {
	select {
	case p.slots <- struct{}{}: // those for everybody first
		return p.slots, nil
	default:
	}
	var beyond chan struct{} // never ready where it is nil
	if isUrgent(ctx) {
		beyond = p.urgent
	}
	select {
	case p.slots <- struct{}{}:
		return p.slots, nil
	case beyond <- struct{}{}:
		return beyond, nil
	case <-p.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("lease %s child: %w", p.cfg.Program, ctx.Err())
	}
}

// Warm starts children until n are there, Size at most, so that the first documents do not wait for them. It returns the first error.
func (p *Pool) Warm(ctx context.Context, n int) error {
	n = min(n, p.cfg.Size)
	children := make([]*Child, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { children[i], errs[i] = p.Lease(ctx) })
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

// take returns an idle child that is alive, or a new one.
func (p *Pool) take(ctx context.Context) (*process, error) {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		if n == 0 {
			p.mu.Unlock()
			return p.start(ctx)
		}
		proc := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		if !proc.gone() {
			return proc, nil
		}
		// It died while nobody used it, e.g. by the kernel's choice when memory ran short. That must not count against the next document.
		death := proc.bury(nil)
		p.log.WarnContext(ctx, "idle sandbox child died", "program", p.cfg.Program, "reason", string(death.Reason), "detail", death.Detail)
		proc.discard()
	}
}

// give takes a child back: to the idle ones, or to its end.
func (p *Pool) give(proc *process, slot chan struct{}) {
	defer func() { <-slot }()
	if proc.gone() {
		proc.kill(nil)
		proc.discard()
		return
	}
	if worn := p.worn(proc); worn || !p.park(proc) {
		proc.stop()
		// Its memory is still in use until it is gone, and the next lease may start another at once.
		proc.finish(nil)
		proc.discard()
		if worn {
			p.count(func(s *Stats) { s.Recycled++ })
			p.observe(Recycled, "")
		}
	}
}

// worn tells whether a child has served long enough.
func (p *Pool) worn(proc *process) bool {
	if p.cfg.RecycleAfter > 0 && proc.requests >= p.cfg.RecycleAfter {
		return true
	}
	used, ok := proc.memory()
	return ok && used > p.cfg.RecycleBytes
}

// park puts a child among the idle ones, unless the pool is closed.
func (p *Pool) park(proc *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.idle = append(p.idle, proc)
	return true
}

// Stats returns the counts as they are now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Live, s.Idle, s.Deaths = len(p.live), len(p.idle), maps.Clone(p.stats.Deaths)
	return s
}

// Close kills and reaps every child and returns when the last is gone. Calls under way return Death{Reason: Cancelled}; they match
// ErrClosed. It returns nil, always; a second Close does nothing.
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
		p.end(proc)
	}
	p.processes.Wait()
	close(p.forker.stop)
	p.helpers.Wait()
	for _, proc := range idle {
		proc.discard() // the leased ones are closed by Release: their scratch file may be in use
	}
	return nil
}

// end kills a process because the pool is closing.
func (p *Pool) end(proc *process) {
	if proc.busy() == 0 {
		proc.stop()
		return
	}
	proc.kill(&Death{Reason: Cancelled, cause: ErrClosed})
}

// enter announces a process to Close, and makes sure that the forker runs. It returns false when the pool is closed; else
// processes.Done must follow.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.processes.Add(1)
	if !p.forking {
		p.forking = true
		p.helpers.Go(p.forker.run)
	}
	return true
}

// adopt makes a new process the pool's. The caller has entered.
func (p *Pool) adopt(proc *process) {
	p.mu.Lock()
	p.live[proc] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	p.processes.Go(proc.words.run)
	p.processes.Go(func() {
		proc.reap()
		p.buried(proc)
		close(proc.done) // only now, so that who sees a death sees it counted
	})
	if closed {
		proc.kill(&Death{Reason: Cancelled, cause: ErrClosed}) // Close has been past already
	}
}

// started counts a child that is ready, and says once what its walls lack.
func (p *Pool) started(proc *process) {
	p.mu.Lock()
	p.stats.Started++
	warning := proc.walls.Warning()
	warn := warning != "" && !p.warned
	p.warned = p.warned || warn
	p.mu.Unlock()
	if warn {
		p.log.Warn("sandbox is weaker than it should be", "program", p.cfg.Program, "missing", warning)
	}
	p.observe(Started, "")
}

// buried counts a process that is gone.
func (p *Pool) buried(proc *process) {
	p.mu.Lock()
	delete(p.live, proc)
	if !proc.retired {
		p.stats.Deaths[proc.death.Reason]++
	}
	p.mu.Unlock()
	if !proc.retired {
		p.observe(Died, proc.death.Reason)
	}
}

func (p *Pool) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

func (p *Pool) observe(event Event, reason Reason) {
	if p.cfg.Observe != nil {
		p.cfg.Observe(event, reason)
	}
}
