package standalone_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// enginePair is what several pipelines of one test read documents with.
type enginePair struct {
	pdf *pdf.Engine
	ocr ocr.Engine
}

func openEngines(t *testing.T, change func(*pdf.Config)) enginePair {
	t.Helper()
	cfg := pdf.DefaultConfig()
	change(&cfg)
	p, err := pdf.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	o, err := ocr.NewEngine(ocr.DefaultEngineConfig(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return enginePair{p, o}
}

// crashHarness is a pipeline on a NATS server of its own, whose services run inside the test but for one, the victim:
// that is a process of its own, and can be killed.
type crashHarness struct {
	chaos.Inspector
	client       *chaos.Client
	bin          string
	args         []string       // of the victim
	victim       *chaos.Process // nil where there is none
	victimOutput *syncBuffer
	jobs         int // acknowledged so far
}

// ackWait is how long a task stays with a process that was killed. It is long enough for a machine that is busy with
// other tests.
const ackWait = 1500 * time.Millisecond

// newCrashHarness starts everything but the victim.
func newCrashHarness(t *testing.T, engines enginePair, victim string, change func(*standalone.Config)) *crashHarness {
	t.Helper()
	dir, nats := t.TempDir(), bustest.StartServer(t)
	l := &crashHarness{victimOutput: &syncBuffer{}}
	l.Bus = bustest.Connect(t, nats)
	if err := l.Bus.Provision(t.Context(), bus.Topology{AckWait: ackWait}); err != nil {
		t.Fatal(err)
	}
	l.Jobs = bustest.NewJobStore(t, l.Bus)
	blobs := "file://" + filepath.Join(dir, "blobs") + "?fsync=off"
	index := "sqlite://" + filepath.Join(dir, "index.db")
	var err error
	if l.Blobs, err = blob.Open(t.Context(), blobs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Blobs.Close() })
	if l.Index, err = search.Open(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Index.Close() })

	cfg := testConfig(dir)
	cfg.Scan.Window = 1 // so that the end of a chunk releases the next
	cfg.Render.Workers, cfg.OCR.Workers, cfg.IndexCfg.Workers, cfg.Ingest.Workers, cfg.Scan.Workers = 1, 1, 1, 1, 1
	cfg.Reconcile.Interval, cfg.Reconcile.Patience = 200*time.Millisecond, 3*time.Second
	// An upload that waits for another one's record, and then writes its own, may take 11 s between document and record.
	cfg.Reconcile.UploadGrace, cfg.Reconcile.OrphanAge = time.Second, 12*time.Second
	change(&cfg)
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: l.Bus, Jobs: l.Jobs, Blobs: l.Blobs, Tel: tel, Log: tel.Log, DocumentTimeout: time.Hour}
	units, entrance, err := standalone.Units(&service.Runtime{Deps: env, Status: lifecycle.NewStatus()}, cfg,
		standalone.Parts{PDF: engines.pdf, OCR: engines.ocr, Index: l.Index})
	if err != nil {
		t.Fatal(err)
	}
	units = without(units, victim)
	l.run(t, units)
	http := freeAddr(t)
	if victim != "" {
		l.bin, l.args = buildServices(t), victimArgs(victim, nats.ClientURL(), blobs, index, http)
		l.victim = l.process(victim)
		t.Cleanup(func() {
			l.victim.Kill()
			if t.Failed() {
				t.Logf("%s said:\n%s", victim, l.victimOutput)
			}
		})
	}
	if victim != "gateway" {
		http = entrance.Addrs().HTTP
	}
	l.client = chaos.NewClient("http://" + http)
	return l
}

// process returns a victim that is not running, with more flags than it has anyway.
func (l *crashHarness) process(victim string, flags ...string) *chaos.Process {
	return chaos.NewProcess(filepath.Join(l.bin, victim), slices.Concat(l.args, flags), l.victimOutput)
}

func without(units []lifecycle.Unit, name string) []lifecycle.Unit {
	var kept []lifecycle.Unit
	for _, u := range units {
		if u.Name != name {
			kept = append(kept, u)
		}
	}
	return kept
}

// run runs units until the end of the test, and returns when they are ready.
func (l *crashHarness) run(t *testing.T, units []lifecycle.Unit) {
	t.Helper()
	ready := make(chan struct{})
	units = append(units, lifecycle.Unit{Name: "announce", Run: func(ctx context.Context, up func()) error {
		up()
		close(ready)
		<-ctx.Done()
		return nil
	}})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- lifecycle.Run(ctx, slog.New(slog.DiscardHandler), units...) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatalf("run: %v", err)
	}
}

func victimArgs(victim, nats, blobs, index, http string) []string {
	args := []string{"--nats", nats, "--nats.provision=false", "--blobs", blobs, "--ops", "", "--log.level", "WARN"}
	switch victim {
	case "gateway":
		args = append(args, "--gateway.http", http, "--gateway.grpc", "127.0.0.1:0", "--reconcile.interval", "1h")
	case "index":
		args = append(args, "--index", index, "--index.workers", "1")
	default:
		args = append(args, "--"+victim+".workers", "1")
	}
	return args
}

