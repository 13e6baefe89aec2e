package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// setRunning makes a record of a job whose document of 5 pages has been cut.
func setRunning(r *job.Record) {
	r.State, r.PageCount, r.ChunkPages, r.StartTime = job.Running, 5, 16, when
	r.Document = &job.Document{PDFVersion: "1.7", Title: "T"}
	r.Findings = []job.Finding{{Kind: "javascript", Count: 2, Policy: "flag"}}
	r.RecordStage("ingest", when, when.Add(time.Second))
	r.RecordStage("scan", when.Add(time.Second), when.Add(2*time.Second))
}

// progressOf stores the progress of a running job: page 2 failed, pages 1 and 3 are through.
func (r *fixture) progressOf(rec *job.Record) *job.Progress {
	r.t.Helper()
	p := job.NewProgress(rec.Run, rec.PageCount)
	if _, err := p.SetOutcomes([]job.Outcome{
		{Page: 1, Kind: job.OutcomeNative}, {Page: 2, Kind: job.OutcomeFailed, Code: fault.PageTimeout},
		{Page: 3, Kind: job.OutcomeOCR},
	}); err != nil {
		r.t.Fatalf("progress: %v", err)
	}
	p.RecordStage("render", when.Add(2*time.Second), when.Add(5*time.Second))
	p.RecordStage("index", when.Add(3*time.Second), when.Add(4*time.Second))
	if err := r.deps.Jobs.CreateProgress(r.t.Context(), rec.Tenant, rec.ID, p); err != nil {
		r.t.Fatalf("progress: %v", err)
	}
	return p
}

// setFailed ends a job with an error.
func setFailed(state job.State, code fault.Code) func(*job.Record) error {
	return func(r *job.Record) error {
		r.Error = &job.Fault{Code: code, Stage: "ingest", Message: code.DescribeCode()}
		return r.Transition(state, when.Add(time.Minute))
	}
}

func TestGetJobShowsProgressThenRecord(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	p := r.progressOf(rec)
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		v, err := a.job(t.Context(), strings.ToUpper(string(rec.ID)))
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetPageCount() != 5 || v.GetPagesDone() != 3 ||
			v.GetEndTime() != nil || v.GetError() != nil {
			t.Errorf("got %v", v)
		}
		if got, want := fmt.Sprint(v.GetOutcomes()), "map[failed:1 native_text:1 ocr:1]"; got != want {
			t.Errorf("got outcomes %s, want %s", got, want)
		}
		var stages []string
		for _, s := range v.GetStages() {
			stages = append(stages, fmt.Sprintf("%s %d %g %t", s.GetName(), s.GetUnitsDone(), s.GetBusySeconds(),
				s.GetEndTime() != nil))
		}
		if got, want := strings.Join(stages, ", "),
			"ingest 1 1 true, scan 1 1 true, render 1 3 false, index 1 1 false"; got != want {
			t.Errorf("got stages %s, want %s", got, want)
		}
		if f := v.GetFailures(); len(f) != 1 || f[0].GetPage() != 2 || f[0].GetReason() != "timeout" ||
			f[0].GetCode() != "PAGE_TIMEOUT" {
			t.Errorf("got failures %v, want page 2", f)
		}
	})
	if _, err := p.SetOutcomes([]job.Outcome{
		{Page: 4, Kind: job.OutcomeFailed, Code: fault.EngineCrashed},
		{Page: 5, Kind: job.OutcomeFailed, Code: fault.PageTimeout},
	}); err != nil {
		t.Fatal(err)
	}
	r.update(rec, func(rec *job.Record) error { return rec.FinishRun(p, when.Add(time.Minute)) })
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		v, err := a.job(t.Context(), string(rec.ID))
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_PARTIAL || v.GetPagesDone() != 5 || v.GetEndTime() == nil {
			t.Errorf("got %v, want PARTIAL with 5 pages", v)
		}
		var failures []string
		for _, f := range v.GetFailures() {
			failures = append(failures, fmt.Sprintf("%d %s", f.GetPage(), f.GetCode()))
		}
		if got, want := strings.Join(failures, ", "), "2 PAGE_TIMEOUT, 4 ENGINE_CRASHED, 5 PAGE_TIMEOUT"; got != want {
			t.Errorf("got failures %s, want %s", got, want)
		}
		for _, s := range v.GetStages() {
			if s.GetEndTime() == nil {
				t.Errorf("stage %s has no end in a job that has ended", s.GetName())
			}
		}
	})
}

