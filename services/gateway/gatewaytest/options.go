package gatewaytest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/upload"
)

// UploadWith uploads a document with options over gRPC.
func (c *Client) UploadWith(t *testing.T, opts *inkstreamv1.JobOptions) (*inkstreamv1.Job, error) {
	t.Helper()
	stream, err := c.RPC.UploadDocument(t.Context())
	if err != nil {
		return nil, RPCError(err)
	}
	// An error of Send is in the answer, too.
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{
		Metadata: &inkstreamv1.UploadMetadata{Options: opts},
	}})
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: []byte("%PDF-1.7")}})
	v, err := stream.CloseAndRecv()
	return v, RPCError(err)
}

// PostUpload sends a raw document.
func (c *Client) PostUpload(t *testing.T, path, data string) (*http.Response, string) {
	t.Helper()
	return c.PostUploadWithKey(t, path, data, "")
}

// PostUploadWithKey sends a raw document with an idempotency key.
func (c *Client) PostUploadWithKey(t *testing.T, path, data, key string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.BaseURL+path, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", rest.PDFType)
	if key != "" {
		req.Header.Set(upload.IdempotencyHeader, key)
	}
	res, err := c.Web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}
