package access

import (
	"context"
	"errors"
)

// ErrCredentialEnded means that what a request came with is no longer valid: it was revoked or replaced, or has expired.
var ErrCredentialEnded = errors.New("the credentials of the request have ended")

// WithLifetime returns a context that ends, with ErrCredentialEnded as its cause, when the credential of its request
// does: for answers that go on. The caller calls release in the end.
func WithLifetime(ctx context.Context) (limited context.Context, release context.CancelFunc) {
	id := IdentityFrom(ctx)
	if id == nil {
		return ctx, func() {}
	}
	limited, cancel := context.WithCancelCause(ctx)
	release = func() { cancel(context.Canceled) }
	if !id.ExpireTime.IsZero() {
		until, stop := context.WithDeadlineCause(limited, id.ExpireTime, ErrCredentialEnded)
		limited, release = until, func() { stop(); cancel(context.Canceled) }
	}
	if id.onChange == nil {
		return limited, release
	}
	forget, before := id.onChange(func() { cancel(ErrCredentialEnded) }), release
	return limited, func() { forget(); before() }
}
