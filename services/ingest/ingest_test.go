package ingest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/ingest"
)

// startEngine starts PDFium in its children once for all tests.
var startEngine = sync.OnceValues(func() (*pdf.Engine, error) {
	cfg := pdf.DefaultConfig()
	cfg.Workers = 2
	cfg.CacheDir = filepath.Join(os.TempDir(), "inkstream-test-pdfium")
	return pdf.New(cfg, slog.New(slog.DiscardHandler))
})

func TestMain(m *testing.M) {
	sandbox.Main(pdf.Program())
	processtest.UsePlainChildren(sandbox.SetChildFile)
	code := m.Run()
	if engine, err := startEngine(); err == nil {
		engine.Close()
	}
	os.Exit(code)
}

// fixture is the ingest service between its queue and those of the stages after it, which are absent: what it
// publishes stays there.
type fixture struct {
	deps stage.Deps
}

// newFixture starts the service. A plan, if there is one, says what goes wrong in the blob store.
func newFixture(t *testing.T, plan blobtest.Plan, change func(*ingest.Config)) *fixture {
	t.Helper()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() }) // in memory
	sealer, err := job.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := startEngine()
	if err != nil {
		t.Fatalf("start the engine: %v", err)
	}
	tel := telemetry.NewDiscard()
	f := &fixture{deps: stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log,
		Sealer: sealer}}
	deps := f.deps
	if plan != nil {
		deps.Blobs = blobtest.NewFaultyStore(blobs, plan)
	}
	cfg := ingest.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := ingest.New(cfg, deps, engine)
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() { done <- s.Run(run, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return f
}

// addJob stores a document and the record of its job, as the gateway does.
func (f *fixture) addJob(t *testing.T, document []byte, change func(*job.Record)) *job.Record {
	t.Helper()
	sum := sha256.Sum256(document)
	rec := &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, CreateTime: time.Now(),
		Size: uint32(len(document)), SHA256: hex.EncodeToString(sum[:]),
		Options: job.Options{Lane: string(bus.Interactive)},
	}
	if change != nil {
		change(rec)
	}
	key := job.SourceKey(rec.Tenant, rec.ID)
	if err := f.deps.Blobs.PutBytes(t.Context(), key, document, "application/pdf"); err != nil {
		t.Fatal(err)
	}
	if err := f.deps.Jobs.CreateRecord(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

// publishTask sends the job's task; replay sets it apart from an earlier one.
func (f *fixture) publishTask(t *testing.T, rec *job.Record, replay int) {
	t.Helper()
	err := f.deps.Bus.Publish(t.Context(), bus.Message{Stage: bus.Ingest, Lane: bus.Interactive, Unit: "document",
		Replay: replay, Task: &busv1.IngestTask{
			Unit:   &busv1.Unit{Tenant: rec.Tenant, Job: string(rec.ID), Run: int32(rec.Run)},
			Source: &busv1.Blob{Key: job.SourceKey(rec.Tenant, rec.ID), Size: rec.Size, Sha256: rec.SHA256},
		}})
	if err != nil {
		t.Fatal(err)
	}
}

// runTask sends the job's task, waits until the service is done with it, and returns the job.
func (f *fixture) runTask(t *testing.T, rec *job.Record, replay int) *job.Record {
	t.Helper()
	f.publishTask(t, rec, replay)
	f.awaitIdle(t)
	return f.loadJob(t, rec.ID)
}

// awaitIdle waits until the service has settled every task.
func (f *fixture) awaitIdle(t *testing.T) {
	t.Helper()
	bustest.EventuallyWithin(t, time.Minute, "every task is settled", func() bool {
		return f.queueLength(t, bus.Ingest) == 0
	})
}

// queueLength returns how many tasks are in a stage's queue.
func (f *fixture) queueLength(t *testing.T, s bus.Stage) uint64 {
	t.Helper()
	stream, err := f.deps.Bus.JetStream().Stream(t.Context(), s.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func (f *fixture) loadJob(t *testing.T, id job.ID) *job.Record {
	t.Helper()
	rec, err := f.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// readQueue returns the tasks of a stage's queue, in their order.
func readQueue[T proto.Message](t *testing.T, f *fixture, s bus.Stage, newTask func() T) []T {
	t.Helper()
	stream, err := f.deps.Bus.JetStream().Stream(t.Context(), s.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	var tasks []T
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		task := newTask()
		if err := protojson.Unmarshal(msg.Data, task); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func (f *fixture) scanTasks(t *testing.T) []*busv1.ScanTask {
	t.Helper()
	return readQueue(t, f, bus.Scan, func() *busv1.ScanTask { return &busv1.ScanTask{} })
}

// checkEvents compares the types of the job's events with the wanted ones.
func (f *fixture) checkEvents(t *testing.T, id job.ID, want ...string) {
	t.Helper()
	events, _, err := f.deps.Bus.ListEvents(t.Context(), job.DefaultTenant, string(id), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.GetType())
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
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
		if data, err := f.deps.Blobs.ReadBytes(t.Context(), key, 1<<20); err != nil || len(data) == 0 {
			t.Errorf("%s: got %d bytes, %v; want it there", key, len(data), err)
		}
	}
	f.checkEvents(t, rec.ID, "uploaded", "ingested")
}

func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, func(c *ingest.Config) { c.MaxPages = 4 })
	encrypted := pdftest.EncryptedFile(pdftest.AES)
	seal := func(password string) func(*job.Record) {
		return func(r *job.Record) {
			r.Protected, r.Sealed = true, f.deps.Sealer.SealSecret(r.Tenant, r.ID, password)
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
		f.checkEvents(t, rec.ID, "uploaded", "ended")
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
		r.Protected, r.Sealed = true, f.deps.Sealer.SealSecret(r.Tenant, r.ID, document.Password)
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
		{"gone", func(key string) error { return f.deps.Blobs.Delete(t.Context(), key) }, fault.SourceMissing},
		{"another", func(key string) error {
			return f.deps.Blobs.PutBytes(t.Context(), key, pdftest.BornDigital(2).PDF, "application/pdf")
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

// end ends a job in a state.
func (f *fixture) end(t *testing.T, id job.ID, state job.State) {
	t.Helper()
	_, err := f.deps.Jobs.UpdateRecord(t.Context(), job.DefaultTenant, id, func(r *job.Record) error {
		return r.Transition(state, time.Now())
	})
	if err != nil {
		t.Fatal(err)
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
			if n := f.queueLength(t, bus.Index); n != 1 {
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
			f.checkEvents(t, second.ID, "uploaded", "following")
			f.end(t, first.ID, tt.end)
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
	f.checkEvents(t, rec.ID, "uploaded", "ingested")
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
	f.end(t, rec.ID, job.Cancelled)
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
	f.end(t, rec.ID, job.Cancelled)
	f.awaitIdle(t)
	if got := f.loadJob(t, rec.ID); got.State != job.Cancelled || got.PageCount != 0 {
		t.Errorf("got %s, %d pages; want CANCELLED, 0", got.State, got.PageCount)
	}
	if n := len(f.scanTasks(t)); n != 0 {
		t.Errorf("tasks of scan: got %d, want 0", n)
	}
}
