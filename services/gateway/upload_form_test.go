package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/webhook"
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

func (r *fixture) postForm(key, path, idempotency string, files [][2]string,
	fields map[string]string) (int, http.Header, []byte) {
	r.t.Helper()
	contentType, body := formOf(r.t, files, fields)
	resp, data := r.requestWithHead(http.MethodPost, path, key, body,
		map[string]string{"Content-Type": contentType, "Idempotency-Key": idempotency})
	return resp.StatusCode, resp.Header, data
}

// An error about a file of a batch says which it is.
func TestBatchWithAnEmptyFile(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	files := [][2]string{{"a.pdf", "%PDF a"}, {"dir/b.pdf", ""}, {"c.pdf", "%PDF c"}}
	code, _, body := r.postForm("", "/v1/jobs", "empty", files, nil)
	if code != http.StatusUnprocessableEntity ||
		!strings.Contains(string(body), `file 2 of the form, \"b.pdf\", has no bytes`) {
		t.Errorf("got %d %s, want 422 that names the file", code, body)
	}
	if n := r.records(); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withIndex(t))
	r.startProjection()
	files := [][2]string{{"a.pdf", "%PDF a"}, {"dir/b.pdf", "%PDF b"}, {"c.pdf", "%PDF c"}}
	options := map[string]string{"lane": "batch", "labels": "case=17, by=me"}
	code, h, body := r.postForm("", "/v1/jobs", "all", files, options)
	b := &inkstreamv1.Batch{}
	if err := protojson.Unmarshal(body, b); err != nil || code != http.StatusAccepted ||
		h.Get("Location") != "/v1/batches/"+b.GetId() {
		t.Fatalf("got %d %v %s, %v", code, h, body, err)
	}
	var ids []string
	for i, v := range b.GetJobs() {
		if v.GetFilename() != []string{"a.pdf", "b.pdf", "c.pdf"}[i] || v.GetOptions().GetLane() != "batch" ||
			v.GetBatch() != b.GetId() ||
			v.GetLabels()["case"] != "17" || v.GetLabels()["by"] != "me" {
			t.Errorf("job %d: got %v", i, v)
		}
		ids = append(ids, v.GetId())
	}
	if len(ids) != 3 || b.GetDone() || b.GetStates()["PENDING"] != 3 {
		t.Fatalf("got %v, want three jobs that wait", b)
	}
	// The same key stands for all of it; with fewer files it is another request.
	code, h, body = r.postForm("", "/v1/jobs", "all", files, options)
	again := &inkstreamv1.Batch{}
	if err := protojson.Unmarshal(body, again); err != nil || code != http.StatusAccepted ||
		h.Get(replayedHeader) != "true" || again.GetId() != b.GetId() {
		t.Errorf("repeated: got %d %v %s, %v", code, h, body, err)
	}
	if code, _, body := r.postForm("", "/v1/jobs", "all", files[:2], options); code != http.StatusConflict {
		t.Errorf("repeated with fewer files: got %d %s, want 409", code, body)
	}
	if n := r.records(); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
	eachCaller(t, r, func(t *testing.T, call caller) {
		got := &inkstreamv1.Batch{}
		checkError(t, call(t.Context(), "", "GetBatch", &inkstreamv1.GetBatchRequest{Id: b.GetId()}, got), "")
		var have []string
		for _, v := range got.GetJobs() {
			have = append(have, v.GetId())
		}
		if strings.Join(have, " ") != strings.Join(ids, " ") {
			t.Errorf("batch: got jobs %v, want %v", have, ids)
		}
		for _, f := range []*inkstreamv1.JobFilter{{Batch: b.GetId()}, {Label: []string{"case=17"}},
			{State: []inkstreamv1.Job_State{inkstreamv1.Job_PENDING}}} {
			list := &inkstreamv1.ListJobsResponse{}
			checkError(t, call(t.Context(), "", "ListJobs", &inkstreamv1.ListJobsRequest{Filter: f, PageSize: 10}, list), "")
			if len(list.GetJobs()) != 3 {
				t.Errorf("list of %v: got %v, want three jobs", f, list)
			}
			for _, v := range list.GetJobs() { // what only the record knows
				if v.GetSizeBytes() == 0 || v.GetRun() != 1 {
					t.Errorf("list of %v: got %v, want its size and run 1", f, v)
				}
			}
		}
		checkError(t, call(t.Context(), "", "GetBatch", &inkstreamv1.GetBatchRequest{Id: "none"}, &inkstreamv1.Batch{}),
			notFound)
	})
	// A single upload gets into the list as well, a moment later.
	v, err := rpcAPI{r.rpc}.upload(t.Context(), testUpload{data: strings.NewReader("%PDF d"), filename: "d.pdf"})
	checkError(t, err, "")
	eventually(t, "the upload is listed", func() bool {
		list, err := r.rpc.ListJobs(t.Context(),
			&inkstreamv1.ListJobsRequest{Filter: &inkstreamv1.JobFilter{Filename: "D.PDF"}})
		return err == nil && len(list.GetJobs()) == 1 && list.GetJobs()[0].GetId() == v.GetId()
	})
}

