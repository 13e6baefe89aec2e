package upload_test

import (
	"bufio"
	"fmt"
	"io"
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
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/upload"
	"inkstream.dev/services/gateway/webhook"
)

// An error about a file of a batch says which it is.
func TestBatchWithAnEmptyFile(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	files := [][2]string{{"a.pdf", "%PDF a"}, {"dir/b.pdf", ""}, {"c.pdf", "%PDF c"}}
	code, _, body := r.PostForm("", "/v1/jobs", "empty", files, nil)
	if code != http.StatusUnprocessableEntity ||
		!strings.Contains(string(body), `file 2 of the form, \"b.pdf\", has no bytes`) {
		t.Errorf("got %d %s, want 422 that names the file", code, body)
	}
	if n := r.Records(); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

// Requests that name the same batch are one batch, whichever way their documents come.
func TestBatchOfSeveralRequests(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(o *gatewaytest.Options) {
		gatewaytest.WithIndex(t)(o)
		gatewaytest.WithTus(t)(o)
	})
	r.StartProjection()
	batch := string(job.NewID())
	if code, _, body := r.PostForm("", "/v1/jobs", "", [][2]string{{"a.pdf", "%PDF a"}, {"b.pdf", "%PDF b"}},
		map[string]string{"batch": strings.ToUpper(batch)}); code != http.StatusAccepted {
		t.Fatalf("form: got %d %s", code, body)
	}
	res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "%PDF c", map[string]string{
		upload.TusLengthHeader: "6", "Upload-Metadata": gatewaytest.MetadataOf("filename", "c.pdf", "batch", batch),
		"Content-Type": "application/offset+octet-stream",
	})
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("resumable upload: got %d %s", res.StatusCode, body)
	}
	stream, err := r.RPC.UploadDocument(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*inkstreamv1.UploadDocumentRequest{
		{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: &inkstreamv1.UploadMetadata{Filename: "d.pdf", Batch: batch}}},
		{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: []byte("%PDF d")}},
	} {
		if err := stream.Send(part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, "a batch of four", func() bool {
		b, err := r.RPC.GetBatch(t.Context(), &inkstreamv1.GetBatchRequest{Id: batch})
		return err == nil && len(b.GetJobs()) == 4 && b.GetStates()["PENDING"] == 4
	})
	for _, bad := range []string{"monday", strings.Repeat("z", 26), batch + "0"} {
		code, _, body := r.PostForm("", "/v1/jobs", "", [][2]string{{"a.pdf", "%PDF a"}}, map[string]string{"batch": bad})
		if code != http.StatusBadRequest || !strings.Contains(string(body), "want a ULID") {
			t.Errorf("batch %q: got %d %s, want 400", bad, code, body)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	r.StartProjection()
	files := [][2]string{{"a.pdf", "%PDF a"}, {"dir/b.pdf", "%PDF b"}, {"c.pdf", "%PDF c"}}
	options := map[string]string{"lane": "batch", "labels": "case=17, by=me"}
	code, h, body := r.PostForm("", "/v1/jobs", "all", files, options)
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
	code, h, body = r.PostForm("", "/v1/jobs", "all", files, options)
	again := &inkstreamv1.Batch{}
	if err := protojson.Unmarshal(body, again); err != nil || code != http.StatusAccepted ||
		h.Get(upload.ReplayedHeader) != "true" || again.GetId() != b.GetId() {
		t.Errorf("repeated: got %d %v %s, %v", code, h, body, err)
	}
	if code, _, body := r.PostForm("", "/v1/jobs", "all", files[:2], options); code != http.StatusConflict {
		t.Errorf("repeated with fewer files: got %d %s, want 409", code, body)
	}
	if n := r.Records(); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		got := &inkstreamv1.Batch{}
		gatewaytest.CheckError(t, call(t.Context(), "", "GetBatch", &inkstreamv1.GetBatchRequest{Id: b.GetId()}, got), "")
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
			gatewaytest.CheckError(t, call(t.Context(), "", "ListJobs", &inkstreamv1.ListJobsRequest{Filter: f, PageSize: 10}, list), "")
			if len(list.GetJobs()) != 3 {
				t.Errorf("list of %v: got %v, want three jobs", f, list)
			}
			for _, v := range list.GetJobs() { // what only the record knows
				if v.GetSizeBytes() == 0 || v.GetRun() != 1 {
					t.Errorf("list of %v: got %v, want its size and run 1", f, v)
				}
			}
		}
		gatewaytest.CheckError(t, call(t.Context(), "", "GetBatch", &inkstreamv1.GetBatchRequest{Id: "none"}, &inkstreamv1.Batch{}),
			apierror.NotFound)
	})
	// A single upload gets into the list as well, a moment later.
	v, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF d"), Filename: "d.pdf"})
	gatewaytest.CheckError(t, err, "")
	gatewaytest.Eventually(t, "the upload is listed", func() bool {
		list, err := r.RPC.ListJobs(t.Context(),
			&inkstreamv1.ListJobsRequest{Filter: &inkstreamv1.JobFilter{Filename: "D.PDF"}})
		return err == nil && len(list.GetJobs()) == 1 && list.GetJobs()[0].GetId() == v.GetId()
	})
}

