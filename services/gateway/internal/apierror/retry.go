package apierror

import (
	"time"

	"inkstream.dev/pkg/fault"
)

// CeilSeconds rounds up, so that no client comes back too early.
func CeilSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// retryError is a refusal that says when another try makes sense.
type retryError struct {
	after time.Duration
	err   *fault.Error
}

func (e *retryError) Error() string { return e.err.Error() }

func (e *retryError) Unwrap() error { return e.err }

// NewRetryError returns a refusal that says when another try makes sense, but never within a second.
func NewRetryError(c fault.Code, after time.Duration, message string) error {
	return &retryError{after: max(after, time.Second), err: fault.New(c, "%s", message)}
}
