package pdf

import (
	"context"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// limitCall returns how long a call may take under a context. One that a first try's limit stops fails as by its own.
func (c Config) limitCall(ctx context.Context, timeout time.Duration) time.Duration {
	if sandbox.IsFirstTry(ctx) && c.FirstTry > 0 {
		return min(timeout, c.FirstTry)
	}
	return timeout
}
