package e2e

import (
	"log/slog"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/telemetry"
)

// addWaitingJob writes the record of a job that no task was queued for: it waits, as one behind many others does.
func (s *server) addWaitingJob(t *testing.T, name string) string {
	t.Helper()
	id, _ := s.addJob(t, name, job.Pending, 0)
	return id
}

// addJob writes the record of a job that no task was queued for, so that its state stays.
func (s *server) addJob(t *testing.T, name string, state job.State, pages int) (string, *job.Store) {
	t.Helper()
	b, err := bus.Connect(s.nats, "e2e", slog.New(slog.DiscardHandler), telemetry.NewDiscard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	kv, err := b.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	r := &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: state, PageCount: pages, Filename: name, Size: 1000,
		CreateTime: now, ExpireTime: now.Add(time.Hour), Options: job.Options{Lane: string(bus.Batch), Dedupe: job.TurnedOff()},
	}
	store := job.NewStore(kv)
	if err := store.CreateRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return string(r.ID), store
}

// addRunningJob writes a job of eight pages, of which half were read in the last ten seconds.
func (s *server) addRunningJob(t *testing.T, name string) string {
	t.Helper()
	id, store := s.addJob(t, name, job.Running, 8)
	p := job.NewProgress(1, 8)
	end := time.Now().UTC()
	p.RecordStage(string(bus.Render), end.Add(-10*time.Second), end)
	for page := 1; page <= 4; page++ {
		if _, err := p.SetOutcomes([]job.Outcome{{Page: page, Kind: outcome.OCR}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.CreateProgress(t.Context(), job.DefaultTenant, job.ID(id), p); err != nil {
		t.Fatal(err)
	}
	return id
}

// A document that waits says how many are ahead of it, one that is worked on how long the rest will take. Of pages that
// failed it says why, and does just those again; what was read of the others can be read all the time.
func TestForecastAndRetryOfFailedPages(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.Context(), t.TempDir(), "--pdf.page-timeout", "1500ms", "--ocr.workers", "1", "--reconcile.patience", "1h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := openTab(t, s.url)
	b.open("/ui/jobs/" + s.addWaitingJob(t, "first.pdf"))
	b.waitText("[role=status]", "Next of yours in the queue.")
	b.open("/ui/jobs/" + s.addWaitingJob(t, "second.pdf"))
	b.waitText("[role=status]", "1 of your documents is ahead of it.")

	b.open("/ui/jobs/" + s.addRunningJob(t, "half.pdf"))
	b.waitText("[role=status]", "left, at the speed of its pages so far")

	id, err := s.upload(t.Context(), "hangs.pdf", pdftest.HangingFile(pdftest.StallLoad).PDF, "")
	if err != nil {
		t.Fatal(err)
	}
	b.open("/ui/jobs/" + id)
	b.waitText(".document-head .pill", "partial")
	b.waitText("section[aria-labelledby=failures] td", "took too long")
	b.click("button", "Retry the failed page")
	b.waitText(".document-head", "run 2")
	b.waitText(".document-head .pill", "running")
	page := "fetch('/v1/jobs/" + id + "/pages/1').then((r) => r.status)"
	if status := eval[int](b, page); status != 200 {
		t.Errorf("a page that was read answers %d during the retry of another, want 200", status)
	}
}
