// Package stagetest runs the service of a stage between its queue and those of the stages after it, which are absent:
// what the service publishes stays there.
package stagetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// startEngine starts PDFium in its children once for all tests of a process.
var startEngine = sync.OnceValues(func() (*pdf.Engine, error) {
	cfg := pdf.DefaultConfig()
	cfg.Workers = 2
	return pdf.New(cfg, slog.New(slog.DiscardHandler))
})

// RunTests is the TestMain of a package whose services open documents: it runs the tests, ends the engine, and exits.
func RunTests(m *testing.M) {
	sandbox.Main(pdf.Program())
	processtest.UsePlainChildren(sandbox.SetChildFile)
	code := m.Run()
	if engine, err := startEngine(); err == nil {
		engine.Close()
	}
	os.Exit(code)
}

// Fixture is a running service with its queues and stores.
type Fixture struct {
	Deps  stage.Deps
	stage bus.Stage
}

// Service is what a stage's module exports.
type Service interface {
	Run(ctx context.Context, ready func()) error
}

// New starts the service of a stage, which ends with the test. A plan, if there is one, says what goes wrong in the
// blob store that the service uses.
func New[S Service](t *testing.T, of bus.Stage, plan blobtest.Plan, build func(stage.Deps, *pdf.Engine) (S, error)) *Fixture {
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
	f := &Fixture{stage: of, Deps: stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel,
		Log: tel.Log, Sealer: sealer}}
	deps := f.Deps
	if plan != nil {
		deps.Blobs = blobtest.NewFaultyStore(blobs, plan)
	}
	s, err := build(deps, engine)
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

// NewRecord returns the record of a job of a document, in a state, as the gateway makes it.
func NewRecord(document []byte, state job.State) *job.Record {
	sum := sha256.Sum256(document)
	return &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: state, CreateTime: time.Now(),
		Size: uint32(len(document)), SHA256: hex.EncodeToString(sum[:]),
		Options: job.Options{Lane: string(bus.Interactive)},
	}
}

// AddJob stores a document and the record of its job.
func (f *Fixture) AddJob(t *testing.T, rec *job.Record, document []byte) {
	t.Helper()
	key := job.SourceKey(rec.Tenant, rec.ID)
	if err := f.Deps.Blobs.PutBytes(t.Context(), key, document, "application/pdf"); err != nil {
		t.Fatal(err)
	}
	if err := f.Deps.Jobs.CreateRecord(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
}

// UnitOf returns what a task says of its job, and of the document.
func UnitOf(rec *job.Record) (*busv1.Unit, *busv1.Blob) {
	return &busv1.Unit{Tenant: rec.Tenant, Job: string(rec.ID), Run: int32(rec.Run)},
		&busv1.Blob{Key: job.SourceKey(rec.Tenant, rec.ID), Size: rec.Size, Sha256: rec.SHA256}
}

// PublishTask sends the task of a document; replay sets it apart from an earlier one.
func (f *Fixture) PublishTask(t *testing.T, task bus.Task, replay int) {
	t.Helper()
	err := f.Deps.Bus.Publish(t.Context(), bus.Message{Stage: f.stage, Lane: bus.Interactive, Unit: "document",
		Replay: replay, Task: task})
	if err != nil {
		t.Fatal(err)
	}
}

// AwaitIdle waits until the service has settled every task.
func (f *Fixture) AwaitIdle(t *testing.T) {
	t.Helper()
	bustest.EventuallyWithin(t, time.Minute, "every task is settled", func() bool {
		return f.QueueLength(t, f.stage) == 0
	})
}

// QueueLength returns how many tasks are in a stage's queue.
func (f *Fixture) QueueLength(t *testing.T, s bus.Stage) uint64 {
	t.Helper()
	stream, err := f.Deps.Bus.JetStream().Stream(t.Context(), s.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// ReadQueue returns the tasks of a stage's queue, in the order in which they came.
func ReadQueue[T proto.Message](t *testing.T, f *Fixture, s bus.Stage, newTask func() T) []T {
	t.Helper()
	stream, err := f.Deps.Bus.JetStream().Stream(t.Context(), s.StreamName())
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

// LoadJob returns the job's record.
func (f *Fixture) LoadJob(t *testing.T, id job.ID) *job.Record {
	t.Helper()
	rec, err := f.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// EndJob ends a job in a state.
func (f *Fixture) EndJob(t *testing.T, id job.ID, state job.State) {
	t.Helper()
	_, err := f.Deps.Jobs.UpdateRecord(t.Context(), job.DefaultTenant, id, func(r *job.Record) error {
		return r.Transition(state, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// CheckEvents compares the types of the job's events with the wanted ones.
func (f *Fixture) CheckEvents(t *testing.T, id job.ID, want ...string) {
	t.Helper()
	events, _, err := f.Deps.Bus.ListEvents(t.Context(), job.DefaultTenant, string(id), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.GetType())
	}
	if !slices.Equal(types, want) {
		t.Errorf("events: got %v, want %v", types, want)
	}
}
