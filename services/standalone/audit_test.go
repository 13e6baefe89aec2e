package standalone_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

// path is a way that a job can go.
type path struct {
	name string
	// walk takes a job along it, and returns its id.
	walk func(t *testing.T, p *pipeline) string
	want string
}

// done uploads a document and returns its id when it has ended.
func (p *pipeline) done(t *testing.T, f pdftest.File, opts *inkstreamv1.JobOptions) string {
	t.Helper()
	return p.through(t, f.Name, f.PDF, opts).GetId()
}

// started uploads a document of scans, and returns its id when they are about to be recognised, which takes a while.
func (p *pipeline) started(t *testing.T) string {
	t.Helper()
	f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2})
	j, err := p.upload(t.Context(), f.Name, f.PDF, nil)
	if err != nil {
		t.Fatal(err)
	}
	bustest.EventuallyWithin(t, 20*time.Second, "it is scanned",
		func() bool { return strings.HasSuffix(p.eventTypes(t, j.GetId()), "scanned") })
	return j.GetId()
}

// letterOf takes a job's source away during a retry of the whole job, and returns the job and the dead letter of its
// scan.
func (p *pipeline) letterOf(t *testing.T) (id, letter string) {
	t.Helper()
	id = p.done(t, pdftest.BornDigital(1), nil)
	source := filepath.Join(p.dir, "default", id, "source.pdf")
	if err := os.Rename(source, source+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: id, All: true}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	if _, err := p.finish(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(source+".away", source); err != nil {
		t.Fatal(err)
	}
	letters, err := p.ListDeadLetters(t.Context(), &inkstreamv1.ListDeadLettersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters.GetDeadLetters() {
		if l.GetJob() == id {
			return id, l.GetId()
		}
	}
	t.Fatal("no dead letter")
	return "", ""
}

func paths() []path {
	const failed = "uploaded ingested scanned chunk_done ended retried dead_lettered ended"
	return []path{
		{"done", func(t *testing.T, p *pipeline) string { return p.done(t, pdftest.BornDigital(1), nil) }, worked},
		{"refused by ingest", func(t *testing.T, p *pipeline) string { return p.done(t, pdftest.NotPDFFiles()[1], nil) },
			"uploaded ended"},
		{"refused by the gateway", func(t *testing.T, p *pipeline) string {
			res, err := http.Post(p.http+"/v1/jobs?colour=red", "application/pdf", strings.NewReader("%PDF"))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var body struct {
				Error struct {
					Details []struct {
						Metadata struct {
							Job string `json:"job"`
						} `json:"metadata"`
					} `json:"details"`
				} `json:"error"`
			}
			if err := json.NewDecoder(res.Body).Decode(&body); err != nil || len(body.Error.Details) == 0 {
				t.Fatalf("answer: %+v, %v", body, err)
			}
			return body.Error.Details[0].Metadata.Job
		}, "upload_refused"},
		{"a page fails, and is tried again", func(t *testing.T, p *pipeline) string {
			f := pdftest.HangingFile(pdftest.StallLoad)
			id := p.done(t, f, &inkstreamv1.JobOptions{PageTimeout: durationpb.New(2 * time.Second)})
			if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: id}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.finish(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return id
		}, "uploaded ingested scanned page_failed chunk_done ended retried page_failed chunk_done ended"},
		{"cancelled", func(t *testing.T, p *pipeline) string {
			id := p.started(t)
			if _, err := p.CancelJob(t.Context(), &inkstreamv1.CancelJobRequest{Id: id}); err != nil {
				t.Fatal(err)
			}
			return id
		}, "uploaded ingested scanned cancelled ended"},
		{"deleted at work", func(t *testing.T, p *pipeline) string {
			id := p.started(t)
			p.remove(t, id)
			return id
		}, "uploaded ingested scanned cancelled deleted"},
		{"deleted", func(t *testing.T, p *pipeline) string {
			id := p.done(t, pdftest.BornDigital(1), nil)
			p.remove(t, id)
			return id
		}, worked + " deleted"},
		{"expired", func(t *testing.T, p *pipeline) string {
			return p.expires(t, pdftest.BornDigital(1), 2*time.Second).GetId()
		}, worked + " expired"},
		{"deduplicated", func(t *testing.T, p *pipeline) string {
			f := pdftest.BornDigital(4)
			p.done(t, f, shared(nil))
			return p.done(t, f, shared(nil))
		}, "uploaded deduplicated ended"},
		{"dead-lettered", func(t *testing.T, p *pipeline) string {
			id, _ := p.letterOf(t)
			return id
		}, failed},
		{"replayed", func(t *testing.T, p *pipeline) string {
			id, letter := p.letterOf(t)
			if _, err := p.RetryDeadLetter(t.Context(), &inkstreamv1.RetryDeadLetterRequest{Id: letter}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.finish(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return id
		}, failed + " replayed retried scanned chunk_done ended"},
		{"dropped", func(t *testing.T, p *pipeline) string {
			id, letter := p.letterOf(t)
			if _, err := p.DropDeadLetter(t.Context(), &inkstreamv1.DropDeadLetterRequest{Id: letter}); err != nil {
				t.Fatal(err)
			}
			return id
		}, failed + " dead_letter_dropped"},
	}
}

// Whatever way a job goes, its trail says so, in order.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	p := configured(t, func(c *standalone.Config) { c.Reconcile.Interval = 200 * time.Millisecond })
	for _, tt := range paths() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := tt.walk(t, p)
			p.wantEventTypes(t, id, tt.want)
		})
	}
}
