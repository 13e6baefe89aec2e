package sandbox

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// minWatchInterval and maxWatchInterval bound the time from one look at busy children to the next. Each look wakes a
	// process that has nothing else to do while its children work.
	minWatchInterval, maxWatchInterval = 50 * time.Millisecond, 250 * time.Millisecond
	// maxAllocationRate is how fast a child can get memory, in bytes a second. The limit on data memory, which the
	// kernel enforces, is behind the looks.
	maxAllocationRate = 2 << 30
	// idleWatchInterval is the time from one look at idle children to the next, and watchIdleTime the time without a busy
	// one after which the watch does nothing else.
	watchIdleTime, idleWatchInterval = time.Second, time.Second
	// maxIdleCPU is how much CPU time an idle child may take from one request to the next, as to give memory back: it has
	// nothing else to do, so what takes more is not the engine.
	maxIdleCPU = time.Second
)

// startWatch makes sure that busy children are checked often, and idle ones now and then.
func (p *Pool) startWatch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watching || p.closed {
		select {
		case p.wakeWatch <- struct{}{}: // it may be about to look at idle children alone for a while
		default:
		}
		return
	}
	p.watching = true
	p.helpers.Go(p.watchMemory)
}

func (p *Pool) watchMemory() {
	pause := minWatchInterval
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var quiet, sinceIdleLook time.Duration // without a busy child, and since the idle ones were looked at
	for {
		select {
		case <-p.closing:
			return
		case <-p.wakeWatch:
			if pause == idleWatchInterval {
				pause, quiet = minWatchInterval, 0
				timer.Reset(pause)
			}
			continue
		case <-timer.C:
		}
		quiet += pause
		sinceIdleLook += pause
		next, lookAtIdle := maxWatchInterval, sinceIdleLook >= idleWatchInterval
		for _, proc := range p.liveProcesses() {
			if call := proc.currentCall(); call != 0 {
				quiet = 0
				next = min(next, proc.checkLimits(call))
			} else if lookAtIdle {
				proc.checkIdle()
			}
		}
		if lookAtIdle {
			sinceIdleLook = 0
		}
		pause = next
		if quiet > 0 {
			pause = minWatchInterval // the next process to become busy must not get far unchecked
		}
		if quiet >= watchIdleTime {
			if p.stopWatching() {
				return
			}
			pause = idleWatchInterval
		}
		timer.Reset(pause)
	}
}

// stopWatching ends the watch where no child is left. A call that is marked after this starts it again.
func (p *Pool) stopWatching() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.live) > 0 {
		return false
	}
	p.watching = false
	return true
}

// checkIdle kills a child that no request is with and that takes memory beyond its limit, or a processor: it has been
// taken over.
func (p *process) checkIdle() {
	used, ok := p.ownMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != 0 || p.reaped {
		return
	}
	if limit := p.cfg.MemoryLimit; ok && used > limit {
		p.killLocked(&ExitError{Reason: Memory, Detail: "idle, used " + formatMebibytes(used) + " of " + formatMebibytes(limit)})
		return
	}
	switch cpu := p.cpuTime(); {
	case p.idleCalls != p.calls: // it has worked since
		p.idleCalls, p.idleCPU = p.calls, cpu
	case cpu-p.idleCPU > maxIdleCPU:
		p.killLocked(&ExitError{Reason: CPU, Detail: "took a processor without having anything to do"})
	}
}

func (p *Pool) liveProcesses() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*process, 0, len(p.live))
	for proc := range p.live {
		all = append(all, proc)
	}
	return all
}

// checkLimits kills the process if it has more memory than it may have, or took more CPU time than the call may take.
// It returns when to look again: when it can have come half way to its limits, so that there is a look from close to
// them.
func (p *process) checkLimits(call uint64) time.Duration {
	limit := p.cfg.MemoryLimit
	used, ok := p.ownMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != call || p.reaped {
		return minWatchInterval
	}
	p.nearLimit = ok && used > limit/4*3
	if ok && used > limit {
		p.killLocked(&ExitError{Reason: Memory, Detail: "used " + formatMebibytes(used) + " of " + formatMebibytes(limit)})
	}
	again := maxWatchInterval
	if ok {
		again = time.Duration(float64(limit-used) / maxAllocationRate / 2 * float64(time.Second))
	}
	if after := p.cfg.YieldAfter; after > 0 && p.nice < yieldPriority {
		if left := after - (p.cpuTime() - p.cpuBefore); left > 0 {
			again = min(again, left)
		} else {
			p.lowerPriorityLocked(yieldPriority)
		}
	}
	if most := p.cfg.CPULimit; most > 0 {
		left := most - (p.cpuTime() - p.cpuBefore)
		if left < 0 {
			p.killLocked(&ExitError{Reason: CPU, Detail: "used up its CPU time of " + most.String()})
		}
		again = min(again, left/2)
	}
	return max(again, minWatchInterval)
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

func formatMebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }

// ownMemory returns what the process has of its own: resident and swapped anonymous memory, and shared memory beyond
// the scratch file. Pages of mapped files do not count, since the kernel drops them when it needs to.
func (p *process) ownMemory() (int64, bool) {
	if p.status == nil {
		return 0, false
	}
	var buf [8 << 10]byte
	n, _ := p.status.ReadAt(buf[:], 0) // always ends early, with io.EOF, or with ESRCH when the process is gone
	anon, ok := parseStatusField(buf[:n], "\nRssAnon:")
	if !ok {
		return 0, false
	}
	swap, _ := parseStatusField(buf[:n], "\nVmSwap:")
	shared, _ := parseStatusField(buf[:n], "\nRssShmem:")
	return anon + swap + max(0, shared-p.cfg.ScratchBytes), true
}

// parseStatusField finds a line such as "RssAnon:  1234 kB" in /proc/<pid>/status and returns its bytes.
func parseStatusField(status []byte, name string) (int64, bool) {
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
