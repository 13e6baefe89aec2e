package results_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/results"
)

// Drawn pages are held in memory while they are answered, so there are few of them however many clients read slowly; and
// those of one tenant leave places to others.
func TestPageImageAnswersAreBounded(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	began, finish := make(chan struct{}, 2*results.TenantImageAnswers), make(chan struct{})
	h := r.Service.Components().Results.LimitImageAnswers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-finish
		_, _ = w.Write([]byte("png")) // to a recorder
	}))
	var asking sync.WaitGroup
	ask := func(ctx context.Context) {
		asking.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		})
	}
	for range results.TenantImageAnswers {
		ask(t.Context())
	}
	for range results.TenantImageAnswers {
		<-began
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)) // who hangs up does not wait
	ask(t.Context())
	ask(access.WithIdentity(t.Context(), &access.Identity{Tenant: "other"}))
	<-began
	if n := len(began); n > 0 {
		t.Errorf("%d more than %d are in hand", n, results.TenantImageAnswers)
	}
	close(finish)
	<-began
	asking.Wait()
}

// blockedStream is the stream of a client that takes nothing.
type blockedStream[T any] struct {
	grpc.ServerStreamingServer[T]
	ctx context.Context
}

func (d blockedStream[T]) Context() context.Context { return d.ctx }

func (d blockedStream[T]) Send(*T) error {
	<-d.ctx.Done()
	return d.ctx.Err()
}

func TestStalledStreamIsEnded(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.StallTimeout = 20 * time.Millisecond })
	rec := r.NewEndedJob(map[string]string{"text.txt": "text"})
	held, hold := limits.WithHold(t.Context())
	defer hold.Release()
	ctx, cancel := context.WithCancel(held)
	defer cancel() // as the end of the handler does
	for name, err := range map[string]error{
		"DownloadArtifact": r.Service.Components().Results.DownloadArtifact(&inkstreamv1.DownloadArtifactRequest{Id: string(rec.ID),
			Name: "text.txt"}, blockedStream[httpbody.HttpBody]{ctx: ctx}),
		"WatchJob": r.Service.Components().Watches.WatchJob(&inkstreamv1.WatchJobRequest{Id: string(rec.ID)},
			blockedStream[inkstreamv1.Job]{ctx: ctx}),
	} {
		if fault.CodeOf(err) != apierror.RequestTimeout {
			t.Errorf("%s: got %v, want %s", name, err, apierror.RequestTimeout)
		}
	}
}
