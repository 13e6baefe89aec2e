package stage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// scriptedSteps is a stage that works as a test tells it to.
type scriptedSteps struct {
	mu    sync.Mutex // guards works and nexts
	works int
	nexts int

	done func(s *stage.Snapshot) bool
	work func(n int, s *stage.Snapshot) error
	hold func(ctx context.Context) error // instead of work
	ran  chan struct{}
}

func (*scriptedSteps) NewTask() *busv1.ScanTask        { return &busv1.ScanTask{} }
func (*scriptedSteps) UnitName(*busv1.ScanTask) string { return "document" }

func (sc *scriptedSteps) LoadResult(_ context.Context, s *stage.Snapshot, _ *busv1.ScanTask) (string, bool, error) {
	return "stored", sc.done != nil && sc.done(s), nil
}

func (sc *scriptedSteps) ProcessUnit(ctx context.Context, s *stage.Snapshot, _ *busv1.ScanTask) (string, error) {
	if sc.hold != nil {
		return "", sc.hold(ctx)
	}
	sc.mu.Lock()
	sc.works++
	n := sc.works
	sc.mu.Unlock()
	if sc.work != nil {
		if err := sc.work(n, s); err != nil {
			sc.ran <- struct{}{}
			return "", err
		}
	}
	return "worked", nil
}

func (sc *scriptedSteps) PlanFollowUp(_ context.Context, s *stage.Snapshot, _ *busv1.ScanTask,
	_ string) (stage.FollowUp, error) {
	sc.mu.Lock()
	sc.nexts++
	sc.mu.Unlock()
	sc.ran <- struct{}{}
	return stage.FollowUp{Messages: []bus.Message{{
		Stage: bus.Render, Lane: s.Lane, Unit: "chunk-0", Task: &busv1.RenderTask{Unit: jobs.NewUnit(s.Job)},
	}}}, nil
}

type fixture struct {
	env stage.Deps
	rec *job.Record
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	return &fixture{
		env: stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log,
			DocumentTimeout: time.Hour},
		rec: &job.Record{
			ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Running, CreateTime: time.Now(),
			StartTime: time.Now(),
			Options:   job.Options{Lane: "interactive"},
		},
	}
}

