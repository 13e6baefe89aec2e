package gatewaytest

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// formOf returns a form of files, by name and bytes, and of fields.
func formOf(t testing.TB, files [][2]string, fields map[string]string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		part, err := w.CreateFormFile("file", f[0])
		if err == nil {
			_, err = io.WriteString(part, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

// PostForm sends a form with files, as pairs of name and content, and fields.
func (c *Client) PostForm(key, path, idempotency string, files [][2]string,
	fields map[string]string) (int, http.Header, []byte) {
	c.t.Helper()
	contentType, body := formOf(c.t, files, fields)
	resp, data := c.requestWithHead(http.MethodPost, path, key, body,
		map[string]string{"Content-Type": contentType, "Idempotency-Key": idempotency})
	return resp.StatusCode, resp.Header, data
}

// UploadWith sends a document with metadata over gRPC.
func UploadWith(ctx context.Context, c inkstreamv1.InkstreamServiceClient, m *inkstreamv1.UploadMetadata,
	data string) (*inkstreamv1.Job, error) {
	stream, err := c.UploadDocument(ctx)
	if err != nil {
		return nil, RPCError(err)
	}
	// What fails here is told by CloseAndRecv.
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: m}})
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: []byte(data)}})
	v, err := stream.CloseAndRecv()
	return v, RPCError(err)
}
