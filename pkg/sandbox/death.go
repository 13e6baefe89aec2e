package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Reason says why a child died.
type Reason string

// The reasons. Their values are labels of metrics.
const (
	Timeout   Reason = "timeout"   // a call took longer than it was given
	Memory    Reason = "memory"    // the child grew beyond its memory limit, or could get no more
	Crash     Reason = "crash"     // the child ended by itself, or broke the protocol
	Cancelled Reason = "cancelled" // the caller's context ended, or the pool was closed
	CPU       Reason = "cpu"       // the call took more CPU time than Config.CPULimit
)

// ErrClosed is what Lease returns, and what the Death of a call wraps, once the pool is closed.
var ErrClosed = errors.New("sandbox: the pool is closed")

// Death is the error of a call whose child is gone. If the caller's context ended the call, it also matches that context's error.
type Death struct { //nolint:errname // it reads as what it is: sandbox.Death
	Reason Reason
	// Detail is for logs: exit status or signal, and what the child wrote last, cut down so that no text of a document is in it.
	Detail string

	cause error // the context's error, ErrClosed, or nil
}

// Error returns the reason and the detail.
func (d *Death) Error() string {
	s := "sandbox child died: " + string(d.Reason)
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

// Unwrap returns what cancelled the call; nil for the other reasons.
func (d *Death) Unwrap() error { return d.cause }

// RemoteError is an error that the Handler returned: the child lives on.
type RemoteError struct {
	Message string // the error's text, byte for byte
}

// Error returns the message.
func (e *RemoteError) Error() string { return e.Message }

// Marks in a child's last words, in lower case. The runtimes of Go, C++ and the race detector write them.
var memoryMarks = []string{"out of memory", "cannot allocate memory", "bad_alloc", "failed to allocate"}

// autopsy tells what a process died of. doom is why the parent killed it, if it did; nearLimit says that its memory was close to the limit
// when last looked at.
func autopsy(doom *Death, status syscall.WaitStatus, words string, nearLimit bool) *Death {
	d := &Death{Reason: Crash}
	var parts []string
	if doom != nil {
		d.Reason, d.cause = doom.Reason, doom.cause
		if doom.Detail != "" {
			parts = append(parts, doom.Detail)
		}
	} else {
		d.Reason = diagnose(status, strings.ToLower(words), nearLimit)
	}
	parts = append(parts, describe(status))
	if said := excerpt(words); said != "" {
		parts = append(parts, said)
	}
	d.Detail = strings.Join(parts, "; ")
	return d
}

// diagnose names the reason of a death that the parent had no hand in.
func diagnose(status syscall.WaitStatus, words string, nearLimit bool) Reason {
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGXCPU: // a limit of its own: Go programs ignore it, C libraries may not
		return CPU
	case status.Exited() && status.ExitStatus() == ExitMemory, containsAny(words, memoryMarks):
		return Memory
	case nearLimit && !(status.Exited() && status.ExitStatus() == 0):
		// The kernel's out-of-memory killer says nothing, and an engine whose malloc fails often just follows the null pointer.
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

func describe(status syscall.WaitStatus) string {
	switch {
	case status.Signaled():
		return "signal: " + status.Signal().String()
	case status.Exited():
		return fmt.Sprintf("exit status %d", status.ExitStatus())
	default:
		return "exit status unknown" // somebody else reaped it
	}
}