// start stores the record, runs the stage and sends it one task.
func (f *fixture) start(t *testing.T, sc *scriptedSteps, run int) {
	t.Helper()
	sc.ran = make(chan struct{}, 100)
	if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	ready := make(chan struct{})
	cfg := bus.ConsumerConfig{Workers: 1, Deadline: 10 * time.Second, DrainTimeout: time.Second}
	go func() { finished <- stage.Run(ctx, f.env, bus.Scan, cfg, sc, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-finished; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	f.publish(t, run, 0)
}

func (f *fixture) publish(t *testing.T, run, replay int) {
	t.Helper()
	unit := jobs.NewUnit(f.rec)
	unit.Run = int32(run)
	err := f.env.Bus.Publish(t.Context(), bus.Message{
		Stage: bus.Scan, Lane: bus.Interactive, Unit: "document", Replay: replay, Task: &busv1.ScanTask{Unit: unit},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) queued(t *testing.T, s string) uint64 {
	t.Helper()
	stream, err := f.env.Bus.JetStream().Stream(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func TestUnitIsWorkedOnceAndItsNextIsPublishedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sc := &scriptedSteps{}
	sc.done = func(s *stage.Snapshot) bool { return s.Job.ChunkPages > 0 }
	sc.work = func(_ int, s *stage.Snapshot) error {
		rec, err := f.env.Jobs.UpdateRecord(context.Background(), s.Job.Tenant, s.Job.ID,
			func(r *job.Record) error { r.ChunkPages = 16; return nil })
		s.Job = rec
		return err
	}
	f.start(t, sc, 1)
	<-sc.ran
	f.publish(t, 1, 1)
	<-sc.ran
	bustest.Eventually(t, "the tasks leave the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.works != 1 || sc.nexts != 2 {
		t.Errorf("worked %d times, published %d times, want 1 and 2", sc.works, sc.nexts)
	}
	if got := f.queued(t, bus.Render.StreamName()); got != 1 {
		t.Errorf("%d tasks follow, want 1: the repeat is absorbed", got)
	}
}

// A worker that was too slow for the broker writes after another has done its unit, and after the job's end.
func TestSupersededWorkerLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(r *job.Record) error
		left bool
	}{
		{"the job has ended", func(r *job.Record) error { return r.Transition(job.Succeeded, time.Now()) }, false},
		{"another run", func(r *job.Record) error { r.Run++; return nil }, false},
		{"the job goes on", func(*job.Record) error { return job.ErrUnchanged }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			temp := job.RasterKey(f.rec.Tenant, f.rec.ID, 1, 1)
			sc := &scriptedSteps{}
			sc.work = func(_ int, s *stage.Snapshot) error {
				// What the other worker's unit led to, up to the job's end.
				next, err := sc.PlanFollowUp(context.Background(), s, nil, "")
				return errors.Join(err, f.env.Bus.PublishAll(context.Background(), next.Messages, nil),
					secondResult(f.env.Jobs.UpdateRecord(context.Background(), s.Job.Tenant, s.Job.ID, tt.end)),
					f.env.Blobs.PutBytes(context.Background(), temp, []byte("x"), ""))
			}
			f.start(t, sc, 1)
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
			if found, err := f.env.Blobs.BlobExists(t.Context(), temp); err != nil || found != tt.left {
				t.Errorf("the raster is there: %t (%v), want %t", found, err, tt.left)
			}
		})
	}
}

func secondResult[T any](_ T, err error) error { return err }

func TestNothingIsDoneForAJobThatHasEndedOrRunsAnew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		state job.State
		run   int // of the record; the task is of run 1
	}{
		{"ended", job.Cancelled, 1},
		{"another run", job.Running, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.rec.State, f.rec.Run = tt.state, tt.run
			temp := job.RasterKey(f.rec.Tenant, f.rec.ID, 1, 1)
			if err := f.env.Blobs.PutBytes(t.Context(), temp, []byte("x"), ""); err != nil {
				t.Fatal(err)
			}
			sc := &scriptedSteps{}
			f.start(t, sc, 1)
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
			if sc.works != 0 || f.queued(t, bus.Render.StreamName()) != 0 {
				t.Errorf("worked %d times, %d tasks follow, want none", sc.works, f.queued(t, bus.Render.StreamName()))
			}
			if found, err := f.env.Blobs.BlobExists(t.Context(), temp); err != nil || found {
				t.Errorf("the raster is there: %t (%v), want it gone", found, err)
			}
		})
	}
}

// A task waits for its job's state for a while; then it goes, so that the reconciler sees to the job.
func TestTaskWithoutJobStateIsDropped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		stage bus.Stage
		run   int32
		there bool
	}{
		{"no record", bus.Scan, 1, false},
		{"an older record", bus.Scan, 2, true},
		{"no progress", bus.Render, 1, true}, // which only a run of all pages implies
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.rec.PageCount, f.rec.ChunkPages, f.rec.Window = 1, 16, 4
			f.rec.Options.Pages = "1"
			if tt.there {
				if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
					t.Fatal(err)
				}
			}
			unit := jobs.NewUnit(f.rec)
			unit.Run = tt.run
			data, err := protojson.Marshal(&busv1.ScanTask{Unit: unit})
			if err != nil {
				t.Fatal(err)
			}
			put := func(queued time.Time) {
				t.Helper()
				msg := nats.NewMsg("ink." + string(tt.stage) + ".interactive." + f.rec.Tenant + "." + string(f.rec.ID))
				msg.Data = data
				msg.Header.Set(bus.HeaderQueued, queued.Format(time.RFC3339Nano))
				if _, err := f.env.Bus.JetStream().PublishMsg(t.Context(), msg); err != nil {
					t.Fatal(err)
				}
			}
			put(time.Now())
			put(time.Now().Add(-time.Minute))
			ctx, stop := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			sc := &scriptedSteps{}
			cfg := bus.ConsumerConfig{Workers: 2, Deadline: time.Minute, DrainTimeout: time.Minute}
			go func() { finished <- stage.Run(ctx, f.env, tt.stage, cfg, sc, func() {}) }()
			bustest.Eventually(t, "the old task leaves the queue, and the new one stays",
				func() bool { return f.queued(t, tt.stage.StreamName()) == 1 })
			stop()
			if err := <-finished; err != nil {
				t.Fatal(err)
			}
			if n := f.queued(t, tt.stage.StreamName()); n != 1 || sc.works != 0 {
				t.Errorf("%d tasks are queued, and %d were worked on, want one and none", n, sc.works)
			}
		})
	}
}

