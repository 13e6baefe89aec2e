package gatewaytest

import (
	"io"
	"net/http"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
)

// UnknownJob is the id of no job.
const UnknownJob job.ID = "01arz3ndektsv4rrffq69g5fav" // of 2016

// When is when the jobs of tests began.
var When = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// SetRunning makes a record of a job whose document of 5 pages has been cut.
func SetRunning(r *job.Record) {
	r.State, r.PageCount, r.ChunkPages, r.StartTime = job.Running, 5, 16, When
	r.Document = &job.Document{PDFVersion: "1.7", Title: "T"}
	r.Findings = []job.Finding{{Kind: "javascript", Count: 2, Policy: "flag"}}
	r.RecordStage("ingest", When, When.Add(time.Second))
	r.RecordStage("scan", When.Add(time.Second), When.Add(2*time.Second))
}

// ProgressOf stores the progress of a running job: page 2 failed, pages 1 and 3 are through.
func (b *Backend) ProgressOf(rec *job.Record) *job.Progress {
	b.t.Helper()
	p := job.NewProgress(rec.Run, rec.PageCount)
	if _, err := p.SetOutcomes([]job.Outcome{
		{Page: 1, Kind: outcome.Native}, {Page: 2, Kind: outcome.Failed, Code: fault.PageTimeout},
		{Page: 3, Kind: outcome.OCR},
	}); err != nil {
		b.t.Fatalf("progress: %v", err)
	}
	p.RecordStage("render", When.Add(2*time.Second), When.Add(5*time.Second))
	p.RecordStage("index", When.Add(3*time.Second), When.Add(4*time.Second))
	if err := b.Deps.Jobs.CreateProgress(b.t.Context(), rec.Tenant, rec.ID, p); err != nil {
		b.t.Fatalf("progress: %v", err)
	}
	return p
}

// SetFailed ends a job with an error.
func SetFailed(state job.State, code fault.Code) func(*job.Record) error {
	return func(r *job.Record) error {
		r.Error = &job.Fault{Code: code, Stage: "ingest", Message: code.DescribeCode()}
		return r.Transition(state, When.Add(time.Minute))
	}
}

// Get sends a GET request and returns the response, whose body has been read, and the body.
func (c *Client) Get(t *testing.T, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	return c.Do(t, http.MethodGet, path, header)
}

// Do is Get with another method.
func (c *Client) Do(t *testing.T, method, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.BaseURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := c.Web.Transport.RoundTrip(req) // no redirects
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

// NewEndedJob makes a job that succeeded, with artifacts.
func (b *Backend) NewEndedJob(artifacts map[string]string) *job.Record {
	b.t.Helper()
	return b.NewEndedJobAs(job.NewID(), artifacts)
}

// NewEndedJobAs makes an ended job with the given id. With an id of long ago, the answer that there is no such job
// comes without the wait for a replica that may not know it yet.
func (b *Backend) NewEndedJobAs(id job.ID, artifacts map[string]string) *job.Record {
	b.t.Helper()
	rec := b.NewJob(func(rec *job.Record) {
		SetRunning(rec)
		rec.ID = id
	})
	for name, data := range artifacts {
		b.PutBlob(job.ArtifactKey(rec.Tenant, rec.ID, rec.Run, name), data)
	}
	b.Update(rec, func(rec *job.Record) error {
		rec.Outcomes = map[string]int{outcome.Native: 5}
		return rec.Transition(job.Succeeded, When.Add(time.Minute))
	})
	return rec
}