// syncBuffer is what a process says.
type syncBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the last of it.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	const last = 8 << 10
	s := b.buf.String()
	return s[max(0, len(s)-last):]
}

// begin starts the victim, armed with failpoints where there are any.
func (l *crashHarness) begin(t *testing.T, points string) {
	t.Helper()
	var env []string
	if points != "" {
		env = []string{failpoint.EnvVariable + "=" + points}
	}
	if err := l.victim.Start(env...); err != nil {
		t.Fatal(err)
	}
}

// awaitDeath waits until the victim has died of its failpoint, and makes sure that its engine children went with it.
func (l *crashHarness) awaitDeath(t *testing.T) {
	t.Helper()
	select {
	case <-l.victim.Done():
	case <-time.After(60 * time.Second):
		t.Fatal("the failpoint was not hit within 60 s")
	}
	_, err := l.victim.UnexpectedExits()
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // as exec returns it
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the victim ended with %v, want SIGKILL", err)
	}
}

// submit uploads a document until it is acknowledged.
func (l *crashHarness) submit(t *testing.T, key string, f pdftest.File) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	j, _, err := l.client.UploadUntilAcknowledged(ctx, key, f.PDF, chaos.WithoutDedupe())
	if err != nil {
		t.Fatalf("submit %s: %v", f.Name, err)
	}
	l.jobs++
	return j.ID
}

// awaitEvidence waits for a job's end, and until nothing is queued or kept that was needed only on the way; then it
// returns what is known of the job.
func (l *crashHarness) awaitEvidence(t *testing.T, id string, f pdftest.File) chaos.Evidence {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var state job.State // as it was last read
	for {
		// The broker may be slow to answer on a busy machine, or away: the victims of one test share the processors.
		rec, err := l.Jobs.LoadRecord(ctx, job.DefaultTenant, job.ID(id))
		left := []string{"the job itself"}
		if err == nil {
			if state = rec.State; state.HasEnded() {
				left, err = l.FindResidue(ctx)
			}
			if err == nil && len(left) == 0 && !l.isListed(ctx, rec) {
				left = []string{"the index has yet to be told"}
			}
		}
		if fault.KindOf(err) == fault.Permanent {
			t.Fatalf("job %s: %v", id, err)
		}
		if err == nil && len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("job %s is %q, %v; left: %s", id, state, err, strings.Join(left, ", "))
		case <-time.After(20 * time.Millisecond):
		}
	}
	e, err := l.CollectEvidence(t.Context(), id, f)
	if err != nil {
		t.Fatalf("job %s: %v", id, err)
	}
	return e
}

// isListed reports whether the index's document says what the record does.
func (l *crashHarness) isListed(ctx context.Context, r *job.Record) bool {
	q := search.JobQuery{Tenant: r.Tenant, States: []string{string(r.State)}, Limit: search.MaxLimit}
	list, err := l.Index.ListJobs(ctx, q)
	return err == nil && slices.ContainsFunc(list.Jobs, func(d search.Document) bool { return d.Job == string(r.ID) })
}

// checkRecords makes sure that there are as many records and folders as acknowledged uploads, no dead letter, and no
// engine child without a parent.
func (l *crashHarness) checkRecords(t *testing.T) {
	t.Helper()
	count := func() (jobs, folders int) {
		if _, err := l.Jobs.ScanChanges(t.Context(), 0, func(c job.Change) {
			if !c.NeverCreated() { // the tombstone of an upload that died, whose key another job has
				jobs++
			}
		}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for entry, err := range l.Blobs.ListBlobs(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if parts := strings.Split(entry.Key, "/"); len(parts) > 2 {
				seen[parts[1]] = true
			}
		}
		return jobs, len(seen)
	}
	var jobs, folders int
	bustest.EventuallyWithin(t, 60*time.Second, "as many records and folders as acknowledged uploads", func() bool {
		if _, err := l.SweepUploads(t.Context()); err != nil {
			t.Fatal(err)
		}
		jobs, folders = count()
		return jobs >= l.jobs && folders <= l.jobs
	})
	if jobs != l.jobs || folders != l.jobs {
		t.Errorf("%d records and %d folders of %d acknowledged uploads", jobs, folders, l.jobs)
	}
	letters, _, err := l.Bus.ListDeadLetters(t.Context(), job.DefaultTenant, 0, 10)
	if err != nil || len(letters) > 0 {
		t.Errorf("dead letters %v (%v), want none", letters, err)
	}
}

func report(what string, diffs []string) string {
	return fmt.Sprintf("%s differs from the undisturbed run:\n\t%s", what, strings.Join(diffs, "\n\t"))
}
