package ingest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/stage/stagetest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/ingest"
)

func TestMain(m *testing.M) { stagetest.RunTests(m) }

type fixture struct{ *stagetest.Fixture }

// newFixture starts the service. A plan, if there is one, says what goes wrong in the blob store.
func newFixture(t *testing.T, plan blobtest.Plan, change func(*ingest.Config)) *fixture {
	t.Helper()
	cfg := ingest.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	return &fixture{stagetest.New(t, bus.Ingest, plan, func(deps stage.Deps, engine *pdf.Engine) (*ingest.Service, error) {
		return ingest.New(cfg, deps, engine)
	})}
}

// addJob stores a document and the record of its job, as the gateway does.
func (f *fixture) addJob(t *testing.T, document []byte, change func(*job.Record)) *job.Record {
	t.Helper()
	rec := stagetest.NewRecord(document, job.Pending)
	if change != nil {
		change(rec)
	}
	f.AddJob(t, rec, document)
	return rec
}

// publishTask sends the job's task; replay sets it apart from an earlier one.
func (f *fixture) publishTask(t *testing.T, rec *job.Record, replay int) {
	t.Helper()
	unit, source := stagetest.UnitOf(rec)
	f.PublishTask(t, &busv1.IngestTask{Unit: unit, Source: source}, replay)
}

// runTask sends the job's task, waits until the service is done with it, and returns the job.
func (f *fixture) runTask(t *testing.T, rec *job.Record, replay int) *job.Record {
	t.Helper()
	f.publishTask(t, rec, replay)
	f.AwaitIdle(t)
	return f.LoadJob(t, rec.ID)
}

func (f *fixture) scanTasks(t *testing.T) []*busv1.ScanTask {
	t.Helper()
	return stagetest.ReadQueue(t, f.Fixture, bus.Scan, func() *busv1.ScanTask { return &busv1.ScanTask{} })
}

func TestOpenedDocumentGoesToScan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	document := pdftest.BornDigital(3)
	rec := f.addJob(t, document.PDF, nil)
	got := f.runTask(t, rec, 0)
	if got.State != job.Running || got.PageCount != 3 || got.Document == nil || got.StartTime.IsZero() {
		t.Errorf("job: got %s, %d pages, document %+v, started %s; want RUNNING, 3, its facts, a time", got.State,
			got.PageCount, got.Document, got.StartTime)
	}
	tasks := f.scanTasks(t)
	if len(tasks) != 1 {
		t.Fatalf("tasks of scan: got %d, want 1", len(tasks))
	}
	want := &busv1.ScanTask{
		Unit:   &busv1.Unit{Tenant: rec.Tenant, Job: string(rec.ID), Run: 1},
		Source: &busv1.Blob{Key: job.SourceKey(rec.Tenant, rec.ID), Size: rec.Size, Sha256: rec.SHA256},
	}
	if !proto.Equal(tasks[0], want) {
		t.Errorf("task of scan: got %v, want %v", tasks[0], want)
	}
	for _, key := range []string{job.ManifestKey(rec.Tenant, rec.ID), job.InfoKey(rec.Tenant, rec.ID, 1)} {
		if data, err := f.Deps.Blobs.ReadBytes(t.Context(), key, 1<<20); err != nil || len(data) == 0 {
			t.Errorf("%s: got %d bytes, %v; want it there", key, len(data), err)
		}
	}
	f.CheckEvents(t, rec.ID, "uploaded", "ingested")
}

