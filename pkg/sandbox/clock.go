package sandbox

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// MostStretch is how many times its timeout a call may take whose child has to wait for a processor. Children are nice: beside one process a core
// that is not, they get a tenth of the time.
const MostStretch = 10

// firstLook is the part of a call's timeout after which it is first looked how long its child has waited: to look at the begin would cost the many
// calls that take milliseconds more than it is worth to the few that take long.
const firstLook = 8

type waitingKey struct{}

// Waiting returns a context whose calls tell when their time is stretched: their child has work to do, and had to wait for a processor. Tell must
// return at once, and may be called from any goroutine.
func Waiting(ctx context.Context, tell func()) context.Context {
	return context.WithValue(ctx, waitingKey{}, tell)
}

// clock kills the process of a call that has had its time. The time in which the process could not work because others had the processors is none of
// it, up to MostStretch: a page does not fail because the machine has too much to do.
type clock struct {
	proc    *process
	call    uint64
	timeout time.Duration
	start   time.Time
	tell    func()
	timer   *time.Timer

	// Guarded by the process's mutex.
	looked bool
	before time.Duration // what the process had waited at the first look
}

// startClock begins the time of the call that is under way.
func (p *process) startClock(ctx context.Context, call uint64, timeout time.Duration) *clock {
	tell, ok := ctx.Value(waitingKey{}).(func())
	if !ok {
		tell = func() {}
	}
	c := &clock{proc: p, call: call, timeout: timeout, start: time.Now(), tell: tell}
	p.mu.Lock() // so that a look finds the timer
	defer p.mu.Unlock()
	c.timer = time.AfterFunc(timeout/firstLook, c.look)
	return c
}

func (c *clock) stop() { c.timer.Stop() } // a look that is under way finds that the call is over

func (c *clock) look() {
	p := c.proc
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != c.call || p.reaped {
		return
	}
	waited, elapsed := p.waited(), time.Since(c.start)
	if !c.looked {
		c.looked, c.before = true, waited
	}
	waited -= c.before
	left := remaining(c.timeout, elapsed, waited)
	if left == 0 {
		detail := "killed after " + c.timeout.String()
		if elapsed > c.timeout+c.timeout/firstLook {
			detail += fmt.Sprintf(", and %s in which it waited for a processor", (elapsed - c.timeout).Round(time.Millisecond))
		}
		p.killLocked(&Death{Reason: Timeout, Detail: detail})
		return
	}
	if elapsed >= c.timeout {
		c.tell()
	}
	c.timer.Reset(left)
}

// remaining returns how long a call may go on that has gone on so long, of which its child's threads waited so long for a processor, in all; several
// of them may have waited at once.
func remaining(timeout, elapsed, waited time.Duration) time.Duration {
	return max(0, min(timeout+min(waited, elapsed), MostStretch*timeout)-elapsed)
}

// waited returns how long the threads of the process were ready to run and waited for a processor, in all; 0 where the kernel does not count it.
// The process must not be reaped.
func (p *process) waited() (sum time.Duration) {
	folder := "/proc/" + strconv.Itoa(p.pid) + "/task/"
	threads, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, t := range threads {
		sum += threadWaited(folder + t.Name())
	}
	return sum
}

// threadWaited returns the second number of a thread's schedstat (the kernel's Documentation/scheduler/sched-stats.rst).
func threadWaited(folder string) time.Duration {
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
