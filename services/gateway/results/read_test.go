package results_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
)

func TestArtifactsAreListedAndDownloaded(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	large := strings.Repeat("0123456789abcdef", 40_000) // more than one message
	rec := r.NewEndedJob(map[string]string{"text.txt": "one\ftwo\f", "document.json": large, "tables/1-1.csv": "a,b\n",
		"empty.txt": ""})
	r.PutBlob(job.ArtifactKey(rec.Tenant, rec.ID, rec.Run+1, "later.txt"), "of another run")
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		list, err := a.Artifacts(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		var got []string
		for _, x := range list {
			got = append(got, fmt.Sprintf("%s %s %d %t", x.GetName(), x.GetContentType(), x.GetSizeBytes(),
				x.GetCreateTime() != nil))
		}
		want := "document.json application/json 640000 true; empty.txt text/plain; charset=utf-8 0 true; " +
			"tables/1-1.csv text/csv; charset=utf-8 4 true; text.txt text/plain; charset=utf-8 8 true"
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("got artifacts %s, want %s", g, want)
		}
		for name, want := range map[string]string{"text.txt": "one\ftwo\f", "document.json": large,
			"tables/1-1.csv": "a,b\n", "empty.txt": ""} {
			data, contentType, err := a.Download(t.Context(), string(rec.ID), name)
			gatewaytest.CheckError(t, err, "")
			if string(data) != want || contentType == "" {
				t.Errorf("%s: got %d bytes of type %q, want %d", name, len(data), contentType, len(want))
			}
		}
		for _, name := range []string{
			"later.txt", "none", "", ".", "..", "/text.txt", "../../../source.pdf", "..%2f..%2fmanifest.json", "tables",
			"tables/", "tables/../text.txt",
			"text.txt\x00", `..\text.txt`, "t xt", strings.Repeat("a", 300),
		} {
			if _, rest := a.(gatewaytest.RESTAPI); rest && (name == "" || name == "." || name == "..") {
				continue // other addresses
			}
			_, _, err := a.Download(t.Context(), string(rec.ID), name)
			gatewaytest.CheckError(t, err, fault.ArtifactNotFound)
		}
	})
}

func TestArtifactsOfJobsWithoutResult(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	runs, rejected, failed, expired := r.NewJob(gatewaytest.SetRunning), r.NewJob(nil), r.NewJob(gatewaytest.SetRunning), r.NewEndedJob(nil)
	r.Update(rejected, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
	r.Update(failed, gatewaytest.SetFailed(job.Failed, fault.AllPagesFailed))
	r.Update(expired, func(rec *job.Record) error { return rec.Transition(job.Expired, gatewaytest.When.Add(time.Hour)) })
	with := r.NewJob(gatewaytest.SetRunning)
	r.PutBlob(job.ArtifactKey(with.Tenant, with.ID, with.Run, "text.txt"), "\f")
	r.Update(with, gatewaytest.SetFailed(job.Failed, fault.AllPagesFailed))
	cancelled := r.NewJob(gatewaytest.SetRunning)
	r.PutBlob(job.ArtifactKey(cancelled.Tenant, cancelled.ID, cancelled.Run, "images/1-1.jpg"), "jpg")
	r.Update(cancelled, func(rec *job.Record) error { return rec.Transition(job.Cancelled, gatewaytest.When.Add(time.Hour)) })
	for _, tt := range []struct {
		name string
		rec  *job.Record
		file string
		want fault.Code
	}{
		{"running", runs, "text.txt", fault.NotReady},
		{"rejected", rejected, "text.txt", fault.JobFailed},
		{"failed", failed, "text.txt", fault.JobFailed},
		{"failed with artifacts", with, "text.txt", ""},
		{"failed with other artifacts", with, "document.json", fault.JobFailed},
		{"failed, a name that no job has", with, "document.docx", fault.ArtifactNotFound},
		{"rejected, a name that no job has", rejected, "document.docx", fault.ArtifactNotFound},
		{"cancelled with an image", cancelled, "images/1-1.jpg", ""},
		{"cancelled before its text", cancelled, "text.txt", fault.JobFailed},
		{"cancelled before its other images", cancelled, "images/1-2.jpg", fault.JobFailed},
		{"cancelled before its tables", cancelled, "tables/12-1.csv", fault.JobFailed},
		{"cancelled before its attachments", cancelled, "attachments/1-a b.txt", fault.ArtifactNotFound},
		{"cancelled before its hOCR", cancelled, "hocr/1.html", fault.JobFailed},
		{"cancelled, an image that none can be", cancelled, "images/one.jpg", fault.ArtifactNotFound},
		{"cancelled, below a file", cancelled, "text.txt/1", fault.ArtifactNotFound},
		{"succeeded without tables", r.NewEndedJob(nil), "tables/1-1.csv", fault.ArtifactNotFound},
		{"expired", expired, "text.txt", apierror.JobExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
				_, _, err := a.Download(t.Context(), string(tt.rec.ID), tt.file)
				gatewaytest.CheckError(t, err, tt.want)
				if e, ok := errors.AsType[*gatewaytest.APIError](err); ok && tt.rec == rejected && tt.want == fault.JobFailed &&
					!strings.Contains(e.Text, "NOT_A_PDF") {
					t.Errorf("got %q, want it to name NOT_A_PDF", e.Text)
				}
			})
		})
	}
	res, body := r.Get(t, "/v1/jobs/"+string(runs.ID)+"/artifacts/text.txt", nil)
	if res.StatusCode != http.StatusAccepted || res.Header.Get("Retry-After") != "1" ||
		!strings.Contains(body, `"code": "NOT_READY"`) {
		t.Errorf("got %d, Retry-After %q, %s, want 202, 1 and NOT_READY", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		list, err := a.Artifacts(t.Context(), string(runs.ID))
		if err != nil || len(list) > 0 {
			t.Errorf("a running job has artifacts %v (%v), want none", list, err)
		}
	})
}