func TestGetJobThatWasRejectedOrCutShort(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rejected := r.newJob(nil)
	r.update(rejected, setFailed(job.Rejected, fault.Encrypted))
	cut := r.newJob(setRunning)
	r.progressOf(cut)
	r.update(cut, setFailed(job.Failed, fault.DocumentTimeout))
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		v, err := a.job(t.Context(), string(rejected.ID))
		checkError(t, err, "")
		if e := v.GetError(); v.GetState() != inkstreamv1.Job_REJECTED || e.GetCode() != "ENCRYPTED" ||
			e.GetStage() != "ingest" || e.GetRetryable() {
			t.Errorf("got %v, want REJECTED as ENCRYPTED by ingest", v)
		}
		v, err = a.job(t.Context(), string(cut.ID))
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_FAILED || v.GetPagesDone() != 3 || !v.GetError().GetRetryable() {
			t.Errorf("got %v, want FAILED with the 3 pages that were through", v)
		}
	})
}

func TestJobJSONShowsZeroes(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(nil)
	res, body := r.get(t, "/v1/jobs/"+string(rec.ID), nil)
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got content type %q, want application/json", got)
	}
	for _, want := range []string{
		`"state": "PENDING"`, `"pageCount": 0`, `"pagesDone": 0`, `"outcomes": {}`, `"stages": []`, `"sizeBytes": 7`,
		`"createTime": "2`, `"lane": "interactive"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the JSON has no %s:\n%s", want, body)
		}
	}
	for _, unwanted := range []string{"null", `"error"`, `"endTime"`} {
		if strings.Contains(body, unwanted) {
			t.Errorf("the JSON has %s:\n%s", unwanted, body)
		}
	}
	if !strings.HasSuffix(body, "}\n") {
		t.Error("the JSON does not end with a line feed")
	}
}

// get is a bare GET.
func (r *fixture) get(t *testing.T, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	return r.do(t, http.MethodGet, path, header)
}

func (r *fixture) do(t *testing.T, method, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := r.web.Transport.RoundTrip(req) // no redirects
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	const old = "01arz3ndektsv4rrffq69g5fav" // a valid id of 2016
	for _, id := range []string{old, "x", "01arz3ndektsv4rrffq69g5fa", "../../etc", "job.default.*", "%00",
		strings.Repeat("a", 5000)} {
		eachAPI(t, r, func(t *testing.T, a testAPI) {
			_, err := a.job(t.Context(), id)
			checkError(t, err, fault.JobNotFound)
			_, err = a.artifacts(t.Context(), id)
			checkError(t, err, fault.JobNotFound)
			_, _, err = a.download(t.Context(), id, "text.txt")
			checkError(t, err, fault.JobNotFound)
			_, err = a.page(t.Context(), id, 1)
			checkError(t, err, fault.JobNotFound)
			err = a.watch(t.Context(), id, func(*inkstreamv1.Job) bool { return true })
			checkError(t, err, fault.JobNotFound)
		})
	}
	// One that might have been made this very moment is looked for a little longer.
	_, err := rpcAPI{r.rpc}.job(t.Context(), string(job.NewID()))
	checkError(t, err, fault.JobNotFound)
}

func TestJobThatAReplicaDoesNotKnowYetIsFound(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := &job.Record{ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending}
	time.AfterFunc(100*time.Millisecond, func() {
		if err := r.deps.Jobs.CreateRecord(t.Context(), rec); err != nil {
			t.Errorf("create: %v", err)
		}
	})
	_, err := rpcAPI{r.rpc}.job(t.Context(), string(rec.ID))
	checkError(t, err, "")
}

// newEndedJob makes a job that succeeded, with artifacts.
func (r *fixture) newEndedJob(artifacts map[string]string) *job.Record {
	r.t.Helper()
	return r.newEndedJobAs(job.NewID(), artifacts)
}

// newEndedJobAs makes an ended job with the given id. With an id of long ago, the answer that there is no such job
// comes without the wait for a replica that may not know it yet.
func (r *fixture) newEndedJobAs(id job.ID, artifacts map[string]string) *job.Record {
	r.t.Helper()
	rec := r.newJob(func(rec *job.Record) {
		setRunning(rec)
		rec.ID = id
	})
	for name, data := range artifacts {
		r.putBlob(job.ArtifactKey(rec.Tenant, rec.ID, rec.Run, name), data)
	}
	r.update(rec, func(rec *job.Record) error {
		rec.Outcomes = map[string]int{job.OutcomeNative: 5}
		return rec.Transition(job.Succeeded, when.Add(time.Minute))
	})
	return rec
}

func TestArtifactsAreListedAndDownloaded(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	large := strings.Repeat("0123456789abcdef", 40_000) // more than one message
	rec := r.newEndedJob(map[string]string{"text.txt": "one\ftwo\f", "document.json": large, "tables/1-1.csv": "a,b\n",
		"empty.txt": ""})
	r.putBlob(job.ArtifactKey(rec.Tenant, rec.ID, rec.Run+1, "later.txt"), "of another run")
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		list, err := a.artifacts(t.Context(), string(rec.ID))
		checkError(t, err, "")
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
			data, contentType, err := a.download(t.Context(), string(rec.ID), name)
			checkError(t, err, "")
			if string(data) != want || contentType == "" {
				t.Errorf("%s: got %d bytes of type %q, want %d", name, len(data), contentType, len(want))
			}
		}
		for _, name := range []string{
			"later.txt", "none", "", ".", "..", "/text.txt", "../../../source.pdf", "..%2f..%2fmanifest.json", "tables",
			"tables/", "tables/../text.txt",
			"text.txt\x00", `..\text.txt`, "t xt", strings.Repeat("a", 300),
		} {
			if _, rest := a.(restAPI); rest && (name == "" || name == "." || name == "..") {
				continue // other addresses
			}
			_, _, err := a.download(t.Context(), string(rec.ID), name)
			checkError(t, err, fault.ArtifactNotFound)
		}
	})
}

func TestArtifactsOfJobsWithoutResult(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	runs, rejected, failed, expired := r.newJob(setRunning), r.newJob(nil), r.newJob(setRunning), r.newEndedJob(nil)
	r.update(rejected, setFailed(job.Rejected, fault.NotAPDF))
	r.update(failed, setFailed(job.Failed, fault.AllPagesFailed))
	r.update(expired, func(rec *job.Record) error { return rec.Transition(job.Expired, when.Add(time.Hour)) })
	with := r.newJob(setRunning)
	r.putBlob(job.ArtifactKey(with.Tenant, with.ID, with.Run, "text.txt"), "\f")
	r.update(with, setFailed(job.Failed, fault.AllPagesFailed))
	cancelled := r.newJob(setRunning)
	r.putBlob(job.ArtifactKey(cancelled.Tenant, cancelled.ID, cancelled.Run, "images/1-1.jpg"), "jpg")
	r.update(cancelled, func(rec *job.Record) error { return rec.Transition(job.Cancelled, when.Add(time.Hour)) })
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
		{"succeeded without tables", r.newEndedJob(nil), "tables/1-1.csv", fault.ArtifactNotFound},
		{"expired", expired, "text.txt", jobExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachAPI(t, r, func(t *testing.T, a testAPI) {
				_, _, err := a.download(t.Context(), string(tt.rec.ID), tt.file)
				checkError(t, err, tt.want)
				if e, ok := errors.AsType[*apiError](err); ok && tt.rec == rejected && tt.want == fault.JobFailed &&
					!strings.Contains(e.text, "NOT_A_PDF") {
					t.Errorf("got %q, want it to name NOT_A_PDF", e.text)
				}
			})
		})
	}
	res, body := r.get(t, "/v1/jobs/"+string(runs.ID)+"/artifacts/text.txt", nil)
	if res.StatusCode != http.StatusAccepted || res.Header.Get("Retry-After") != "1" ||
		!strings.Contains(body, `"code": "NOT_READY"`) {
		t.Errorf("got %d, Retry-After %q, %s, want 202, 1 and NOT_READY", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		list, err := a.artifacts(t.Context(), string(runs.ID))
		if err != nil || len(list) > 0 {
			t.Errorf("a running job has artifacts %v (%v), want none", list, err)
		}
	})
}

func TestRESTDownloadHeaders(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newEndedJob(map[string]string{"text.txt": "0123456789"})
	path := "/v1/jobs/" + string(rec.ID) + "/artifacts/text.txt"
	res, body := r.get(t, path, nil)
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
		if res, body := r.do(t, tt.method, path, tt.header); res.StatusCode != tt.status || body != tt.body {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, res.StatusCode, body, tt.status, tt.body)
		}
	}
	r.storePageFor(rec)
	for _, path := range []string{path, "/v1/jobs/" + string(rec.ID) + "/pages/1"} {
		for _, part := range []string{"bytes=999999-", "bytes=x"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Range", part)
			res, err := r.web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			err = errorOf(res)
			res.Body.Close()
			checkError(t, err, rangeNotSatisfiable)
			h := res.Header
			if h.Get("Content-Disposition") != "" || h.Get("Content-Type") != jsonType || h.Get("Etag") != "" ||
				(part != "bytes=x") != (h.Get("Content-Range") != "") {
				t.Errorf("%s of %s: got the headers %v", part, path, h)
			}
		}
	}
}

func TestGetPage(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	r.progressOf(rec)
	half := float32(0.5)
	page := &inkstreamv1.Page{
		Number: 1, Width: 595.276, Height: 841.89, Outcome: job.OutcomeOCR, Text: "one two\nthree\n",
		Blocks: []*inkstreamv1.Block{{Type: "paragraph", Lines: []*inkstreamv1.Line{
			{Words: []*inkstreamv1.Word{{Text: "one", Bbox: []float32{1, 2, 3, 4}, Confidence: &half}, {Text: "two"}}},
			{Words: []*inkstreamv1.Word{{Text: "three"}}},
		}}},
	}
	data, err := protojson.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	r.putBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
	pending, rejected := r.newJob(nil), r.newJob(nil)
	r.update(rejected, setFailed(job.Rejected, fault.NotAPDF))
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		got, err := a.page(t.Context(), string(rec.ID), 1)
		checkError(t, err, "")
		var words []string
		for _, w := range got.GetWords() {
			words = append(words, fmt.Sprintf("%s %v %v", w.GetText(), w.GetBbox(), w.GetConfidence()))
		}
		if g, want := strings.Join(words, ", "), "one [1 2 3 4] 0.5, two [] 0, three [] 0"; g != want ||
			got.GetText() != page.GetText() {
			t.Errorf("got words %s, want %s", g, want)
		}
		got, err = a.page(t.Context(), string(rec.ID), 2)
		checkError(t, err, "")
		if got.GetOutcome() != job.OutcomeFailed || got.GetReason() != "timeout" ||
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
			_, err := a.page(t.Context(), string(tt.rec.ID), tt.n)
			checkError(t, err, tt.want)
		}
	})
	for _, n := range []string{"x", "1.5", "99999999999999999999", "0x1", "%20", "1e3"} {
		res, body := r.get(t, "/v1/jobs/"+string(rec.ID)+"/pages/"+n, nil)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code": "INVALID_ARGUMENT"`) {
			t.Errorf("page %s: got %d %s, want 400 and INVALID_ARGUMENT", n, res.StatusCode, body)
		}
	}
	r.update(rec, setFailed(job.Failed, fault.DocumentTimeout))
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		_, err := a.page(t.Context(), string(rec.ID), 1)
		checkError(t, err, "")
		_, err = a.page(t.Context(), string(rec.ID), 4)
		checkError(t, err, fault.JobFailed)
	})
}

func TestPageOfOtherRunIsNotShown(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(func(rec *job.Record) { setRunning(rec); rec.Run = 2 })
	r.putBlob(job.PageKey(rec.Tenant, rec.ID, 1, 1), `{"number":1,"text":"old"}`)
	old := *rec
	old.Run = 1
	r.progressOf(&old)
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		_, err := a.page(t.Context(), string(rec.ID), 1)
		checkError(t, err, fault.NotReady)
		v, err := a.job(t.Context(), string(rec.ID))
		checkError(t, err, "")
		if v.GetPagesDone() != 0 || v.GetRun() != 2 {
			t.Errorf("got %d pages of run %d, want none of run 2", v.GetPagesDone(), v.GetRun())
		}
	})
}
