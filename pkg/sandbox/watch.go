package sandbox

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// leastWatch and mostWatch bound the time from one look at busy children to the next. Each look wakes a process that has nothing else to do while
	// its children work.
	leastWatch, mostWatch = 50 * time.Millisecond, 250 * time.Millisecond
	// touchRate is how fast a child can get memory, in bytes a second. The limit on data memory, which the kernel enforces, is behind the looks.
	touchRate = 2 << 30
	// watchLinger is the time without a busy child after which the watch goes home.
	watchLinger = time.Second
)

// watch makes sure that somebody looks at the memory of busy children.
func (p *Pool) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watching || p.closed {
		return
	}
	p.watching = true
	p.helpers.Go(p.runWatch)
}

func (p *Pool) runWatch() {
	pause := leastWatch
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var quiet time.Duration
	for {
		select {
		case <-p.closing:
			return
		case <-timer.C:
		}
		quiet += pause
		next := mostWatch
		for _, proc := range p.all() {
			if call := proc.busy(); call != 0 {
				quiet = 0
				next = min(next, proc.weigh(call))
			}
		}
		pause = next
		if quiet > 0 {
			pause = leastWatch // whoever becomes busy next shall not get far unseen
		}
		if quiet >= watchLinger && p.stopWatching() {
			return
		}
		timer.Reset(pause)
	}
}

// stopWatching ends the watch unless a child became busy since it last looked. A call that is marked after this starts it again.
func (p *Pool) stopWatching() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for proc := range p.live {
		if proc.busy() != 0 {
			return false
		}
	}
	p.watching = false
	return true
}

func (p *Pool) all() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*process, 0, len(p.live))
	for proc := range p.live {
		all = append(all, proc)
	}
	return all
}

// weigh kills the process if it has more memory than it may have, or took more CPU time than the call may take. It returns when to look again: when
// it can have come half way to its limits, so that there is a look from close to them.
func (p *process) weigh(call uint64) time.Duration {
	limit := p.cfg.MemoryLimit
	used, ok := p.memory()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != call || p.reaped {
		return leastWatch
	}
	p.nearLimit = ok && used > limit/4*3
	if ok && used > limit {
		p.killLocked(&Death{Reason: Memory, Detail: "used " + mebibytes(used) + " of " + mebibytes(limit)})
	}
	again := mostWatch
	if ok {
		again = time.Duration(float64(limit-used) / touchRate / 2 * float64(time.Second))
	}
	if most := p.cfg.CPULimit; most > 0 {
		left := most - (p.cpuTime() - p.cpuBefore)
		if left < 0 {
			p.killLocked(&Death{Reason: CPU, Detail: "used up its CPU time of " + most.String()})
		}
		again = min(again, left/2)
	}
	return max(again, leastWatch)
}

// cpuTime returns the CPU time that all threads of the process have taken. The process must not be reaped.
func (p *process) cpuTime() time.Duration {
	// The clock of another process, as clock_getcpuclockid makes it.
	const schedulerClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid<<3|schedulerClock), &ts); err != nil {
		return 0 // it is just ending
	}
	return time.Duration(ts.Nano())
}

func mebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }

// memory returns what the process has of its own: resident and swapped anonymous memory, and shared memory beyond the scratch file. Pages
// of mapped files do not count, since the kernel drops them when it needs to.
func (p *process) memory() (int64, bool) {
	if p.status == nil {
		return 0, false
	}
	var buf [8 << 10]byte
	n, _ := p.status.ReadAt(buf[:], 0) // always ends early, with io.EOF, or with ESRCH when the process is gone
	anon, ok := statusField(buf[:n], "\nRssAnon:")
	if !ok {
		return 0, false
	}
	swap, _ := statusField(buf[:n], "\nVmSwap:")
	shared, _ := statusField(buf[:n], "\nRssShmem:")
	return anon + swap + max(0, shared-p.cfg.ScratchBytes), true
}

// statusField finds a line such as "RssAnon:  1234 kB" in /proc/<pid>/status and returns its bytes.
func statusField(status []byte, name string) (int64, bool) {
	_, rest, ok := bytes.Cut(status, []byte(name))
	if !ok {
		return 0, false
	}
	number, _, ok := bytes.Cut(bytes.TrimLeft(rest, " \t"), []byte(" kB"))
	if !ok {
		return 0, false
	}
	kib, err := strconv.ParseInt(string(number), 10, 64)
	return kib << 10, err == nil
}
