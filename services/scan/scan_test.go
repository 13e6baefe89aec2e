package scan_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/stage/stagetest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/scan"
	"inkstream.dev/services/scan/clamd/clamdtest"
)

func TestMain(m *testing.M) { stagetest.RunTests(m) }

type fixture struct{ *stagetest.Fixture }

// newFixture starts the service. A plan, if there is one, says what goes wrong in the blob store.
func newFixture(t *testing.T, plan blobtest.Plan, change func(*scan.Config)) *fixture {
	t.Helper()
	cfg := scan.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	return &fixture{stagetest.New(t, bus.Scan, plan, func(deps stage.Deps, engine *pdf.Engine) (*scan.Service, error) {
		return scan.New(cfg, deps, engine)
	})}
}

// addJob stores a document and the record of its job, as gateway and ingest leave them.
func (f *fixture) addJob(t *testing.T, document pdftest.File, change func(*job.Record)) *job.Record {
	t.Helper()
	rec := stagetest.NewRecord(document.PDF, job.Running)
	rec.StartTime, rec.PageCount = time.Now(), len(document.Pages)
	if change != nil {
		change(rec)
	}
	f.AddJob(t, rec, document.PDF)
	return rec
}

// publishTask sends the job's task; replay sets it apart from an earlier one.
func (f *fixture) publishTask(t *testing.T, rec *job.Record, replay int) {
	t.Helper()
	unit, source := stagetest.UnitOf(rec)
	f.PublishTask(t, &busv1.ScanTask{Unit: unit, Source: source}, replay)
}

// runTask sends the job's task, waits until the service is done with it, and returns the job.
func (f *fixture) runTask(t *testing.T, rec *job.Record, replay int) *job.Record {
	t.Helper()
	f.publishTask(t, rec, replay)
	f.AwaitIdle(t)
	return f.LoadJob(t, rec.ID)
}

// renderTasks returns the tasks of render by chunk: they are published at the same time.
func (f *fixture) renderTasks(t *testing.T) []*busv1.RenderTask {
	t.Helper()
	tasks := stagetest.ReadQueue(t, f.Fixture, bus.Render, func() *busv1.RenderTask { return &busv1.RenderTask{} })
	slices.SortFunc(tasks, func(a, b *busv1.RenderTask) int { return cmp.Compare(a.GetChunk(), b.GetChunk()) })
	return tasks
}

func (f *fixture) loadProgress(t *testing.T, id job.ID) *job.Progress {
	t.Helper()
	_, p, _, err := f.Deps.Jobs.LastActivity(t.Context(), job.DefaultTenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDocumentIsCutIntoChunks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, func(c *scan.Config) { c.Window = 2 })
	rec := f.addJob(t, pdftest.ManyPages(40), nil)
	got := f.runTask(t, rec, 0)
	if got.State != job.Running || got.ChunkPages != scan.ChunkPages || got.Window != 2 || got.ChunkCount() != 3 {
		t.Errorf("job: got %s, %d chunks of %d pages, %d at once; want RUNNING, 3 of %d, 2", got.State, got.ChunkCount(),
			got.ChunkPages, got.Window, scan.ChunkPages)
	}
	if p := f.loadProgress(t, rec.ID); p.Run != 1 || len(p.Pages) != 40 || p.CountDonePages() != 0 {
		t.Errorf("progress: got run %d, %d pages, %d done; want 1, 40, 0", p.Run, len(p.Pages), p.CountDonePages())
	}
	tasks := f.renderTasks(t)
	if len(tasks) != 2 {
		t.Fatalf("tasks of render: got %d, want those of the 2 chunks in flight", len(tasks))
	}
	for i, task := range tasks {
		want := &busv1.RenderTask{
			Unit:   &busv1.Unit{Tenant: rec.Tenant, Job: string(rec.ID), Run: 1},
			Source: &busv1.Blob{Key: job.SourceKey(rec.Tenant, rec.ID), Size: rec.Size, Sha256: rec.SHA256},
			Chunk:  int32(i), FirstPage: int32(16*i + 1), LastPage: int32(16*i + 16),
		}
		if !proto.Equal(task, want) {
			t.Errorf("task of render: got %v, want %v", task, want)
		}
	}
	f.CheckEvents(t, rec.ID, "scanned")
}

