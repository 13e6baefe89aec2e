package stage_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// A task may come back because its process died or was replaced. Neither is a failure of the task, so the record
// counts none.
func TestCrashesAndDeploysAreNoFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cut  func(t *testing.T, f *fixture)
	}{
		{"a process that is killed never settles its task", func(t *testing.T, f *fixture) {
			cons, err := f.env.Bus.JetStream().Consumer(t.Context(), bus.Scan.StreamName(),
				bus.DurableName(bus.Scan, bus.Interactive))
			if err != nil {
				t.Fatal(err)
			}
			batch, err := cons.Fetch(1, jetstream.FetchMaxWait(5*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if _, taken := <-batch.Messages(); !taken {
				t.Fatalf("no task was there to take: %v", batch.Error())
			}
		}},
		{"a process that is replaced hands its task back", func(t *testing.T, f *fixture) {
			working := make(chan struct{})
			sc := &scriptedSteps{ran: make(chan struct{}, 1), hold: func(ctx context.Context) error {
				close(working)
				<-ctx.Done()
				return fmt.Errorf("work: %w", ctx.Err())
			}}
			ctx, stop := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Millisecond}
			go func() { finished <- stage.Run(ctx, f.env, bus.Scan, cfg, sc, func() {}) }()
			<-working
			stop()
			if err := <-finished; err != nil {
				t.Fatalf("run: %v", err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			f.publish(t, 1, 0)
			tt.cut(t, f)

			sc := &scriptedSteps{ran: make(chan struct{}, 1)}
			ctx, stop := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Minute}
			go func() { finished <- stage.Run(ctx, f.env, bus.Scan, cfg, sc, func() {}) }()
			<-sc.ran
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
			stop()
			if err := <-finished; err != nil {
				t.Fatalf("run: %v", err)
			}
			rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(rec.Failures) > 0 || rec.State != job.Running {
				t.Errorf("%s, failures %v, want RUNNING and none", rec.State, rec.Failures)
			}
			if got := f.queued(t, bus.DeadLetterStream); got != 0 {
				t.Errorf("%d dead letters, want none", got)
			}
		})
	}
}

// A client that starts another run as soon as a job is cancelled must not lose its first task to the cancellation.
func TestCancelLeavesTheTasksOfTheNextRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	f.publish(t, 1, 0)
	before, err := f.env.Bus.CurrentPositions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.publish(t, 2, 0)
	if err := f.env.Bus.PurgeTasksUntil(t.Context(), f.rec.Tenant, string(f.rec.ID), before); err != nil {
		t.Fatal(err)
	}
	stream, err := f.env.Bus.JetStream().Stream(t.Context(), bus.Scan.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), before[bus.Scan]+1)
	if err != nil || msg.Header.Get(bus.HeaderRun) != "2" || f.queued(t, bus.Scan.StreamName()) != 1 {
		t.Errorf("%d tasks are left, the next run's is %v (%v), want it alone", f.queued(t, bus.Scan.StreamName()), msg, err)
	}
}

// What goes wrong in a run that was cancelled does not affect the run that was started since.
func TestLateTaskOfEarlierRunLeavesTheNextRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.rec.PageCount, f.rec.ChunkPages, f.rec.Window, f.rec.SHA256 = 1, 16, 4, "ab"
	first, second, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	tries := 0
	f.start(t, &scriptedSteps{hold: func(ctx context.Context) error {
		if tries++; tries > 1 {
			close(second)
			<-ctx.Done()
			return ctx.Err()
		}
		close(first)
		<-goOn
		return fault.New(fault.SourceMissing, "what was wrong in run 1")
	}}, 1)
	<-first
	if _, err := f.env.JobService().CancelJob(t.Context(), f.rec.Tenant, f.rec.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.env.JobService().RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, job.ScopeMissing); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	<-second // there is one worker, so it is done with the first
	rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
	if err != nil || rec.Run != 2 || rec.State != job.Running || len(rec.Failures) > 0 {
		t.Errorf("got run %d %s, %v, failures %v, want run 2 running", rec.Run, rec.State, err, rec.Failures)
	}
	if _, err := f.env.JobService().EndJob(t.Context(), f.rec, job.Failed, &job.Fault{Code: fault.Internal},
		time.Time{}); !errors.Is(err, job.ErrSuperseded) {
		t.Errorf("end of run 1: got %v, want ErrSuperseded", err)
	}
}

