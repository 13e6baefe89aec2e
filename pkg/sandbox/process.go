package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxKillWait bounds the wait for a killed process to be gone: one that is stuck in the kernel must not hold up its
// caller.
const maxKillWait = 5 * time.Second

// process is one child as the parent sees it. One goroutine at a time makes calls; any goroutine may kill it.
//
//	starting ──ready──> idle <──> in a call ──> gone (done is closed, exitError is set)
type process struct {
	pid        int
	cfg        *Config
	conn       *os.File
	raw        syscall.RawConn
	scratch    *os.File // nil without ScratchBytes
	status     *os.File // /proc/<pid>/status: stays this process's even if its number is used again; nil if it cannot be read
	stderr     *stderrTail
	startWatch func()        // makes sure that the memory of busy processes is checked
	done       chan struct{} // closed when the process is reaped and exitError is set
	exitError  *ExitError
	retired    bool // with exitError: it was stopped on purpose while it was idle

	// Of the goroutine that makes calls.
	buf       []byte // small answers are read here first
	seq       uint32
	requests  int
	idleSince time.Time // set and read under the pool's mu
	isolation IsolationReport
	owner     owner

	mu         sync.Mutex // guards what follows
	reaped     bool
	call       uint64 // the number of the call under way, 0 between calls
	calls      uint64
	cpuBefore  time.Duration // CPU time at the beginning of the call, where it matters
	nice       int           // how much it was made nicer than other children; see lowerPriority
	idleCalls  uint64        // calls at the first look at it since it is idle
	idleCPU    time.Duration // its CPU time then
	killReason *ExitError    // why the parent killed it; the first reason stands
	retiring   bool
	nearLimit  bool // at the last look it had three quarters of its memory limit
}

// owner is the tenant that a process works for, once it has been called; see Config.OneTenant.
type owner struct {
	tenant string // empty also for calls without a tenant
	known  bool
}

// beginCall marks a call as under way, and makes it end with the child's life when it has had its time (see callTimer) or
// ctx ends. What it returns marks the call as over, and reports whether the child was killed: then it is of no use
// any more, even if its answer came just before.
func (p *process) beginCall(ctx context.Context, timeout time.Duration) (end func() (killed bool)) {
	p.mu.Lock()
	p.calls++
	n := p.calls
	p.call = n
	if (p.cfg.CPULimit > 0 || p.cfg.YieldAfter > 0) && !p.reaped {
		p.cpuBefore = p.cpuTime()
	}
	p.mu.Unlock()
	p.startWatch() // after the mark, which keeps a watch from going home

	stopClock := func() {}
	if timeout > 0 {
		stopClock = p.startCallTimer(ctx, n, timeout).stopTimer
	}
	stopContext := context.AfterFunc(ctx, func() {
		p.killDuring(n, &ExitError{Reason: Cancelled, cause: ctx.Err()})
	})
	return func() bool {
		stopClock()
		stopContext()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.call = 0 // a clock that looks only now finds nothing to kill
		return p.killReason != nil
	}
}

// killDuring kills the process if call n is still under way.
func (p *process) killDuring(n uint64, why *ExitError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call == n {
		p.killLocked(why)
	}
}

// killProcess kills the process group. A nil why leaves the reason to the exit status.
func (p *process) killProcess(why *ExitError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killLocked(why)
}

func (p *process) killLocked(why *ExitError) {
	if p.reaped {
		return // the number may be another's by now
	}
	if p.killReason == nil {
		p.killReason = why
	}
	// Errors can only mean that it is gone already.
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	_ = unix.Kill(p.pid, unix.SIGKILL)
	// The end of the process ends the connection; the deadline is for one that the kernel cannot end at once.
	_ = p.conn.SetDeadline(time.Unix(1, 0))
}

const (
	// slowPriority is the nice value of processes that do slow work: everything else on the machine goes first.
	slowPriority = 19
	// yieldPriority is that of processes that yield: one has a quarter of a processor beside one other child, so that a
	// page that is large and no more than that still ends in its time.
	yieldPriority = 15
)

// lowerPriority gives the process a nice value, unless it has a higher one. It is for good: no process may undo that
// without privileges.
func (p *process) lowerPriority(nice int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lowerPriorityLocked(nice)
}

func (p *process) lowerPriorityLocked(nice int) {
	if p.reaped || nice <= p.nice {
		return
	}
	p.nice = nice
	// A service that was started nicer than that has children that are as nice, and one that gives way must not come
	// before it.
	if now, err := niceOf(p.pid); err == nil && now >= nice {
		return
	}
	// For all threads of the process. Where it fails the process is as nice as others.
	_ = unix.Setpriority(unix.PRIO_PGRP, p.pid, nice)
}

// niceOf returns the nice value of a group of processes. The kernel tells it as 20 less it.
func niceOf(group int) (int, error) {
	of, err := unix.Getpriority(unix.PRIO_PGRP, group)
	return 20 - of, err
}

// hasLowPriority reports whether the process was made nicer than other children.
func (p *process) hasLowPriority() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nice > 0
}

// retireProcess kills an idle process: its end is no death to count.
func (p *process) retireProcess() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killReason == nil && !p.reaped {
		p.retiring = true
		p.killLocked(&ExitError{Reason: Cancelled, cause: ErrClosed})
	}
}

// currentCall tells the number of the call under way, 0 for none.
func (p *process) currentCall() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.call
}