func TestRESTDownloadHeaders(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewEndedJob(map[string]string{"text.txt": "0123456789"})
	path := "/v1/jobs/" + string(rec.ID) + "/artifacts/text.txt"
	res, body := r.Get(t, path, nil)
	for k, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Content-Length": "10", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": "attachment; filename=text.txt", "Accept-Ranges": "bytes",
	} {
		if got := res.Header.Get(k); got != want {
			t.Errorf("%s: got %q, want %q", k, got, want)
		}
	}
	if body != "0123456789" {
		t.Errorf("got %q", body)
	}
	etag := res.Header.Get("Etag")
	for _, tt := range []struct {
		name, method string
		header       map[string]string
		status       int
		body         string
	}{
		{"range", http.MethodGet, map[string]string{"Range": "bytes=2-4"}, http.StatusPartialContent, "234"},
		{"same etag", http.MethodGet, map[string]string{"If-None-Match": etag}, http.StatusNotModified, ""},
		{"other etag", http.MethodGet, map[string]string{"If-None-Match": `"x"`}, http.StatusOK, "0123456789"},
		{"head", http.MethodHead, nil, http.StatusOK, ""},
	} {
		if res, body := r.Do(t, tt.method, path, tt.header); res.StatusCode != tt.status || body != tt.body {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, res.StatusCode, body, tt.status, tt.body)
		}
	}
	r.StorePageFor(rec)
	for _, path := range []string{path, "/v1/jobs/" + string(rec.ID) + "/pages/1"} {
		for _, part := range []string{"bytes=999999-", "bytes=x"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.BaseURL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Range", part)
			res, err := r.Web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			err = gatewaytest.ErrorOf(res)
			res.Body.Close()
			gatewaytest.CheckError(t, err, apierror.RangeNotSatisfiable)
			h := res.Header
			if h.Get("Content-Disposition") != "" || h.Get("Content-Type") != rest.JSONType || h.Get("Etag") != "" ||
				(part != "bytes=x") != (h.Get("Content-Range") != "") {
				t.Errorf("%s of %s: got the headers %v", part, path, h)
			}
		}
	}
}