// A handler that the broker takes for gone may fail when another one has done its unit, or ended the job.
func TestAFailureOfAUnitThatIsDone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		other func(r *job.Record) error
		state job.State
		nexts int
	}{
		{"done", func(r *job.Record) error {
			r.ChunkPages, r.Window = 16, 4
			return nil
		}, job.Running, 1},
		{"the job has ended", func(r *job.Record) error { return r.Transition(job.Succeeded, time.Now()) }, job.Succeeded, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.rec.PageCount = 1
			sc := &scriptedSteps{done: func(s *stage.Snapshot) bool { return s.Job.ChunkPages > 0 }}
			sc.work = func(int, *stage.Snapshot) error {
				if _, err := f.env.Jobs.UpdateRecord(t.Context(), f.rec.Tenant, f.rec.ID, tt.other); err != nil {
					t.Error(err)
				}
				return fault.New(fault.SourceMissing, "not here")
			}
			f.start(t, sc, 1)
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
			rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != tt.state || rec.Error != nil {
				t.Errorf("got %s, %v, %v, want %s", rec.State, rec.Error, err, tt.state)
			}
			sc.mu.Lock()
			defer sc.mu.Unlock()
			if dead := f.queued(t, bus.DeadLetterStream); sc.nexts != tt.nexts || dead != 0 {
				t.Errorf("%d followed up and %d dead letters, want %d and none", sc.nexts, dead, tt.nexts)
			}
		})
	}
}

func TestFailureCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		age    time.Duration
		limit  time.Duration // the job's own
		work   func(n int) error
		state  job.State
		code   fault.Code
		counts int
		dead   uint64
	}{
		{"a passing failure is counted in the record", 0, 0, func(n int) error {
			if n == 1 {
				return errors.New("boom")
			}
			return nil
		}, job.Running, "", 1, 0},
		{"a permanent one ends the job", 0, 0, func(int) error { return fault.New(fault.SourceMissing, "gone") }, job.Failed,
			fault.SourceMissing, 0, 1},
		{"so does a document that takes too long", 2 * time.Hour, 3 * time.Hour, func(int) error { return nil }, job.Failed,
			fault.DocumentTimeout, 0, 1},
		{"or longer than its own limit", time.Minute, time.Second, func(int) error { return nil }, job.Failed,
			fault.DocumentTimeout, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.rec.StartTime, f.rec.Options.DocumentTimeout = time.Now().Add(-tt.age), tt.limit
			f.start(t, &scriptedSteps{work: func(n int, _ *stage.Snapshot) error { return tt.work(n) }}, 1)
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
			rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil {
				t.Fatal(err)
			}
			var code fault.Code
			if rec.Error != nil {
				code = rec.Error.Code
			}
			if rec.State != tt.state || code != tt.code || rec.Failures["scan.document"] != tt.counts {
				t.Errorf("state %s, code %q, failures %v, want %s, %q, %d", rec.State, code, rec.Failures, tt.state, tt.code,
					tt.counts)
			}
			if got := f.queued(t, bus.DeadLetterStream); got != tt.dead {
				t.Errorf("%d dead letters, want %d", got, tt.dead)
			}
		})
	}
}