// The broker may have forgotten that a task was in hand when its job ended; and its window may be over when the end
// is told once more.
func TestEndEventIsPublishedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.rec.PageCount, f.rec.ChunkPages, f.rec.Window = 1, 16, 4
	f.rec.State, f.rec.EndTime = job.Failed, time.Now() // and then the process and the broker died
	f.start(t, &scriptedSteps{}, 1)
	empty := func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 }
	bustest.Eventually(t, "the task leaves the queue", empty)
	if got := f.eventKinds(t); got != "ended" {
		t.Fatalf("events %q, want the end", got)
	}
	bustest.ExpireMessageIDs(t, f.env.Bus, bus.EventStream)
	f.publish(t, 1, 1)
	bustest.Eventually(t, "the next task leaves the queue", empty)
	if got := f.eventKinds(t); got != "ended" {
		t.Errorf("events %q, want the end once", got)
	}
	if n := f.countEvents(t, "ended"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// countEvents returns how often the audit trail has an event, repeats included.
func (f *fixture) countEvents(t *testing.T, kind string) (n uint64) {
	t.Helper()
	s, err := f.env.Bus.JetStream().Stream(t.Context(), bus.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("ink.events.*."+string(f.rec.ID)+"."+kind))
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range info.State.Subjects {
		n += each
	}
	return n
}

// What is done about a job long after its end does not tell that end once more, and no other one.
func TestOldEndEventIsNotRepublished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		state job.State
		do    func(t *testing.T, f *fixture) error
		want  uint64
	}{
		{"another run", job.Failed, func(t *testing.T, f *fixture) error {
			_, err := f.env.JobService().RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, job.ScopeMissing)
			return err
		}, 1},
		{"its removal", job.Succeeded, func(t *testing.T, f *fixture) error {
			_, err := f.env.JobService().DeleteJob(t.Context(), f.rec.Tenant, f.rec.ID)
			return err
		}, 1},
		{"a second cancellation", job.Cancelled, func(t *testing.T, f *fixture) error {
			_, err := f.env.JobService().CancelJob(t.Context(), f.rec.Tenant, f.rec.ID)
			return err
		}, 1},
		{"a task that does not decode", job.Succeeded, giveUpGarbage, 1},
		{"the same when the job is gone", job.Deleted, giveUpGarbage, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.rec.PageCount, f.rec.ChunkPages, f.rec.Window = 1, 16, 4
			f.rec.State, f.rec.EndTime = tt.state, time.Now()
			if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			if tt.want > 0 {
				if err := f.env.JobService().PublishEnd(t.Context(), f.rec); err != nil {
					t.Fatal(err)
				}
			}
			bustest.ExpireMessageIDs(t, f.env.Bus, bus.EventStream)
			if err := tt.do(t, f); err != nil {
				t.Fatal(err)
			}
			if got := f.countEvents(t, "ended"); got != tt.want {
				t.Errorf("the end was told %d times, want %d", got, tt.want)
			}
			if got := f.countEvents(t, "cancelled"); got > 1 {
				t.Errorf("the cancellation was told %d times", got)
			}
		})
	}
}

// giveUpGarbage has the stage give up a task of the job that is none.
func giveUpGarbage(t *testing.T, f *fixture) error {
	t.Helper()
	subject := "ink.scan.interactive." + f.rec.Tenant + "." + string(f.rec.ID)
	if _, err := f.env.Bus.JetStream().Publish(t.Context(), subject, []byte("garbage")); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Minute}
	go func() { finished <- stage.Run(ctx, f.env, bus.Scan, cfg, &scriptedSteps{}, func() {}) }()
	bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
	stop()
	return <-finished
}