func TestGetPage(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(rec)
	half := float32(0.5)
	page := &inkstreamv1.Page{
		Number: 1, Width: 595.276, Height: 841.89, Outcome: outcome.OCR, Text: "one two\nthree\n",
		Blocks: []*inkstreamv1.Block{{Type: "paragraph", Lines: []*inkstreamv1.Line{
			{Words: []*inkstreamv1.Word{{Text: "one", Bbox: []float32{1, 2, 3, 4}, Confidence: &half}, {Text: "two"}}},
			{Words: []*inkstreamv1.Word{{Text: "three"}}},
		}}},
	}
	data, err := protojson.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
	pending, rejected := r.NewJob(nil), r.NewJob(nil)
	r.Update(rejected, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		got, err := a.Page(t.Context(), string(rec.ID), 1)
		gatewaytest.CheckError(t, err, "")
		var words []string
		for _, w := range got.GetWords() {
			words = append(words, fmt.Sprintf("%s %v %v", w.GetText(), w.GetBbox(), w.GetConfidence()))
		}
		if g, want := strings.Join(words, ", "), "one [1 2 3 4] 0.5, two [] 0, three [] 0"; g != want ||
			got.GetText() != page.GetText() {
			t.Errorf("got words %s, want %s", g, want)
		}
		got, err = a.Page(t.Context(), string(rec.ID), 2)
		gatewaytest.CheckError(t, err, "")
		if got.GetOutcome() != outcome.Failed || got.GetReason() != "timeout" ||
			got.GetError().GetCode() != "PAGE_TIMEOUT" {
			t.Errorf("got %v, want that the page failed", got)
		}
		for _, tt := range []struct {
			rec  *job.Record
			n    int
			want fault.Code
		}{
			{rec, 4, fault.NotReady}, {rec, 6, fault.PageNotFound}, {rec, 1<<31 - 1, fault.PageNotFound},
			{rec, 0, fault.InvalidArgument},
			{rec, -1, fault.InvalidArgument}, {pending, 1, fault.NotReady}, {rejected, 1, fault.JobFailed},
		} {
			_, err := a.Page(t.Context(), string(tt.rec.ID), tt.n)
			gatewaytest.CheckError(t, err, tt.want)
		}
	})
	for _, n := range []string{"x", "1.5", "99999999999999999999", "0x1", "%20", "1e3"} {
		res, body := r.Get(t, "/v1/jobs/"+string(rec.ID)+"/pages/"+n, nil)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code": "INVALID_ARGUMENT"`) {
			t.Errorf("page %s: got %d %s, want 400 and INVALID_ARGUMENT", n, res.StatusCode, body)
		}
	}
	r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		_, err := a.Page(t.Context(), string(rec.ID), 1)
		gatewaytest.CheckError(t, err, "")
		_, err = a.Page(t.Context(), string(rec.ID), 4)
		gatewaytest.CheckError(t, err, fault.JobFailed)
	})
}

func TestPageOfOtherRunIsNotShown(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(func(rec *job.Record) { gatewaytest.SetRunning(rec); rec.Run = 2 })
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, 1, 1), `{"number":1,"text":"old"}`)
	old := *rec
	old.Run = 1
	r.ProgressOf(&old)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		_, err := a.Page(t.Context(), string(rec.ID), 1)
		gatewaytest.CheckError(t, err, fault.NotReady)
		v, err := a.Job(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		if v.GetPagesDone() != 0 || v.GetRun() != 2 {
			t.Errorf("got %d pages of run %d, want none of run 2", v.GetPagesDone(), v.GetRun())
		}
	})
}

// A page by itself has the Markdown that the document's has of it: of a document with a title, headings stand below it.
func TestPageAsMarkdown(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewEndedJob(nil)
	words := func(texts ...string) []*inkstreamv1.Line {
		l := &inkstreamv1.Line{}
		for _, text := range texts {
			l.Words = append(l.Words, &inkstreamv1.Word{Text: text})
		}
		return []*inkstreamv1.Line{l}
	}
	data, err := document.EncodePage(&inkstreamv1.Page{Number: 1, Width: 100, Height: 200, Outcome: outcome.Native, Blocks: []*inkstreamv1.Block{
		{Type: "header", Lines: words("Running", "head")}, {Type: "heading", Level: 1, Lines: words("Findings")},
		{Type: "paragraph", Lines: words("Two", "*stars*.")},
	}}, &document.Evidence{})
	if err != nil {
		t.Fatal(err)
	}
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tt := range []struct {
			title bool
			want  string
		}{{false, "# Findings\n\nTwo \\*stars\\*."}, {true, "## Findings\n\nTwo \\*stars\\*."}} {
			plan := document.NewPlan(nil, nil)
			plan.Title = tt.title
			r.PutBlob(job.PlanKey(rec.Tenant, rec.ID, rec.Run), string(plan.EncodePages(1)))
			got := &httpbody.HttpBody{}
			gatewaytest.CheckError(t, call(t.Context(), "", "GetPageMarkdown", &inkstreamv1.GetPageRequest{Id: string(rec.ID), Number: 1}, got), "")
			if string(got.GetData()) != tt.want || got.GetContentType() != "text/markdown; charset=utf-8" {
				t.Errorf("with a title %t: got %q of type %q, want %q", tt.title, got.GetData(), got.GetContentType(), tt.want)
			}
		}
		err := call(t.Context(), "", "GetPageMarkdown", &inkstreamv1.GetPageRequest{Id: string(rec.ID), Number: 9}, &httpbody.HttpBody{})
		gatewaytest.CheckError(t, err, fault.PageNotFound)
	})
}
