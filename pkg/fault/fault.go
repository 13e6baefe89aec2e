// Package fault says what to do with an error and which stable code users see for it. Two places act on a Kind: the
// bus, which settles messages by it, and the API, which picks a status by it.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Kind says what to do with an error.
type Kind int

const (
	// Transient errors may pass: the work is tried again later, and the failure is counted. It is the zero value, because
	// an unclassified error must never lose a document.
	Transient Kind = iota
	// Busy means that a resource is away or full: the work is tried again soon, and nothing is counted against it.
	Busy
	// Permanent errors come again with the same input: the work is given up at once.
	Permanent
	// EngineCrash means that an engine died or had to be killed over the input: it is tried once more, then its page is
	// given up.
	EngineCrash
)

// MaxCrashTries is how often a page or a task may crash its engine, or have it killed: the first time the engine may
// have died of something else. The bus counts tasks by it, render and ocr pages.
const MaxCrashTries = 2

// String returns the kind's name as logs and dead letters carry it.
func (k Kind) String() string {
	switch k {
	case Busy:
		return "busy"
	case Permanent:
		return "permanent"
	case EngineCrash:
		return "engine_crash"
	default:
		return "transient"
	}
}

// Error is an error with a kind and a stable code. Its message goes to users and logs, so it carries no text of a
// document.
type Error struct {
	Kind Kind
	Code Code
	// Page counts from 1; 0 where it is no single page's.
	Page int
	// Message is for people; empty means the text of Err.
	Message string
	// Err is the cause; may be nil.
	Err error
}

// Error returns the code, then the message and the cause.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error of that kind and code; its kind follows from the code where the table says so.
func New(code Code, format string, args ...any) *Error {
	return &Error{Kind: code.lookUpKind(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives err a kind and a code. A nil err stays nil.
func Wrap(kind Kind, code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Code: code, Err: err}
}

// KindOf returns the kind of err: that of the outermost Error in its chain, else Transient.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Transient
}

// CodeOf returns the stable code of err, else Internal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != "" {
		return e.Code
	}
	return Internal
}

// UserMessageOf returns what a user may read about err: the message of the outermost Error, never the chain behind it.
func UserMessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Message != "" {
		return e.Message
	}
	return CodeOf(err).DescribeCode()
}

// RecoverPanic turns a panic into an engine's crash, where it is deferred. The error tells where it came from, and not what it
// says, which may be a document's text.
func RecoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = Wrap(EngineCrash, Internal, fmt.Errorf("panic of type %T\n%s", p, debug.Stack()))
	}
}