// uploadWith sends a document with metadata over gRPC.
func uploadWith(ctx context.Context, c inkstreamv1.InkstreamServiceClient, m *inkstreamv1.UploadMetadata,
	data string) (*inkstreamv1.Job, error) {
	stream, err := c.UploadDocument(ctx)
	if err != nil {
		return nil, rpcError(err)
	}
	// What fails here is told by CloseAndRecv.
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: m}})
	_ = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: []byte(data)}})
	v, err := stream.CloseAndRecv()
	return v, rpcError(err)
}

func TestLabelsAndWebhooksOfUploads(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) { s.cfg.Access.WebhookSecret = config.NewSecret(webhook.NewSecret()) })
	many := map[string]string{}
	for i := range maxLabels + 1 {
		many[fmt.Sprint("l", i)] = "x"
	}
	for _, tc := range []struct {
		name    string
		labels  map[string]string
		webhook string
		want    fault.Code
	}{
		{"labels", map[string]string{"case": "Ü 17", "empty": ""}, "", ""},
		{"webhook", nil, "https://example.org/hook", ""},
		{"too many labels", many, "", fault.InvalidArgument},
		{"label without a name", map[string]string{"": "x"}, "", fault.InvalidArgument},
		{"label of the server", map[string]string{job.BatchLabel: "x"}, "", fault.InvalidArgument},
		{"long value", map[string]string{"a": strings.Repeat("x", 64)}, "", fault.InvalidArgument},
		{"control character", map[string]string{"a": "x\n"}, "", fault.InvalidArgument},
		{"private address", nil, "http://127.0.0.1/hook", webhookForbidden},
		{"metadata address", nil, "http://169.254.169.254/latest", webhookForbidden},
		{"other scheme", nil, "file:///etc/passwd", webhookForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := uploadWith(t.Context(), r.rpc, &inkstreamv1.UploadMetadata{Labels: tc.labels, WebhookUrl: tc.webhook},
				"%PDF")
			checkError(t, err, tc.want)
			if err == nil {
				rec, err := r.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId()))
				if err != nil || rec.Webhook != tc.webhook || fmt.Sprint(rec.Labels) != fmt.Sprint(tc.labels) ||
					fmt.Sprint(v.GetLabels()) != fmt.Sprint(tc.labels) {
					t.Errorf("got %+v, %v, %v", rec, v.GetLabels(), err)
				}
			}
		})
	}
}

