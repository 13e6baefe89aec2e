package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/telemetry"
)

// fixture is a Service over a NATS server of its own, and the record of a job that is not yet stored.
type fixture struct {
	jobs jobs.Service
	bus  *bus.Bus
	rec  *job.Record
}

// newFixture returns a fixture whose blob store fails by a plan; nil for one that works.
func newFixture(t *testing.T, plan blobtest.Plan) *fixture {
	t.Helper()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	if plan != nil {
		blobs = blobtest.NewFaultyStore(blobs, plan)
	}
	tel := telemetry.NewDiscard()
	return &fixture{
		jobs: jobs.New(b, bustest.NewJobStore(t, b), blobs, tel.Metrics, tel.Log),
		bus:  b,
		rec: &job.Record{
			ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, CreateTime: time.Now(),
			StartTime: time.Now(),
			Options:   job.Options{Lane: "interactive"},
		},
	}
}

// queued returns how many messages a stream holds.
func (f *fixture) queued(t *testing.T, name string) uint64 {
	t.Helper()
	stream, err := f.bus.JetStream().Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// eventKinds returns the types of the job's events in order.
func (f *fixture) eventKinds(t *testing.T) string {
	t.Helper()
	events, _, err := f.bus.ListEvents(t.Context(), f.rec.Tenant, string(f.rec.ID), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.GetType())
	}
	return strings.Join(types, " ")
}

func TestCancelIsIdempotentAndRefusesWhatHasEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	if err := f.jobs.CreateJob(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	for i, chunk := range []int{0, 1} {
		f.rec.ChunkPages, f.rec.PageCount = 16, 32
		if err := f.bus.Publish(t.Context(),
			jobs.RenderMessage(f.rec, bus.Lane([]string{"interactive", "batch"}[i]), chunk, 0)); err != nil {
			t.Fatal(err)
		}
	}
	other := *f.rec
	other.ID = job.NewID()
	if err := f.bus.Publish(t.Context(), jobs.RenderMessage(&other, bus.Batch, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec, err := f.jobs.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID)
		if err != nil || rec.State != job.Cancelled {
			t.Fatalf("cancel: %v, %v", rec, err)
		}
	}
	if got := f.queued(t, bus.Render.StreamName()); got != 1 {
		t.Errorf("%d tasks are queued, want the other job's only", got)
	}
	if got, want := f.eventKinds(t), "cancelled ended"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	if _, err := f.jobs.RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, job.ScopeMissing); err != nil {
		t.Errorf("retry: %v", err)
	}
	if _, err := f.jobs.RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, job.ScopeMissing); !errors.Is(err, job.ErrNoRestart) {
		t.Errorf("second retry: %v, want ErrNoRestart", err)
	}
	if _, err := f.jobs.EndJob(t.Context(), &job.Record{Tenant: f.rec.Tenant, ID: f.rec.ID, Run: 2}, job.Failed,
		&job.Fault{Code: "X"}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if rec, err := f.jobs.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, jobs.ErrJobEnded) ||
		rec.State != job.Failed {
		t.Errorf("cancel of a job that failed: %v, %v, want ErrJobEnded", rec, err)
	}
	if _, err := f.jobs.DeleteJob(t.Context(), f.rec.Tenant, f.rec.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := f.jobs.DeleteJob(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, jobs.ErrJobGone) {
		t.Errorf("second delete: %v, want ErrJobGone", err)
	}
	// The second run's end is not published yet: what comes after it publishes it first.
	if got, want := f.eventKinds(t), "cancelled ended retried ended deleted"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
}

// A job is cancelled, and says so, also while the blob store is away, or hangs.
func TestCancelWithoutBlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		plan blobtest.Plan
	}{
		{"away", blobtest.FailFirst(100, blobtest.Delete, nil)},
		{"hanging", blobtest.DelayAll(time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.plan)
			if err := f.jobs.CreateJob(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			rec, err := f.jobs.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != job.Cancelled {
				t.Errorf("cancel: %v, %v, want the job CANCELLED", rec, err)
			}
			if got, want := f.eventKinds(t), "cancelled ended"; got != want {
				t.Errorf("events %q, want %q", got, want)
			}
		})
	}
}
