package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// ExitReason says why a child died.
type ExitReason string

// The reasons. Their values are labels of metrics.
const (
	Timeout   ExitReason = "timeout"   // a call took longer than it was given
	Memory    ExitReason = "memory"    // the child grew beyond its memory limit, or could get no more
	Crash     ExitReason = "crash"     // the child ended by itself, or broke the protocol
	Cancelled ExitReason = "cancelled" // the caller's context ended, or the pool was closed
	CPU       ExitReason = "cpu"       // the call took more CPU time than Config.CPULimit
)

// ErrClosed is what LeaseChild returns, and what the ExitError of a call wraps, once the pool is closed.
var ErrClosed = errors.New("sandbox: the pool is closed")

// ExitError is the error of a call whose child is gone. If the caller's context ended the call, it also matches that
// context's error.
type ExitError struct { //nolint:errname // it reads as what it is: sandbox.ExitError
	Reason ExitReason
	// Detail is for logs: exit status or signal, and what the child wrote last, cut down so that no text of a document
	// is in it.
	Detail string

	cause error // the context's error, ErrClosed, or nil
}

// Error returns the reason and the detail.
func (d *ExitError) Error() string {
	s := "sandbox child died: " + string(d.Reason)
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

// Unwrap returns what cancelled the call; nil for the other reasons.
func (d *ExitError) Unwrap() error { return d.cause }

// RemoteError is an error that the Handler returned: the child lives on.
type RemoteError struct {
	Message string // the error's text, byte for byte
}

// Error returns the message.
func (e *RemoteError) Error() string { return e.Message }

// Marks in a child's last words, in lower case. The runtimes of Go, C++ and the race detector write them.
var outOfMemoryTexts = []string{"out of memory", "cannot allocate memory", "bad_alloc", "failed to allocate"}

// classifyExit tells what a process died of. doom is why the parent killed it, if it did; nearLimit says that its
// memory was close to the limit when last looked at.
func classifyExit(doom *ExitError, status syscall.WaitStatus, words string, nearLimit bool) *ExitError {
	d := &ExitError{Reason: Crash}
	var parts []string
	if doom != nil {
		d.Reason, d.cause = doom.Reason, doom.cause
		if doom.Detail != "" {
			parts = append(parts, doom.Detail)
		}
	} else {
		d.Reason = exitReason(status, strings.ToLower(words), nearLimit)
	}
	parts = append(parts, describeStatus(status))
	if said := safeExcerpt(words); said != "" {
		parts = append(parts, said)
	}
	d.Detail = strings.Join(parts, "; ")
	return d
}

// exitReason names the reason of a death that the parent had no hand in.
func exitReason(status syscall.WaitStatus, words string, nearLimit bool) ExitReason {
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGXCPU: // a limit of its own: Go programs ignore it, C libraries may not
		return CPU
	case status.Exited() && status.ExitStatus() == ExitMemory, containsAny(words, outOfMemoryTexts):
		return Memory
	case nearLimit && !(status.Exited() && status.ExitStatus() == 0):
		// The kernel's out-of-memory killer says nothing, and an engine whose malloc fails often just follows the null
		// pointer.
		return Memory
	default:
		return Crash
	}
}

func containsAny(s string, marks []string) bool {
	for _, m := range marks {
		if strings.Contains(s, m) {
			return true
		}
	}
	return false
}

func describeStatus(status syscall.WaitStatus) string {
	switch {
	case status.Signaled():
		return "signal: " + status.Signal().String()
	case status.Exited():
		return fmt.Sprintf("exit status %d", status.ExitStatus())
	default:
		return "exit status unknown" // reaped elsewhere
	}
}