// isGone tells whether the process is dead, dying, or has sent something unasked. It must not be in a
// call.
func (p *process) isGone() bool {
	select {
	case <-p.done:
		return true
	default:
	}
	p.mu.Lock()
	doomed := p.killReason != nil
	p.mu.Unlock()
	if doomed {
		return true
	}
	var peeked error
	err := p.raw.Control(func(fd uintptr) {
		_, _, peeked = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err != nil || !errors.Is(peeked, unix.EAGAIN)
}

// reapProcess waits for the end of the process, sweeps up what may be left of its group, and sets death. The caller
// then closes done.
func (p *process) reapProcess() {
	_ = retryOnEINTR(func() error { // ECHILD, where other code reaps this process's children, means gone as well
		return unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	})
	p.mu.Lock()
	_ = unix.Kill(-p.pid, unix.SIGKILL) // the group's number is safe until the leader is reaped
	status := syscall.WaitStatus(0xffff)
	_ = retryOnEINTR(func() error {
		_, err := syscall.Wait4(p.pid, &status, 0, nil)
		return err
	})
	p.reaped = true
	doom, nearLimit := p.killReason, p.nearLimit
	p.retired = p.retiring
	p.mu.Unlock()

	p.exitError = classifyExit(doom, status, p.stderr.drainPipe(), nearLimit)
	if p.status != nil {
		_ = p.status.Close() // opened for reading
	}
}

// killAndWait kills the process and waits until it is gone; false means that it still is not. why is the parent's
// reason, nil if there is none.
func (p *process) killAndWait(why *ExitError) bool {
	// An exit that is under way keeps its status: the kernel ignores a later kill.
	p.killProcess(why)
	timer := time.NewTimer(maxKillWait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// killBroken finishes a process whose connection broke, and returns its death.
func (p *process) killBroken(why *ExitError) *ExitError {
	if p.killAndWait(why) {
		return p.exitError
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &ExitError{Reason: Crash, Detail: "killed, and not gone yet"}
	if p.killReason != nil {
		d.Reason, d.cause = p.killReason.Reason, p.killReason.cause
	}
	return d
}

// closeFiles closes the parent's ends. The process must not be used after it.
func (p *process) closeFiles() {
	_ = p.conn.Close() // nothing is buffered in it
	if p.scratch != nil {
		_ = p.scratch.Close() // memory, not disk
	}
}

// awaitReady waits until Setup is done and the walls are up.
func (p *process) awaitReady(ctx context.Context) error {
	end := p.beginCall(ctx, p.cfg.StartTimeout)
	h, body, err := p.readFrame()
	end()
	switch {
	case err != nil:
		return p.killBroken(classifyConnError(err))
	case h.kind == frameSetupFailed:
		p.retireProcess() // a program that refuses its arguments or misses its model has not crashed
		return &RemoteError{Message: string(body)}
	case h.kind != frameReady:
		return p.killBroken(classifyConnError(fmt.Errorf("frame of kind %d, want ready", h.kind)))
	}
	if err := json.Unmarshal(body, &p.isolation); err != nil {
		return p.killBroken(classifyConnError(fmt.Errorf("read the wall report: %w", err)))
	}
	return nil
}

// exchangeFrames sends a request and reads its answer.
func (p *process) exchangeFrames(ctx context.Context, timeout time.Duration, body []byte,
	files []*os.File) ([]byte, error) {
	control, err := encodeRights(files)
	if err != nil {
		return nil, err
	}
	if len(body) > MaxFrame {
		return nil, errFrameTooLarge
	}
	p.seq++
	p.requests++
	end := p.beginCall(ctx, timeout)
	err = writeFrame(p.sendBytes, header{seq: p.seq, kind: frameRequest, files: uint8(len(files))}, body, control)
	var h header
	var answer []byte
	if err == nil {
		h, answer, err = p.readFrame()
	}
	killed := end()
	switch {
	case err != nil:
		return nil, p.killBroken(classifyConnError(err))
	case killed:
		return nil, p.killBroken(nil)
	case h.seq == p.seq && h.kind == frameReply:
		return answer, nil
	case h.seq == p.seq && h.kind == frameError:
		return nil, &RemoteError{Message: string(answer)}
	default:
		return nil, p.killBroken(classifyConnError(fmt.Errorf("frame %d of kind %d, want an answer to %d", h.seq, h.kind,
			p.seq)))
	}
}

// classifyConnError turns an error of the connection into the parent's reason to kill: none if the child just went
// away, for then its exit status tells more, and a crash if it broke the protocol.
func classifyConnError(err error) *ExitError {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, os.ErrClosed, unix.EPIPE,
		unix.ECONNRESET} {
		if errors.Is(err, end) {
			return nil
		}
	}
	return &ExitError{Reason: Crash, Detail: "broken protocol: " + err.Error()}
}

func (p *process) sendBytes(bufs [][]byte, control []byte) (n int, err error) {
	rawErr := p.raw.Write(func(fd uintptr) bool {
		err = retryOnEINTR(func() error {
			n, err = unix.SendmsgBuffers(int(fd), bufs, control, nil, unix.MSG_NOSIGNAL)
			return err
		})
		return !errors.Is(err, unix.EAGAIN)
	})
	if rawErr != nil {
		return 0, rawErr
	}
	return n, err
}

// readFrame reads one frame. The body is the caller's to keep.
func (p *process) readFrame() (header, []byte, error) {
	n, err := io.ReadAtLeast(p.conn, p.buf, headerSize)
	if err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(p.buf)
	if err != nil {
		return h, nil, err
	}
	first := p.buf[headerSize:n]
	if len(first) > int(h.size) {
		return h, nil, errTrailingBytes
	}
	body := make([]byte, h.size)
	copy(body, first)
	_, err = io.ReadFull(p.conn, body[len(first):])
	return h, body, err
}