func TestLabelsAndWebhooksOfUploads(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.Access.WebhookSecret = config.NewSecret(webhook.NewSecret()) })
	many := map[string]string{}
	for i := range upload.MaxLabels + 1 {
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
		{"private address", nil, "http://127.0.0.1/hook", apierror.WebhookForbidden},
		{"metadata address", nil, "http://169.254.169.254/latest", apierror.WebhookForbidden},
		{"other scheme", nil, "file:///etc/passwd", apierror.WebhookForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := gatewaytest.UploadWith(t.Context(), r.RPC, &inkstreamv1.UploadMetadata{Labels: tc.labels, WebhookUrl: tc.webhook},
				"%PDF")
			gatewaytest.CheckError(t, err, tc.want)
			if err == nil {
				rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId()))
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
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Cfg.MaxUploadBytes = 1000
		s.Cfg.Sources = upload.Sources{"file://" + allowed, "s3://bucket/folder?endpoint=http://127.0.0.1:1"}
	})
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tc := range []struct {
			source string
			want   fault.Code
		}{
			{"file://" + allowed + "/in/scan%201.pdf", ""},
			{"file://" + allowed + "/inside.pdf", ""}, // a link within the folder
			{"file://" + allowed + "/none.pdf", apierror.SourceMissing},
			{"file://" + allowed + "/in", apierror.SourceMissing},
			{"file://" + allowed + "/link.pdf", apierror.SourceMissing},
			{"file://" + allowed + "/folder/secret.pdf", apierror.SourceMissing},
			{"file://" + allowed + "/pipe.pdf", apierror.SourceMissing},
			{"file://" + allowed + "/empty.pdf", fault.EmptyFile},
			{"file://" + allowed + "/large.pdf", fault.TooLarge},
			{"file://" + allowed + "/in/../in/scan%201.pdf", apierror.SourceNotAllowed},
			{"file://" + allowed + "/../" + filepath.Base(outside) + "/secret.pdf", apierror.SourceNotAllowed},
			{"file://" + allowed + "/%2e%2e/" + filepath.Base(outside) + "/secret.pdf", apierror.SourceNotAllowed},
			{"file://" + allowed + "x/sibling.pdf", apierror.SourceNotAllowed},
			{"file://" + allowed, apierror.SourceNotAllowed},
			{"file://elsewhere" + allowed + "/in/scan%201.pdf", apierror.SourceNotAllowed},
			{"file://" + outside + "/secret.pdf", apierror.SourceNotAllowed},
			{"file:///etc/passwd", apierror.SourceNotAllowed},
			{"s3://other/folder/a.pdf", apierror.SourceNotAllowed},
			{"s3://bucket/folder2/a.pdf", apierror.SourceNotAllowed},
			{"s3://bucket/folder/../other/a.pdf", apierror.SourceNotAllowed},
			{"http://127.0.0.1/a.pdf", apierror.SourceNotAllowed},
			{"s3://bucket/folder/a.pdf?endpoint=http://elsewhere", fault.InvalidArgument},
			{"s3://user:pass@bucket/folder/a.pdf", fault.InvalidArgument},
			{"\x01", fault.InvalidArgument},
			{"", fault.InvalidArgument},
		} {
			v := &inkstreamv1.Job{}
			err := call(t.Context(), "", "CreateJob",
				&inkstreamv1.CreateJobRequest{Source: tc.source, Labels: map[string]string{"a": "b"}}, v)
			if t.Run(tc.source, func(t *testing.T) { gatewaytest.CheckError(t, err, tc.want) }); tc.want != "" {
				continue
			}
			if v.GetSizeBytes() != 8 || v.GetLabels()["a"] != "b" || !strings.HasSuffix(v.GetFilename(), ".pdf") {
				t.Errorf("got %v", v)
			}
		}
		var ids [2]string
		for i := range ids {
			v := &inkstreamv1.Job{}
			gatewaytest.CheckError(t, call(t.Context(), "", "CreateJob",
				&inkstreamv1.CreateJobRequest{Source: "file://" + allowed + "/inside.pdf", IdempotencyKey: "k"}, v), "")
			ids[i] = v.GetId()
		}
		if ids[0] != ids[1] {
			t.Errorf("the same key made two jobs: %v", ids)
		}
	})
	for _, bad := range []string{"/folder", "http://x/y", "file://", "s3://", "file:///a?b=c", "s3://b?prefix=x"} {
		if err := new(upload.Sources).Set(bad); err == nil {
			t.Errorf("source %q is taken", bad)
		}
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	index := gatewaytest.WithIndex(t)
	file := filepath.Join(t.TempDir(), "admin")
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		index(s)
		s.Cfg.Access.Auth, s.Cfg.Access.AdminKeyFile = gateway.AuthKeys, file
	})
	r.StartProjection()
	admin, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, two := r.NewKey(strings.TrimSpace(string(admin)), `{"tenant":"jobs","scopes":["write"],"maxJobs":2}`)
	_, another := r.NewKey(strings.TrimSpace(string(admin)), `{"tenant":"jobs","scopes":["write"],"maxJobs":1}`)
	caller, bytes := r.NewKey(strings.TrimSpace(string(admin)),
		`{"tenant":"bytes","scopes":["write"],"maxBytesPerDay":"1000"}`)
	send := func(key, data string) (int, http.Header, []byte) {
		return r.RequestWithKey(http.MethodPost, "/v1/jobs", key, rest.PDFType, data)
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
	if _, err := gatewaytest.UploadWith(gatewaytest.WithKey(t.Context(), two), r.RPC, &inkstreamv1.UploadMetadata{}, "%PDF"); err == nil {
		t.Error("gRPC: an upload beyond the quota is taken")
	} else {
		gatewaytest.CheckError(t, err, apierror.QuotaExceeded)
	}
	refused(r.PostForm(two, "/v1/jobs", "", [][2]string{{"a", "%PDF"}, {"b", "%PDF"}}, nil))
	if _, err := r.Deps.JobService().EndJob(t.Context(), &job.Record{Tenant: "jobs", ID: job.ID(id), Run: 1}, job.Failed,
		&job.Fault{Code: fault.Internal}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	// Two at once are one too many; neither leaves anything of the place that it took.
	refused(r.PostForm(two, "/v1/jobs", "", [][2]string{{"a", "%PDF"}, {"b", "%PDF"}}, nil))
	gatewaytest.Eventually(t, "an end makes room", func() bool {
		code, _, _ := send(two, "%PDF")
		return code == http.StatusAccepted
	})
	// A gateway whose clock is ahead has counted some already, so that no midnight comes between the uploads.
	if room, err := r.Deps.Jobs.ConsumeQuota(t.Context(), "bytes", caller, 100, 1000,
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
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.MaxUploadBytes = 1000 })
	for _, tc := range []struct {
		name, head, want string
	}{
		{"too large", "Content-Type: application/pdf\r\nContent-Length: 2000\r\n", "413"},
		{"gzip", "Content-Type: application/pdf\r\nContent-Length: 10\r\nContent-Encoding: gzip\r\n", "415"},
		{"fine", "Content-Type: application/pdf\r\nContent-Length: 10\r\n", "100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(r.BaseURL, "http://"))
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