func TestCreateJobFromASource(t *testing.T) {
	t.Parallel()
	allowed, outside := t.TempDir(), t.TempDir()
	write := func(path, data string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(allowed+"/in/scan 1.pdf", "%PDF-1.7")
	write(allowed+"/empty.pdf", "")
	write(allowed+"/large.pdf", strings.Repeat("x", 2000))
	write(outside+"/secret.pdf", "%PDF")
	write(allowed+"x/sibling.pdf", "%PDF")
	t.Cleanup(func() { os.RemoveAll(allowed + "x") })
	for from, to := range map[string]string{outside + "/secret.pdf": "/link.pdf", outside: "/folder",
		"in/scan 1.pdf": "/inside.pdf"} {
		if err := os.Symlink(from, allowed+to); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(allowed+"/pipe.pdf", 0o600); err != nil {
		t.Fatal(err)
	}
	r := startGateway(t, func(s *fixtureOptions) {
		s.cfg.MaxUploadBytes = 1000
		s.cfg.Sources = Sources{"file://" + allowed, "s3://bucket/folder?endpoint=http://127.0.0.1:1"}
	})
	eachCaller(t, r, func(t *testing.T, call caller) {
		for _, tc := range []struct {
			source string
			want   fault.Code
		}{
			{"file://" + allowed + "/in/scan%201.pdf", ""},
			{"file://" + allowed + "/inside.pdf", ""}, // a link within the folder
			{"file://" + allowed + "/none.pdf", sourceMissing},
			{"file://" + allowed + "/in", sourceMissing},
			{"file://" + allowed + "/link.pdf", sourceMissing},
			{"file://" + allowed + "/folder/secret.pdf", sourceMissing},
			{"file://" + allowed + "/pipe.pdf", sourceMissing},
			{"file://" + allowed + "/empty.pdf", fault.EmptyFile},
			{"file://" + allowed + "/large.pdf", fault.TooLarge},
			{"file://" + allowed + "/in/../in/scan%201.pdf", sourceNotAllowed},
			{"file://" + allowed + "/../" + filepath.Base(outside) + "/secret.pdf", sourceNotAllowed},
			{"file://" + allowed + "/%2e%2e/" + filepath.Base(outside) + "/secret.pdf", sourceNotAllowed},
			{"file://" + allowed + "x/sibling.pdf", sourceNotAllowed},
			{"file://" + allowed, sourceNotAllowed},
			{"file://elsewhere" + allowed + "/in/scan%201.pdf", sourceNotAllowed},
			{"file://" + outside + "/secret.pdf", sourceNotAllowed},
			{"file:///etc/passwd", sourceNotAllowed},
			{"s3://other/folder/a.pdf", sourceNotAllowed},
			{"s3://bucket/folder2/a.pdf", sourceNotAllowed},
			{"s3://bucket/folder/../other/a.pdf", sourceNotAllowed},
			{"http://127.0.0.1/a.pdf", sourceNotAllowed},
			{"s3://bucket/folder/a.pdf?endpoint=http://elsewhere", fault.InvalidArgument},
			{"s3://user:pass@bucket/folder/a.pdf", fault.InvalidArgument},
			{"\x01", fault.InvalidArgument},
			{"", fault.InvalidArgument},
		} {
			v := &inkstreamv1.Job{}
			err := call(t.Context(), "", "CreateJob",
				&inkstreamv1.CreateJobRequest{Source: tc.source, Labels: map[string]string{"a": "b"}}, v)
			if t.Run(tc.source, func(t *testing.T) { checkError(t, err, tc.want) }); tc.want != "" {
				continue
			}
			if v.GetSizeBytes() != 8 || v.GetLabels()["a"] != "b" || !strings.HasSuffix(v.GetFilename(), ".pdf") {
				t.Errorf("got %v", v)
			}
		}
		var ids [2]string
		for i := range ids {
			v := &inkstreamv1.Job{}
			checkError(t, call(t.Context(), "", "CreateJob",
				&inkstreamv1.CreateJobRequest{Source: "file://" + allowed + "/inside.pdf", IdempotencyKey: "k"}, v), "")
			ids[i] = v.GetId()
		}
		if ids[0] != ids[1] {
			t.Errorf("the same key made two jobs: %v", ids)
		}
	})
	for _, bad := range []string{"/folder", "http://x/y", "file://", "s3://", "file:///a?b=c", "s3://b?prefix=x"} {
		if err := new(Sources).Set(bad); err == nil {
			t.Errorf("source %q is taken", bad)
		}
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	index := withIndex(t)
	file := filepath.Join(t.TempDir(), "admin")
	r := startGateway(t, func(s *fixtureOptions) {
		index(s)
		s.cfg.Access.Auth, s.cfg.Access.AdminKeyFile = AuthKeys, file
	})
	r.startProjection()
	admin, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, two := r.newKey(strings.TrimSpace(string(admin)), `{"tenant":"jobs","scopes":["write"],"maxJobs":2}`)
	_, another := r.newKey(strings.TrimSpace(string(admin)), `{"tenant":"jobs","scopes":["write"],"maxJobs":1}`)
	caller, bytes := r.newKey(strings.TrimSpace(string(admin)),
		`{"tenant":"bytes","scopes":["write"],"maxBytesPerDay":"1000"}`)
	send := func(key, data string) (int, http.Header, []byte) {
		return r.requestWithKey(http.MethodPost, "/v1/jobs", key, pdfType, data)
	}
	var id string
	for range 2 {
		code, _, body := send(two, "%PDF")
		v := &inkstreamv1.Job{}
		if err := protojson.Unmarshal(body, v); err != nil || code != http.StatusAccepted {
			t.Fatalf("got %d %s, %v", code, body, err)
		}
		id = v.GetId()
	}
	refused := func(code int, h http.Header, body []byte) {
		t.Helper()
		if code != http.StatusTooManyRequests || h.Get("Retry-After") == "" ||
			!strings.Contains(string(body), "QUOTA_EXCEEDED") {
			t.Errorf("beyond the quota: got %d %v %s", code, h, body)
		}
	}
	refused(send(two, "%PDF"))
	// Another key of the same tenant has its own.
	if code, _, body := send(another, "%PDF"); code != http.StatusAccepted {
		t.Errorf("another key: got %d %s", code, body)
	}
	refused(send(another, "%PDF"))
	if _, err := uploadWith(withKey(t.Context(), two), r.rpc, &inkstreamv1.UploadMetadata{}, "%PDF"); err == nil {
		t.Error("gRPC: an upload beyond the quota is taken")
	} else {
		checkError(t, err, quotaExceeded)
	}
	refused(r.postForm(two, "/v1/jobs", "", [][2]string{{"a", "%PDF"}, {"b", "%PDF"}}, nil))
	if _, err := r.deps.JobService().EndJob(t.Context(), &job.Record{Tenant: "jobs", ID: job.ID(id), Run: 1}, job.Failed,
		&job.Fault{Code: fault.Internal}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	// Two at once are one too many; neither leaves anything of the place that it took.
	refused(r.postForm(two, "/v1/jobs", "", [][2]string{{"a", "%PDF"}, {"b", "%PDF"}}, nil))
	eventually(t, "an end makes room", func() bool {
		code, _, _ := send(two, "%PDF")
		return code == http.StatusAccepted
	})
	// A gateway whose clock is ahead has counted some already, so that no midnight comes between the uploads.
	if room, err := r.deps.Jobs.ConsumeQuota(t.Context(), "bytes", caller, 100, 1000,
		time.Now().Add(36*time.Hour)); err != nil || !room {
		t.Fatalf("count bytes: %t, %v", room, err)
	}
	if code, _, body := send(bytes, strings.Repeat("x", 500)); code != http.StatusAccepted {
		t.Errorf("got %d %s", code, body)
	}
	before := time.Now()
	code, h, body := send(bytes, strings.Repeat("x", 600))
	refused(code, h, body)
	// The day has room again when it is over, in UTC.
	midnight := before.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if s, err := strconv.Atoi(h.Get("Retry-After")); err != nil || time.Duration(s)*time.Second < time.Until(midnight) ||
		time.Duration(s-1)*time.Second > midnight.Sub(before) {
		t.Errorf("Retry-After: got %q, %v, want the seconds until midnight, %s away", h.Get("Retry-After"), err,
			time.Until(midnight))
	}
	if code, _, body := send(bytes, strings.Repeat("x", 400)); code != http.StatusAccepted {
		t.Errorf("a refused upload was counted: got %d %s", code, body)
	}
}

// A client that asks first hears what is wrong before it sends a byte.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) { s.cfg.MaxUploadBytes = 1000 })
	for _, tc := range []struct {
		name, head, want string
	}{
		{"too large", "Content-Type: application/pdf\r\nContent-Length: 2000\r\n", "413"},
		{"gzip", "Content-Type: application/pdf\r\nContent-Length: 10\r\nContent-Encoding: gzip\r\n", "415"},
		{"fine", "Content-Type: application/pdf\r\nContent-Length: 10\r\n", "100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n%s\r\n",
				tc.head); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			line, err := in.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "HTTP/1.1 "+tc.want) {
				t.Fatalf("got %q, %v, want %s", line, err, tc.want)
			}
			if tc.want != "100" {
				return
			}
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "%PDF-1.7 x"); err != nil {
				t.Fatal(err)
			}
			if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 202") {
				t.Errorf("got %q, %v, want 202", line, err)
			}
		})
	}
}
