package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

var errReleased = errors.New("sandbox: the child was released")

// Child is a leased child process. Its calls go one after the other, also those of several goroutines.
type Child struct {
	pool   *Pool
	tokens *leaseTokens
	tenant string // of the lease

	mu     sync.Mutex // held through a call
	proc   *process   // nil once released
	endUse func()     // ends what the child is used for by a tenant; nil while it is not
}

// BeginUse notes that the child works for the tenant of ctx from now on; see WithTenant. A child that was just leased
// does so already.
func (c *Child) BeginUse(ctx context.Context) {
	c.EndUse()
	if tenant, ok := tenantOf(ctx); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.endUse = c.pool.slots.tenants.Begin(tenant)
	}
}

// EndUse notes that the child works for no tenant until BeginUse, though it stays leased.
func (c *Child) EndUse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endUseLocked()
}

func (c *Child) endUseLocked() {
	if c.endUse != nil {
		c.endUse()
		c.endUse = nil
	}
}

// HasLowPriority reports whether the child was leased for slow work, or a call of it took long (see Config.YieldAfter):
// it is of no use for other work.
func (c *Child) HasLowPriority() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proc != nil && c.proc.hasLowPriority()
}

// Call sends a request, with open files if there are any, and waits for the answer, which is the caller's to keep.
// Request and answer are bounded by MaxFrame, files by MaxFiles; they stay the caller's to close.
//
// If the child dies, or has to be killed because timeout passes or ctx ends, the error is an *ExitError, now and for
// every later call: release the child and lease another. If the handler returned an error it is a *RemoteError, and
// the child lives on, as it does after an error that came before the request was sent, such as a ctx that had ended
// already. A timeout that is not positive is none: ctx alone bounds the call. What the child waits for a processor
// while it has work to do does not count, up to MaxTimeoutScale times the timeout in all; see WithStarvationHook.
func (c *Child) Call(ctx context.Context, timeout time.Duration, body []byte, files ...*os.File) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return nil, errReleased
	}
	select {
	case <-c.proc.done:
		return nil, c.proc.exitError
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("call %s child: %w", c.pool.cfg.Program, err)
	}
	c.proc.owner = owner{tenant: c.tenant, known: true}
	return c.proc.exchangeFrames(ctx, timeout, body, files)
}

// ScratchFile returns the memory file that the parent shares with the child; nil if Config.ScratchBytes is 0 or the
// child was released. It stays readable until Release, even if the child dies. Use ReadAt, WriteAt or a mapping, for
// the offset is shared. What the child puts there may change under the reader if the child is hostile: copy first,
// then check.
func (c *Child) ScratchFile() *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return nil
	}
	return c.proc.scratch
}

// Isolation returns which walls this child has put up.
func (c *Child) Isolation() IsolationReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return IsolationReport{}
	}
	return c.proc.isolation
}

// Release gives the child back to the pool, which keeps it warm, or replaces it if it is dead or worn. It waits for a
// call that is under way. A second Release does nothing.
func (c *Child) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return
	}
	c.pool.returnChild(c.proc, c.tokens)
	c.endUseLocked() // not before: a tenant that seems to hold nothing, while no child is free, may have one beyond
	c.proc = nil
}
