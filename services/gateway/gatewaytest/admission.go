package gatewaytest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/bus"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/rest"
)

// FillQueue queues n documents that no stage works on.
func (r *Gateway) FillQueue(n int) {
	r.T.Helper()
	for i := range n {
		err := r.Deps.Bus.Publish(r.T.Context(), bus.Message{
			Stage: bus.Ingest, Lane: bus.Batch, Unit: "document",
			Task: &busv1.IngestTask{Unit: &busv1.Unit{Tenant: "default", Job: "j" + strconv.Itoa(i), Run: 1}},
		})
		if err != nil {
			r.T.Fatalf("publish: %v", err)
		}
	}
}

// WantRetryAfter makes sure that a refused client is told when to come back.
func (r *Gateway) WantRetryAfter() {
	r.T.Helper()
	req, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost, r.BaseURL+"/v1/jobs",
		strings.NewReader("%PDF-1.7"))
	if err != nil {
		r.T.Fatal(err)
	}
	req.Header.Set("Content-Type", rest.PDFType)
	res, err := r.Web.Do(req)
	if err != nil {
		r.T.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Retry-After"); res.StatusCode != http.StatusTooManyRequests || got != "2" {
		r.T.Errorf("got %d with Retry-After %q, want 429 with 2", res.StatusCode, got)
	}
	stream, err := r.RPC.UploadDocument(r.T.Context())
	if err == nil {
		// The refusal may come before anything is sent.
		_ = stream.Send(&inkstreamv1.UploadDocumentRequest{})
		_, err = stream.CloseAndRecv()
	}
	var delay time.Duration
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			delay = info.GetRetryDelay().AsDuration()
		}
	}
	if delay != 2*time.Second {
		r.T.Errorf("retry delay over gRPC: got %s, want 2 s", delay)
	}
}
