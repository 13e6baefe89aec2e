package job_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

func TestTombstonePreventsCreation(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	id, now := job.NewID(), time.Now().UTC()
	for range 2 { // a repeat finds what is there
		stone, err := jobs.CreateTombstone(t.Context(), "acme", id, now)
		if err != nil || !stone.NeverCreated() || !stone.ExpireTime.Equal(now.Add(job.ClaimTTL)) {
			t.Fatalf("got %+v, %v, want a tombstone that outlasts the key", stone, err)
		}
	}
	late := &job.Record{ID: id, Tenant: "acme", Run: 1, State: job.Pending, SHA256: "ab"}
	if err := jobs.CreateRecord(t.Context(), late); !errors.Is(err, job.ErrExists) {
		t.Errorf("the record that came late: got %v, want ErrExists", err)
	}
	_, err := jobs.ScanChanges(t.Context(), 0, func(c job.Change) {
		if !c.IsTombstone || !c.State.IsGone() || c.ExpireTime.IsZero() {
			t.Errorf("a pass sees %+v, want a tombstone that will be forgotten", c)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCreateTombstoneReturnsExistingRecord(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	rec := &job.Record{ID: job.NewID(), Tenant: "acme", Run: 1, State: job.Succeeded, SHA256: "ab"}
	if err := jobs.CreateRecord(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	there, err := jobs.CreateTombstone(t.Context(), "acme", rec.ID, time.Now())
	if err != nil || there.NeverCreated() || there.State != job.Succeeded {
		t.Errorf("got %+v, %v, want the job", there, err)
	}
	_, err = jobs.UpdateRecord(t.Context(), "acme", rec.ID,
		func(r *job.Record) error { return r.Tombstone(job.Deleted, time.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	// One that was removed was there: its key still stands for it.
	if there, err := jobs.CreateTombstone(t.Context(), "acme", rec.ID, time.Now()); err != nil || there.NeverCreated() ||
		!there.IsTombstone() {
		t.Errorf("got %+v, %v, want the tombstone of a job that was there", there, err)
	}
}

func TestDefinitelyNotWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.DeadlineExceeded, false},
		{nats.ErrDisconnected, false},
		{nats.ErrConnectionClosed, false},
		{nats.ErrTimeout, false},
		{errors.New("whatever"), false},
		{&jetstream.APIError{Code: 503, ErrorCode: 10077, Description: "no space left"}, false},
		{&jetstream.APIError{Code: 503, ErrorCode: 10023, Description: "insufficient resources"}, true},
		{nats.ErrReconnectBufExceeded, true},
		{nats.ErrNoResponders, true},
		{jetstream.ErrNoStreamResponse, true},
	} {
		err := fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("create: %w", tt.err))
		if got := job.DefinitelyNotWritten(err); got != tt.want {
			t.Errorf("%v: got %t, want %t", tt.err, got, tt.want)
		}
	}
}

func TestCreateWithoutBrokerIsDefinitelyNotWritten(t *testing.T) {
	t.Parallel()
	broker := bustest.NewBroker(t)
	b := broker.Connect()
	if err := b.Provision(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	jobs := bustest.NewJobStore(t, b)
	broker.StopServer()
	bustest.EventuallyWithin(t, 10*time.Second, "the connection is gone",
		func() bool { return b.JetStream().Conn().IsReconnecting() })
	if err := jobs.CreateRecord(t.Context(),
		&job.Record{ID: job.NewID(), Tenant: "acme"}); !job.DefinitelyNotWritten(err) {
		t.Errorf("got %v, want an error that says that nothing was written", err)
	}
}

func TestCreatedAt(t *testing.T) {
	t.Parallel()
	start := time.Now()
	b := bustest.New(t)
	jobs := bustest.NewJobStore(t, b)
	first, err := jobs.CreatedAt(t.Context())
	if err != nil || first.Before(start) || first.After(time.Now()) {
		t.Fatalf("got %s, %v, want when the server was provisioned", first, err)
	}
	if err := jobs.CreateRecord(t.Context(), &job.Record{ID: job.NewID(), Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Provision(t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	if again, err := jobs.CreatedAt(t.Context()); err != nil || !again.Equal(first) {
		t.Errorf("after a restart of the services: got %s, %v, want %s as before", again, err, first)
	}
	if err := b.JetStream().DeleteKeyValue(t.Context(), bus.JobBucket); err != nil {
		t.Fatal(err)
	}
	if err := b.Provision(t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	if anew, err := jobs.CreatedAt(t.Context()); err != nil || !anew.After(first) {
		t.Errorf("after the bucket was lost: got %s, %v, want later than %s", anew, err, first)
	}
}