func TestFindingsAreJudged(t *testing.T) {
	t.Parallel()
	policy, err := scan.ParsePolicy("launch_action=reject,uri_action=allow")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil, func(c *scan.Config) { c.Policy = policy })
	for _, tt := range []struct {
		name     string
		document pdftest.File
		kind     string // that is found
		action   string
		state    job.State
	}{
		{"flagged", pdftest.WithHazards(pdftest.JavaScript), "javascript", "flag", job.Running},
		{"allowed", pdftest.WithHazards(pdftest.URI), "uri_action", "allow", job.Running},
		{"rejected", pdftest.WithHazards(pdftest.Launch), "launch_action", "reject", job.Rejected},
		{"bomb", corpusFile(t, "hostile/own-bomb-flate-nested-1024MiB-a.pdf"), scan.KindBomb, "reject", job.Rejected},
	} {
		rec := f.addJob(t, tt.document, nil)
		got := f.runTask(t, rec, 0)
		found := slices.IndexFunc(got.Findings, func(f job.Finding) bool { return f.Kind == tt.kind })
		if got.State != tt.state || found < 0 || got.Findings[found].Policy != tt.action {
			t.Errorf("%s: got %s, findings %+v; want %s and %s: %s", tt.name, got.State, got.Findings, tt.state, tt.kind,
				tt.action)
		}
		if rejected := got.Error != nil && got.Error.Code == fault.PolicyReject; rejected != (tt.state == job.Rejected) {
			t.Errorf("%s: error %+v", tt.name, got.Error)
		}
		events := "scanned"
		if tt.state == job.Rejected {
			events = "ended"
		}
		f.CheckEvents(t, rec.ID, events)
	}
	if n := len(f.renderTasks(t)); n != 2 {
		t.Errorf("tasks of render: got %d, want one of each document that is not rejected", n)
	}
}

// corpusFile returns a document of the corpus, with as many pages as its manifest says.
func corpusFile(t *testing.T, path string) pdftest.File {
	t.Helper()
	f := pdftest.OpenCorpus(t).FileAt(path)
	data, err := os.ReadFile(f.Abs)
	if err != nil {
		t.Fatal(err)
	}
	return pdftest.File{Name: filepath.Base(path), PDF: data, Pages: make([]pdftest.Page, f.Pages)}
}

func TestPagesThatAreNotSelectedAreSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	rec := f.addJob(t, pdftest.ManyPages(20), func(r *job.Record) { r.Options.Pages = "2-3" })
	f.runTask(t, rec, 0)
	p := f.loadProgress(t, rec.ID)
	for n := 1; n <= 20; n++ {
		want := outcome.Skipped
		if n == 2 || n == 3 {
			want = ""
		}
		if got := p.PageOutcome(n); got != want {
			t.Errorf("page %d: outcome %q, want %q", n, got, want)
		}
		data, err := f.Deps.Blobs.ReadBytes(t.Context(), job.PageKey(rec.Tenant, rec.ID, 1, n), 1<<20)
		if stored := err == nil && len(data) > 0; stored != (want == outcome.Skipped) {
			t.Errorf("page %d: result of %d bytes, %v; want one where the page is skipped", n, len(data), err)
		}
	}
	// The second chunk has nothing to do.
	if tasks := f.renderTasks(t); len(tasks) != 1 || tasks[0].GetChunk() != 0 {
		t.Errorf("tasks of render: got %v, want that of chunk 0", tasks)
	}
}

func TestMalwareIsRejected(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t)
	f := newFixture(t, nil, func(c *scan.Config) { c.Clamd = server.TCP })
	infected := f.runTask(t, f.addJob(t, pdftest.File{PDF: clamdtest.EICAR(), Pages: make([]pdftest.Page, 1)}, nil), 0)
	want := []job.Finding{{Kind: scan.KindMalware, Count: 1, Policy: "reject", Detail: clamdtest.Signature}}
	if infected.State != job.Rejected || infected.Error.Code != fault.MalwareFound ||
		!slices.Equal(infected.Findings, want) {
		t.Errorf("infected: got %s, %+v, findings %+v; want REJECTED for malware, %+v", infected.State, infected.Error,
			infected.Findings, want)
	}
	if clean := f.runTask(t, f.addJob(t, pdftest.BornDigital(1), nil), 0); clean.State != job.Running ||
		clean.ChunkPages == 0 {
		t.Errorf("clean: got %s, chunks of %d pages, %+v; want RUNNING, cut", clean.State, clean.ChunkPages, clean.Error)
	}
}

func TestRedeliveredTaskChangesNothing(t *testing.T) {
	t.Parallel()
	opened := make(chan struct{}, 10)
	f := newFixture(t, func(op blobtest.Op, key string) blobtest.Fault {
		if op == blobtest.Open && strings.HasSuffix(key, "source.pdf") {
			opened <- struct{}{}
		}
		return blobtest.Fault{}
	}, nil)
	rec := f.addJob(t, pdftest.BornDigital(2), nil)
	first := f.runTask(t, rec, 0)
	second := f.runTask(t, rec, 1)
	if second.State != job.Running || second.Stages["scan"] != first.Stages["scan"] {
		t.Errorf("got %s, %+v; want RUNNING, %+v", second.State, second.Stages["scan"], first.Stages["scan"])
	}
	if n := len(opened); n != 1 {
		t.Errorf("the document was opened %d times, want 1", n)
	}
	if n := len(f.renderTasks(t)); n != 1 {
		t.Errorf("tasks of render: got %d, want 1", n)
	}
	f.CheckEvents(t, rec.ID, "scanned")
}

