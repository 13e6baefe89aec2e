package stage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// A task may come back because its process died or was replaced. Neither is a failure of the task, so the record counts none.
func TestCrashesAndDeploysAreNoFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cut  func(t *testing.T, f *fixture)
	}{
		{"a process that is killed never settles its task", func(t *testing.T, f *fixture) {
			cons, err := f.env.Bus.JetStream().Consumer(t.Context(), bus.Scan.Stream(), bus.Durable(bus.Scan, bus.Interactive))
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
			sc := &script{ran: make(chan struct{}, 1), hold: func(ctx context.Context) error {
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
			if err := f.env.Jobs.Create(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			f.publish(t, 1, 0)
			tt.cut(t, f)

			sc := &script{ran: make(chan struct{}, 1)}
			ctx, stop := context.WithCancel(t.Context())
			finished := make(chan error, 1)
			cfg := bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Minute}
			go func() { finished <- stage.Run(ctx, f.env, bus.Scan, cfg, sc, func() {}) }()
			<-sc.ran
			bustest.Eventually(t, "the task leaves the queue", func() bool { return f.queued(t, bus.Scan.Stream()) == 0 })
			stop()
			if err := <-finished; err != nil {
				t.Fatalf("run: %v", err)
			}
			rec, err := f.env.Jobs.Load(t.Context(), f.rec.Tenant, f.rec.ID)
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

// Whoever starts another run as soon as a job is cancelled must not lose its first task to the cancellation.
func TestCancelLeavesTheTasksOfTheNextRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.env.Jobs.Create(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	f.publish(t, 1, 0)
	before, err := f.env.Bus.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.publish(t, 2, 0)
	if err := f.env.Bus.PurgeTasksUntil(t.Context(), f.rec.Tenant, string(f.rec.ID), before); err != nil {
		t.Fatal(err)
	}
	stream, err := f.env.Bus.JetStream().Stream(t.Context(), bus.Scan.Stream())
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), before[bus.Scan]+1)
	if err != nil || msg.Header.Get(bus.HeaderRun) != "2" || f.queued(t, bus.Scan.Stream()) != 1 {
		t.Errorf("%d tasks are left, the next run's is %v (%v), want it alone", f.queued(t, bus.Scan.Stream()), msg, err)
	}
}
