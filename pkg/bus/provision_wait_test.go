package bus

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A cluster that has just started drops requests about what has no leader yet: the first look gives up soon, and the
// next one is answered.
func TestPollUntilReadyAsksAgain(t *testing.T) {
	t.Parallel()
	b := &topologyAdmin{&connection{nc: &nats.Conn{}, log: slog.New(slog.DiscardHandler), connectError: &atomic.Pointer[error]{}}}
	looks := 0
	err := b.pollUntilReady(t.Context(), logStreamsWait, func(ctx context.Context) error {
		if looks++; looks > 1 {
			return nil
		}
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > minTry {
			t.Errorf("the first look may take %s, want %s", time.Until(deadline), minTry)
		}
		return context.DeadlineExceeded
	})
	if err != nil || looks != 2 {
		t.Errorf("got %v after %d looks, want none after 2", err, looks)
	}
}