// A unit that finds at its end that its job was cancelled publishes no event: the call that cancelled the job does,
// and has more to publish.
func TestUnitOfCancelledJobPublishesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sc := &scriptedSteps{}
	sc.work = func(_ int, s *stage.Snapshot) error {
		rec, err := f.env.Jobs.UpdateRecord(t.Context(), f.rec.Tenant, f.rec.ID,
			func(r *job.Record) error { return r.Transition(job.Cancelled, time.Now()) })
		s.Job = rec
		return err
	}
	f.start(t, sc, 1)
	bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.StreamName()) == 0 })
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if got := f.eventKinds(t); sc.works != 1 || sc.nexts != 0 || got != "" {
		t.Errorf("got %d units worked on, %d followed up, and events %q, want one, none and none", sc.works, sc.nexts, got)
	}
}

// A task that was put aside for want of a slot, and was long in the queue, does not count that as looks for its job:
// it waits until the job's state is there.
func TestPutAsidesAreNoLooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	unit, err := protojson.Marshal(&busv1.ScanTask{Unit: jobs.NewUnit(f.rec)})
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg("ink.scan.interactive." + f.rec.Tenant + "." + string(f.rec.ID))
	msg.Data = unit
	msg.Header.Set(jetstream.MsgIDHeader, "task-1")
	msg.Header.Set(bus.HeaderQueued, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano))
	if _, err := f.env.Bus.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	cons, err := f.env.Bus.JetStream().Consumer(t.Context(), bus.Scan.StreamName(),
		bus.DurableName(bus.Scan, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		batch, err := cons.Fetch(1, jetstream.FetchMaxWait(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for m := range batch.Messages() {
			if err := m.Nak(); err != nil {
				t.Fatal(err)
			}
		}
	}
	looked := make(chan struct{}, 100)
	f.env.Log = slog.New(slog.DiscardHandler)
	sc := &scriptedSteps{ran: make(chan struct{}, 1)}
	handler := stage.NewHandler(f.env, bus.Scan, sc)
	ctx, stop := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Minute}
	go func() {
		finished <- stage.RunHandler(ctx, f.env, bus.Scan, cfg, lookedHandler{handler, looked}, func() {})
	}()
	<-looked
	if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sc.ran:
	case <-time.After(20 * time.Second):
		t.Error("the task was dropped before its job's state was there")
	}
	stop()
	if err := <-finished; err != nil {
		t.Errorf("run: %v", err)
	}
}

// lookedHandler tells of each task that a handler has looked at.
type lookedHandler struct {
	bus.Handler
	looked chan struct{}
}

func (h lookedHandler) HandleTask(ctx context.Context, d *bus.Delivery) error {
	err := h.Handler.HandleTask(ctx, d)
	h.looked <- struct{}{}
	return err
}

// The index stage has no first tries, because it leaves out an artifact whose time has run out; all others have, but
// for what has had one.
func TestFirstTries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stage bus.Stage
		slow  bool
		want  bool
	}{{bus.Scan, false, true}, {bus.Scan, true, false}, {bus.Render, false, true}, {bus.Index, false, false}} {
		t.Run(fmt.Sprintf("%s, slow %t", tt.stage, tt.slow), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			if err := f.env.Jobs.CreateProgress(t.Context(), f.rec.Tenant, f.rec.ID, job.NewProgress(1, 1)); err != nil {
				t.Fatal(err)
			}
			tried := make(chan [2]bool, 10)
			sc := &scriptedSteps{ran: make(chan struct{}, 10), hold: func(ctx context.Context) error {
				tried <- [2]bool{sandbox.IsFirstTry(ctx), sandbox.IsSlowWork(ctx)}
				return nil
			}}
			ctx, stop := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Minute}
			go func() { finished <- stage.Run(ctx, f.env, tt.stage, cfg, sc, func() {}) }()
			if err := f.env.Bus.Publish(t.Context(), bus.Message{Stage: tt.stage, Lane: bus.Batch, Unit: "document",
				Slow: tt.slow, Task: &busv1.ScanTask{Unit: jobs.NewUnit(f.rec)}}); err != nil {
				t.Fatal(err)
			}
			if got := <-tried; got != [2]bool{tt.want, tt.slow} {
				t.Errorf("first try %t, slow work %t, want %t and %t", got[0], got[1], tt.want, tt.slow)
			}
			<-sc.ran
			stop()
			if err := <-finished; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
}
