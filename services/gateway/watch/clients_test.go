package watch

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/jobview"
)

func TestWatchesOfOneClientAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(func(ctx context.Context, _ jobview.Ref) (*inkstreamv1.Job, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, slog.New(slog.DiscardHandler), make(chan struct{}))
	h.perClient = 2
	ctx := reqctx.WithClientIP(t.Context(), "192.0.2.1:1234")
	other := reqctx.WithClientIP(t.Context(), "192.0.2.2:1234")
	ref := jobview.Ref{Tenant: job.DefaultTenant, ID: job.NewID()}
	var leave []func()
	join := func(ctx context.Context) error {
		_, l, err := h.joinTopic(ctx, ref)
		if err == nil {
			leave = append(leave, l)
		}
		return err
	}
	if err := errors.Join(join(ctx), join(ctx), join(other)); err != nil {
		t.Fatal(err)
	}
	if err := join(ctx); fault.CodeOf(err) != fault.QueueFull {
		t.Errorf("third watch: %v, want QUEUE_FULL", err)
	}
	leave[0]()
	leave = leave[1:]
	if err := join(ctx); err != nil {
		t.Errorf("after one left: %v", err)
	}
	for _, l := range leave {
		l()
	}
	h.waitForTopics()
	if len(h.clients) != 0 {
		t.Errorf("clients left: %v", h.clients)
	}
}
