package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Server: "http://example.com/ink/", Authorization: "Bearer x"})
	if err != nil {
		t.Fatal(err)
	}
	at := timestamppb.New(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	for _, tt := range []struct {
		method           string
		in               proto.Message
		verb, path, body string
	}{
		{
			inkstreamv1.InkstreamService_GetJob_FullMethodName,
			&inkstreamv1.GetJobRequest{Id: "a/b?c", Wait: durationpb.New(30 * time.Second)},
			"GET", "/ink/v1/jobs/a%2Fb%3Fc?wait=30s", "",
		},
		{inkstreamv1.InkstreamService_CancelJob_FullMethodName, &inkstreamv1.CancelJobRequest{Id: "x"}, "POST",
			"/ink/v1/jobs/x:cancel", ""},
		{inkstreamv1.InkstreamService_RetryJob_FullMethodName, &inkstreamv1.RetryJobRequest{Id: "x", All: true}, "POST",
			"/ink/v1/jobs/x:retry?all=true", ""},
		{
			inkstreamv1.InkstreamService_DownloadArtifact_FullMethodName,
			&inkstreamv1.DownloadArtifactRequest{Id: "x", Name: "tables/1-2.csv"},
			"GET", "/ink/v1/jobs/x/artifacts/tables/1-2.csv", "",
		},
		{
			inkstreamv1.InkstreamService_ListJobs_FullMethodName,
			&inkstreamv1.ListJobsRequest{PageSize: 5, Filter: &inkstreamv1.JobFilter{
				State: []inkstreamv1.Job_State{inkstreamv1.Job_FAILED, inkstreamv1.Job_PARTIAL}, Label: []string{"a=b&c"},
				CreateAfter: at,
			}},
			"GET",
			"/ink/v1/jobs?filter.create_after=2026-11-21T12%3A00%3A00Z&filter.label=a%3Db%26c&filter.state=FAILED&filter.state=PARTIAL&page_size=5", "",
		},
		{
			inkstreamv1.InkstreamService_DeleteJobs_FullMethodName,
			&inkstreamv1.BatchJobsRequest{Filter: &inkstreamv1.JobFilter{Filename: "x"}},
			"POST", "/ink/v1/jobs:delete", `{"filter":{"filename":"x"}}`,
		},
	} {
		req, err := c.newRequest(t.Context(), tt.method, tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.method, err)
			continue
		}
		body := ""
		if req.Body != nil {
			data, err := io.ReadAll(req.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = strings.ReplaceAll(string(data), " ", "")
		}
		if req.Method != tt.verb || req.URL.RequestURI() != tt.path || body != tt.body ||
			req.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("%s: got %s %s %s, want %s %s %s", tt.method, req.Method, req.URL.RequestURI(), body, tt.verb, tt.path,
				tt.body)
		}
	}
	for _, in := range []*inkstreamv1.DownloadArtifactRequest{{Id: "x", Name: "../y"}, {Id: "x", Name: "a//b"},
		{Id: "", Name: "a"}} {
		if _, err := c.newRequest(t.Context(), inkstreamv1.InkstreamService_DownloadArtifact_FullMethodName,
			in); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: got %v, want INVALID_ARGUMENT", in, err)
		}
	}
}

// Every option of an upload is a field of the form, under its own name.
func TestFormFields(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, f := range formFields(&inkstreamv1.UploadMetadata{
		Filename: "a.pdf", WebhookUrl: "https://example.com/", Labels: map[string]string{"a": "b,c"},
		Options: &inkstreamv1.JobOptions{
			Lane: "batch", Languages: "eng", DocumentTimeout: durationpb.New(90 * time.Second),
			PageTimeout: durationpb.New(time.Second), StallTimeout: durationpb.New(time.Minute), Ocr: "force", Pages: "1-2",
			Deskew: proto.Bool(false), Rotate: "none", Engine: "auto", Artifacts: []string{"text", "json"}, Tables: proto.Bool(true),
			AllowSignatureInvalidation: true, ChunkWords: 200, Dedupe: proto.Bool(false), RawCsv: true, LeanJson: true,
			Retention: durationpb.New(1500 * time.Millisecond), Password: "secret",
		},
	}) {
		got[f[0]] = f[1]
	}
	want := map[string]string{
		"filename": "a.pdf", "webhook_url": "https://example.com/", "labels": `{"a":"b,c"}`, "lane": "batch",
		"languages": "eng", "document_timeout": "1m30s", "page_timeout": "1s", "stall_timeout": "1m0s", "ocr": "force",
		"pages": "1-2", "deskew": "false", "rotate": "none", "engine": "auto", "artifacts": "text,json", "tables": "true",
		"allow_signature_invalidation": "true", "chunk_words": "200", "raw_csv": "true", "lean_json": "true", "dedupe": "false", "retention": "1.5s",
		"password": "secret",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for f := range (&inkstreamv1.JobOptions{}).ProtoReflect().Descriptor().Fields().Len() {
		name := (&inkstreamv1.JobOptions{}).ProtoReflect().Descriptor().Fields().Get(f).Name()
		if _, ok := got[string(name)]; !ok {
			t.Errorf("option %s is no field of the form", name)
		}
	}
	if got := formFields(&inkstreamv1.UploadMetadata{Filename: "a.pdf", Options: &inkstreamv1.JobOptions{}}); len(got) != 1 {
		t.Errorf("nothing set: got %v, want the file's name alone", got)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://", "http://a b"} {
		if _, err := New(Config{Server: bad}); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	answer := func(status int, header map[string]string, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	own := func(code string, status int) string {
		data, err := json.Marshal(map[string]any{"error": map[string]any{"code": code, "message": "what is wrong",
			"status": status}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		code    codes.Code
		says    string
	}{
		{"own error", answer(404, nil, own("JOB_NOT_FOUND", 404)), codes.NotFound, "what is wrong"},
		{"gone", answer(410, nil, own("JOB_DELETED", 410)), codes.FailedPrecondition, "what is wrong"},
		{"conflict of keys", answer(409, nil, own("IDEMPOTENCY_CONFLICT", 409)), codes.AlreadyExists, "what is wrong"},
		{"not yet", answer(202, map[string]string{"Retry-After": "1"}, own("NOT_READY", 202)), codes.FailedPrecondition,
			"what is wrong"},
		{"busy", answer(429, map[string]string{"Retry-After": "7"}, "slow down"), codes.ResourceExhausted, "HTTP status 429"},
		{"a proxy's error", answer(502, nil, "<html>bad gateway</html>"), codes.Unavailable,
			"not one of an Inkstream server"},
		{"another server", answer(200, nil, "<html>hello</html>"), codes.Internal, "not one of an Inkstream server"},
		{"sent elsewhere", answer(302, map[string]string{"Location": "https://login.example.com/"}, ""), codes.Unavailable,
			"login.example.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			conn, err := New(Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = inkstreamv1.NewInkstreamServiceClient(conn).GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: "x"})
			if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %s and %q", err, tt.code, tt.says)
			}
			if wait := tt.name == "busy" || tt.name == "not yet"; wait != (len(status.Convert(err).Details()) > 0) {
				t.Errorf("got details %v, want the time to wait: %t", status.Convert(err).Details(), wait)
			}
		})
	}
}