// A later run takes over the pages that have a result, and examines nothing.
func TestLaterRunTakesPagesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(op blobtest.Op, key string) blobtest.Fault {
		if op == blobtest.Open && strings.HasSuffix(key, "source.pdf") {
			t.Error("the document is opened again")
		}
		return blobtest.Fault{}
	}, nil)
	cut := func(r *job.Record) { r.Run, r.ChunkPages, r.Window = 2, scan.ChunkPages, scan.Window }
	rec := f.addJob(t, pdftest.ManyPages(40), cut)
	earlier := job.NewProgress(1, 40)
	var outcomes []job.Outcome
	for n := 1; n <= 16; n++ {
		outcomes = append(outcomes, job.Outcome{Page: n, Kind: outcome.Native})
	}
	outcomes = append(outcomes, job.Outcome{Page: 17, Kind: outcome.Failed, Code: fault.PageTimeout})
	if _, err := earlier.SetOutcomes(outcomes); err != nil {
		t.Fatal(err)
	}
	if err := f.Deps.Jobs.CreateProgress(t.Context(), rec.Tenant, rec.ID, earlier); err != nil {
		t.Fatal(err)
	}
	f.runTask(t, rec, 0)
	p := f.loadProgress(t, rec.ID)
	if p.Run != 2 || p.CountDonePages() != 16 || p.PageOutcome(17) != "" {
		t.Errorf("progress: got run %d, %d pages done, page 17 %q; want 2, 16, open", p.Run, p.CountDonePages(),
			p.PageOutcome(17))
	}
	if tasks := f.renderTasks(t); len(tasks) != 2 || tasks[0].GetChunk() != 1 || tasks[1].GetChunk() != 2 {
		t.Errorf("tasks of render: got %v, want those of chunks 1 and 2", tasks)
	}
}

func TestSourceIsMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	rec := f.addJob(t, pdftest.BornDigital(1), nil)
	if err := f.Deps.Blobs.Delete(t.Context(), job.SourceKey(rec.Tenant, rec.ID)); err != nil {
		t.Fatal(err)
	}
	if got := f.runTask(t, rec, 0); got.State != job.Failed || got.Error == nil || got.Error.Code != fault.SourceMissing {
		t.Errorf("got %s, %+v; want FAILED, %s", got.State, got.Error, fault.SourceMissing)
	}
}

func TestPasswordOpensEncryptedDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	document := pdftest.EncryptedFile(pdftest.AES)
	rec := f.addJob(t, document, func(r *job.Record) {
		r.Protected, r.Sealed = true, f.Deps.Sealer.SealSecret(r.Tenant, r.ID, document.Password)
	})
	if got := f.runTask(t, rec, 0); got.State != job.Running || got.ChunkPages == 0 {
		t.Errorf("got %s, chunks of %d pages, %+v; want RUNNING, cut", got.State, got.ChunkPages, got.Error)
	}
}

func TestStoreThatFailsOnceCostsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blobtest.FailFirst(1, blobtest.Open, errors.New("no answer")), nil)
	rec := f.addJob(t, pdftest.BornDigital(1), nil)
	if got := f.runTask(t, rec, 0); got.State != job.Running || got.ChunkPages == 0 {
		t.Errorf("got %s, chunks of %d pages, %+v; want RUNNING, cut", got.State, got.ChunkPages, got.Error)
	}
	if n := len(f.renderTasks(t)); n != 1 {
		t.Errorf("tasks of render: got %d, want 1", n)
	}
}

func TestCancellationStopsWorkInHand(t *testing.T) {
	t.Parallel()
	reading := make(chan struct{}, 1)
	f := newFixture(t, func(op blobtest.Op, key string) blobtest.Fault {
		if op != blobtest.Open || !strings.HasSuffix(key, "source.pdf") {
			return blobtest.Fault{}
		}
		reading <- struct{}{}
		return blobtest.Fault{Delay: 10 * time.Minute} // ends with the context
	}, nil)
	rec := f.addJob(t, pdftest.BornDigital(1), nil)
	f.publishTask(t, rec, 0)
	select {
	case <-reading:
	case <-time.After(time.Minute):
		t.Fatal("the document is not opened within a minute")
	}
	f.EndJob(t, rec.ID, job.Cancelled)
	f.AwaitIdle(t)
	if got := f.LoadJob(t, rec.ID); got.State != job.Cancelled || got.ChunkPages != 0 {
		t.Errorf("got %s, chunks of %d pages; want CANCELLED, 0", got.State, got.ChunkPages)
	}
	if n := len(f.renderTasks(t)); n != 0 {
		t.Errorf("tasks of render: got %d, want 0", n)
	}
}
