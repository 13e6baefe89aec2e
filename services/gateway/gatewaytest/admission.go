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
func (b *Backend) FillQueue(n int) {
	b.t.Helper()
	for i := range n {
		err := b.Deps.Bus.Publish(b.t.Context(), bus.Message{
			Stage: bus.Ingest, Lane: bus.Batch, Unit: "document",
			Task: &busv1.IngestTask{Unit: &busv1.Unit{Tenant: "default", Job: "j" + strconv.Itoa(i), Run: 1}},
		})
		if err != nil {
			b.t.Fatalf("publish: %v", err)
		}
	}
}

// WantRetryAfter makes sure that a refused client is told when to come back.
func (c *Client) WantRetryAfter() {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.BaseURL+"/v1/jobs",
		strings.NewReader("%PDF-1.7"))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", rest.PDFType)
	res, err := c.Web.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Retry-After"); res.StatusCode != http.StatusTooManyRequests || got != "2" {
		c.t.Errorf("got %d with Retry-After %q, want 429 with 2", res.StatusCode, got)
	}
	stream, err := c.RPC.UploadDocument(c.t.Context())
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
		c.t.Errorf("retry delay over gRPC: got %s, want 2 s", delay)
	}
}
