package gateway

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestTimeoutOptions(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	for _, tt := range []struct {
		document, page string
		want           fault.Code
	}{
		{"", "", ""}, {"10m", "30s", ""}, {"", "1s", ""}, {"500ms", "", fault.InvalidOption},
		{"", "48h", fault.InvalidOption}, {"-1s", "", fault.InvalidOption},
	} {
		t.Run(tt.document+" "+tt.page, func(t *testing.T) {
			query := url.Values{}
			opts := &inkstreamv1.JobOptions{}
			for _, o := range []struct {
				name, value string
				into        **durationpb.Duration
			}{{"document_timeout", tt.document, &opts.DocumentTimeout}, {"page_timeout", tt.page, &opts.PageTimeout}} {
				if o.value == "" {
					continue
				}
				query.Set(o.name, o.value)
				d, err := time.ParseDuration(o.value)
				if err != nil {
					t.Fatal(err)
				}
				*o.into = durationpb.New(d)
			}
			overRPC, err := r.uploadWith(t, opts)
			checkError(t, err, tt.want)
			overREST := &inkstreamv1.Job{}
			res, body := r.postUpload(t, "/v1/jobs?"+query.Encode(), "%PDF-1.7")
			if tt.want != "" {
				if res.StatusCode != codeStatuses[tt.want].http || !strings.Contains(body, string(tt.want)) {
					t.Errorf("got %d %s, want %s", res.StatusCode, body, tt.want)
				}
				return
			}
			if err := protojson.Unmarshal([]byte(body), overREST); err != nil {
				t.Fatal(err)
			}
			for _, v := range []*inkstreamv1.Job{overRPC, overREST} {
				got := v.GetOptions()
				if !proto.Equal(got.GetDocumentTimeout(), opts.GetDocumentTimeout()) ||
					!proto.Equal(got.GetPageTimeout(), opts.GetPageTimeout()) {
					t.Errorf("got options %v, want %v", got, opts)
				}
			}
		})
	}
	if res, body := r.postUpload(t, "/v1/jobs?page_timeout=soon", "%PDF-1.7"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d %s, want 400", res.StatusCode, body)
	}
}

// uploadWith uploads a document with options over gRPC.
func (r *fixture) uploadWith(t *testing.T, opts *inkstreamv1.JobOptions) (*inkstreamv1.Job, error) {
	t.Helper()
	stream, err := r.rpc.UploadDocument(t.Context())
	if err != nil {
		return nil, rpcError(err)
	}
	// An error of Send is in the answer, too.
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{
		Metadata: &inkstreamv1.UploadMetadata{Options: opts},
	}})
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: []byte("%PDF-1.7")}})
	v, err := stream.CloseAndRecv()
	return v, rpcError(err)
}

// postUpload sends a raw document.
func (r *fixture) postUpload(t *testing.T, path, data string) (*http.Response, string) {
	t.Helper()
	return r.postUploadWithKey(t, path, data, "")
}

// postUploadWithKey sends a raw document with an idempotency key.
func (r *fixture) postUploadWithKey(t *testing.T, path, data, key string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+path, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", pdfType)
	if key != "" {
		req.Header.Set(idempotencyHeader, key)
	}
	res, err := r.web.Do(req)
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
