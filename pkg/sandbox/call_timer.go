package sandbox

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// MaxTimeoutScale is how many times its timeout a call may take whose child has to wait for a processor. Children are
// nice: beside one process a core that is not, they get a tenth of the time.
const MaxTimeoutScale = 10

// firstCheckFraction is the part of a call's timeout after which the timer first checks how long its child has waited.
// A check at the start would cost the many calls that take milliseconds more than it is worth to the few that take
// long.
const firstCheckFraction = 8

type starvationHookKey struct{}

// WithStarvationHook returns a context whose calls tell when their time is stretched: their child has work to do, and
// had to wait for a processor. While others have the children, the wait for one tells it each second. Tell must
// return at once, and may be called from any goroutine.
func WithStarvationHook(ctx context.Context, tell func()) context.Context {
	return context.WithValue(ctx, starvationHookKey{}, tell)
}

// starvationHookOf returns the context's hook, or a function that does nothing.
func starvationHookOf(ctx context.Context) func() {
	if tell, ok := ctx.Value(starvationHookKey{}).(func()); ok {
		return tell
	}
	return func() {}
}

// callTimer kills the process of a call that has had its time. The time in which the process could not work because
// others had the processors is none of it, up to MaxTimeoutScale: a page does not fail because the machine has too
// much to do.
type callTimer struct {
	proc           *process
	call           uint64
	timeout        time.Duration
	start          time.Time
	starvationHook func()
	timer          *time.Timer

	// Guarded by the process's mutex.
	checked    bool
	waitBefore time.Duration // what the process had waited at the first look
}

// startCallTimer begins the time of the call that is under way.
func (p *process) startCallTimer(ctx context.Context, call uint64, timeout time.Duration) *callTimer {
	c := &callTimer{proc: p, call: call, timeout: timeout, start: time.Now(), starvationHook: starvationHookOf(ctx)}
	p.mu.Lock() // so that a look finds the timer
	defer p.mu.Unlock()
	c.timer = time.AfterFunc(timeout/firstCheckFraction, c.checkTime)
	return c
}

func (c *callTimer) stopTimer() { c.timer.Stop() } // a look that is under way finds that the call is over

func (c *callTimer) checkTime() {
	p := c.proc
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != c.call || p.reaped {
		return
	}
	waited, elapsed := p.schedulerWait(), time.Since(c.start)
	if !c.checked {
		c.checked, c.waitBefore = true, waited
	}
	waited -= c.waitBefore
	left := remainingTime(c.timeout, elapsed, waited)
	if left == 0 {
		detail := "killed after " + c.timeout.String()
		if elapsed > c.timeout+c.timeout/firstCheckFraction {
			detail += fmt.Sprintf(", and %s in which it waited for a processor", (elapsed - c.timeout).Round(time.Millisecond))
		}
		p.killLocked(&ExitError{Reason: Timeout, Detail: detail})
		return
	}
	if elapsed >= c.timeout {
		c.starvationHook()
	}
	c.timer.Reset(left)
}

// remainingTime returns how long a call may go on that has gone on so long, of which its child's threads waited so
// long for a processor, in all; several of them may have waited at once.
func remainingTime(timeout, elapsed, waited time.Duration) time.Duration {
	return max(0, min(timeout+min(waited, elapsed), MaxTimeoutScale*timeout)-elapsed)
}

// schedulerWait returns how long the threads of the process were ready to run and waited for a processor, in all; 0
// where the kernel does not count it. The process must not be reaped.
func (p *process) schedulerWait() (sum time.Duration) {
	folder := "/proc/" + strconv.Itoa(p.pid) + "/task/"
	threads, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, t := range threads {
		sum += threadSchedulerWait(folder + t.Name())
	}
	return sum
}

// threadSchedulerWait returns the second number of a thread's schedstat (the kernel's
// Documentation/scheduler/sched-stats.rst).
func threadSchedulerWait(folder string) time.Duration {
	data, err := os.ReadFile(folder + "/schedstat")
	if err != nil {
		return 0 // it has just ended
	}
	_, rest, _ := strings.Cut(string(data), " ")
	number, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}