func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, func(c *ingest.Config) { c.MaxPages = 4 })
	encrypted := pdftest.EncryptedFile(pdftest.AES)
	seal := func(password string) func(*job.Record) {
		return func(r *job.Record) {
			r.Protected, r.Sealed = true, f.Deps.Sealer.SealSecret(r.Tenant, r.ID, password)
		}
	}
	for _, tt := range []struct {
		name     string
		document []byte
		change   func(*job.Record)
		want     fault.Code
	}{
		{name: "no bytes", document: nil, want: fault.EmptyFile},
		{name: "no PDF", document: []byte("<!DOCTYPE html><title>Sign in</title>"), want: fault.NotAPDF},
		{name: "no pages", document: pdftest.WithoutPages().PDF, want: fault.NoPages},
		{name: "no catalogue", document: pdftest.WithoutCatalogue().PDF, want: fault.Damaged},
		{name: "encrypted", document: encrypted.PDF, want: fault.Encrypted},
		{name: "wrong password", document: encrypted.PDF, change: seal("not it"), want: fault.WrongPassword},
		{name: "too many pages", document: pdftest.ManyPages(5).PDF, want: fault.TooManyPages},
		{name: "selection beyond the last page", document: pdftest.BornDigital(2).PDF,
			change: func(r *job.Record) { r.Options.Pages = "3-4" }, want: fault.InvalidPages},
	} {
		rec := f.addJob(t, tt.document, tt.change)
		got := f.runTask(t, rec, 0)
		if got.State != job.Rejected || got.Error == nil || got.Error.Code != tt.want || got.Sealed != "" {
			t.Errorf("%s: got %s, %+v; want REJECTED, %s, and no sealed password", tt.name, got.State, got.Error, tt.want)
		}
		f.CheckEvents(t, rec.ID, "uploaded", "ended")
	}
	if tasks := f.scanTasks(t); len(tasks) != 0 {
		t.Errorf("tasks of scan: got %v, want none", tasks)
	}
}

func TestPasswordOpensEncryptedDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	document := pdftest.EncryptedFile(pdftest.AES)
	rec := f.addJob(t, document.PDF, func(r *job.Record) {
		r.Protected, r.Sealed = true, f.Deps.Sealer.SealSecret(r.Tenant, r.ID, document.Password)
	})
	got := f.runTask(t, rec, 0)
	if got.State != job.Running || got.PageCount != len(document.Pages) || got.Document == nil || !got.Document.Encrypted {
		t.Errorf("got %s, %d pages, document %+v; want RUNNING, %d, encrypted", got.State, got.PageCount, got.Document,
			len(document.Pages))
	}
}

// What the store gives back must be what was uploaded.
func TestSourceIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	for _, tt := range []struct {
		name  string
		spoil func(key string) error
		want  fault.Code
	}{
		{"gone", func(key string) error { return f.Deps.Blobs.Delete(t.Context(), key) }, fault.SourceMissing},
		{"another", func(key string) error {
			return f.Deps.Blobs.PutBytes(t.Context(), key, pdftest.BornDigital(2).PDF, "application/pdf")
		}, fault.SourceChanged},
	} {
		rec := f.addJob(t, pdftest.BornDigital(1).PDF, nil)
		if err := tt.spoil(job.SourceKey(rec.Tenant, rec.ID)); err != nil {
			t.Fatal(err)
		}
		if got := f.runTask(t, rec, 0); got.State != job.Failed || got.Error == nil || got.Error.Code != tt.want {
			t.Errorf("%s: got %s, %+v; want FAILED, %s", tt.name, got.State, got.Error, tt.want)
		}
	}
	if tasks := f.scanTasks(t); len(tasks) != 0 {
		t.Errorf("tasks of scan: got %v, want none", tasks)
	}
}

func TestDuplicateFollowsJobThatDoesTheWork(t *testing.T) {
	t.Parallel()
	document := pdftest.BornDigital(2).PDF
	for _, tt := range []struct {
		name  string
		end   job.State // how the first job ends
		check func(t *testing.T, f *fixture, first, second *job.Record)
	}{
		{"it succeeds: its results are taken over", job.Succeeded, func(t *testing.T, f *fixture, first, second *job.Record) {
			if second.State != job.Running || second.DuplicateOf != first.ID || second.Follows != "" {
				t.Errorf("got %s, duplicate of %q, follows %q; want RUNNING, %s, none", second.State, second.DuplicateOf,
					second.Follows, first.ID)
			}
			if n := len(f.scanTasks(t)); n != 1 {
				t.Errorf("tasks of scan: got %d, want that of the first job alone", n)
			}
			// An index task of the second job tells index to take the results over.
			if n := f.QueueLength(t, bus.Index); n != 1 {
				t.Errorf("tasks of index: got %d, want 1", n)
			}
		}},
		{"it fails: the work is done after all", job.Failed, func(t *testing.T, f *fixture, _, second *job.Record) {
			if second.State != job.Running || second.DuplicateOf != "" || second.PageCount != 2 {
				t.Errorf("got %s, duplicate of %q, %d pages; want RUNNING, none, 2", second.State, second.DuplicateOf,
					second.PageCount)
			}
			if n := len(f.scanTasks(t)); n != 2 {
				t.Errorf("tasks of scan: got %d, want one of each job", n)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil, nil)
			first := f.runTask(t, f.addJob(t, document, nil), 0)
			second := f.runTask(t, f.addJob(t, document, nil), 0)
			if second.State != job.Pending || second.Follows != first.ID || second.PageCount != 0 {
				t.Fatalf("meanwhile: got %s, follows %q, %d pages; want PENDING, %s, 0", second.State, second.Follows,
					second.PageCount, first.ID)
			}
			f.CheckEvents(t, second.ID, "uploaded", "following")
			f.EndJob(t, first.ID, tt.end)
			tt.check(t, f, first, f.runTask(t, second, 1))
		})
	}
}

func TestJobsThatShareNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	document := pdftest.BornDigital(1).PDF
	f.runTask(t, f.addJob(t, document, nil), 0)
	for name, change := range map[string]func(*job.Record){
		"not to be deduplicated": func(r *job.Record) { r.Options.Dedupe = job.TurnedOff() },
		"other options":          func(r *job.Record) { r.Options.Tables = job.TurnedOff() },
	} {
		if got := f.runTask(t, f.addJob(t, document, change), 0); got.State != job.Running || got.PageCount != 1 ||
			got.Follows != "" || got.DuplicateOf != "" {
			t.Errorf("%s: got %s, %d pages, follows %q, duplicate of %q; want its own work", name, got.State, got.PageCount,
				got.Follows, got.DuplicateOf)
		}
	}
	if n := len(f.scanTasks(t)); n != 3 {
		t.Errorf("tasks of scan: got %d, want 3", n)
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
	rec := f.addJob(t, pdftest.BornDigital(2).PDF, nil)
	first := f.runTask(t, rec, 0)
	second := f.runTask(t, rec, 1)
	if second.State != job.Running || !second.StartTime.Equal(first.StartTime) ||
		second.Stages["ingest"] != first.Stages["ingest"] {
		t.Errorf("got %s, started %s, %+v; want RUNNING, %s, %+v", second.State, second.StartTime,
			second.Stages["ingest"], first.StartTime, first.Stages["ingest"])
	}
	if n := len(opened); n != 1 {
		t.Errorf("the document was opened %d times, want 1", n)
	}
	if n := len(f.scanTasks(t)); n != 1 {
		t.Errorf("tasks of scan: got %d, want 1", n)
	}
	f.CheckEvents(t, rec.ID, "uploaded", "ingested")
}

func TestStoreThatFailsOnceCostsNothing(t *testing.T) {
	t.Parallel()
	for _, op := range []blobtest.Op{blobtest.Open, blobtest.Commit} {
		t.Run(op.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, blobtest.FailFirst(1, op, errors.New("no answer")), nil)
			rec := f.addJob(t, pdftest.BornDigital(1).PDF, nil)
			if got := f.runTask(t, rec, 0); got.State != job.Running || got.PageCount != 1 {
				t.Errorf("got %s, %d pages, %+v; want RUNNING, 1", got.State, got.PageCount, got.Error)
			}
			if n := len(f.scanTasks(t)); n != 1 {
				t.Errorf("tasks of scan: got %d, want 1", n)
			}
		})
	}
}

func TestCancelledJobIsNotOpened(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, nil)
	rec := f.addJob(t, pdftest.BornDigital(1).PDF, nil)
	f.EndJob(t, rec.ID, job.Cancelled)
	if got := f.runTask(t, rec, 0); got.State != job.Cancelled || got.PageCount != 0 {
		t.Errorf("got %s, %d pages; want CANCELLED, 0", got.State, got.PageCount)
	}
	if n := len(f.scanTasks(t)); n != 0 {
		t.Errorf("tasks of scan: got %d, want 0", n)
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
	rec := f.addJob(t, pdftest.BornDigital(1).PDF, nil)
	f.publishTask(t, rec, 0)
	select {
	case <-reading:
	case <-time.After(time.Minute):
		t.Fatal("the document is not opened within a minute")
	}
	f.EndJob(t, rec.ID, job.Cancelled)
	f.AwaitIdle(t)
	if got := f.LoadJob(t, rec.ID); got.State != job.Cancelled || got.PageCount != 0 {
		t.Errorf("got %s, %d pages; want CANCELLED, 0", got.State, got.PageCount)
	}
	if n := len(f.scanTasks(t)); n != 0 {
		t.Errorf("tasks of scan: got %d, want 0", n)
	}
}
