package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// upload is a message to the stage whose stream takes no more than its mark.
func upload(id string) bus.Message {
	return bus.Message{
		Stage: bus.Ingest, Lane: bus.Batch, Unit: "document",
		Task: &busv1.IngestTask{Unit: &busv1.Unit{Tenant: "default", Job: id, Run: 1}},
	}
}

// wantFull compares an error with what a full queue's must be: returned at once, to be tried later, and no failure of
// a task.
func wantFull(t *testing.T, err error) {
	t.Helper()
	if fault.CodeOf(err) != fault.QueueFull || fault.KindOf(err) != fault.Busy {
		t.Errorf("got %v (%s, %s), want %s, busy", err, fault.CodeOf(err), fault.KindOf(err), fault.QueueFull)
	}
}

// The broker has several bounds, and one code for all of them and for disk errors: the description tells.
func TestFullQueueIsBusy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit func(*jetstream.StreamConfig)
	}{
		{"messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 2 }},
		{"bytes", func(c *jetstream.StreamConfig) { c.MaxBytes = 700 }},
		{"messages of a job", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 2, true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			s, err := b.JetStream().Stream(t.Context(), bus.Ingest.StreamName())
			if err != nil {
				t.Fatal(err)
			}
			cfg := s.CachedInfo().Config
			tt.limit(&cfg)
			if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			var full error
			for i := 0; full == nil && i < 10; i++ {
				m := upload("j1")
				m.Replay = i
				full = b.Publish(t.Context(), m)
			}
			wantFull(t, full)
		})
	}
}

func TestIsQueueFull(t *testing.T) {
	t.Parallel()
	const storeFailed = 10077
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&jetstream.APIError{Code: 503, ErrorCode: storeFailed, Description: "maximum messages exceeded"}, true},
		{fmt.Errorf("publish: %w", &jetstream.APIError{Code: 503, ErrorCode: storeFailed,
			Description: "maximum bytes exceeded"}), true},
		{&jetstream.APIError{Code: 503, ErrorCode: storeFailed, Description: "maximum messages per subject exceeded"}, true},
		{&jetstream.APIError{Code: 503, ErrorCode: storeFailed, Description: "write 12.blk: no space left on device"}, false},
		{&jetstream.APIError{Code: 503, ErrorCode: 10047, Description: "insufficient storage resources available"}, false},
		{errors.New("maximum messages exceeded"), false},
		{nil, false},
	} {
		if got := bus.IsQueueFull(tt.err); got != tt.want {
			t.Errorf("IsQueueFull(%v) = %t, want %t", tt.err, got, tt.want)
		}
	}
}

// A stage takes up nothing while the one behind it has its mark in the queue, and the interactive lane not at twice
// that. What is handed back to a queue, or follows from a task of its own, still goes in: else full queues would wait
// for each other.
func TestStageWaitsForDownstreamCapacity(t *testing.T) {
	t.Parallel()
	const mark = 4
	b := bustest.NewWithTopology(t, bus.Topology{MaxTasks: mark})
	backlog := func() bus.Backlog {
		t.Helper()
		l, err := b.QueryBacklog(t.Context(), bus.Index)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	add := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			publish(t, b, bus.Message{
				Stage: bus.Index, Lane: bus.Batch, Unit: fmt.Sprintf("page-%d", i),
				Task: &busv1.IndexTask{Unit: &busv1.Unit{Tenant: "default", Job: "j1", Run: 1}},
			})
		}
	}
	for _, tt := range []struct {
		tasks              int
		batch, interactive bool // that the lane waits
	}{{mark - 1, false, false}, {mark, true, false}, {2*mark - 1, true, false}, {2 * mark, true, true},
		{4 * mark, true, true}} {
		add(int(backlog().Tasks), tt.tasks)
		if l := backlog(); l.IsFull(bus.Batch) != tt.batch || l.IsFull(bus.Interactive) != tt.interactive ||
			l.HighWater != mark {
			t.Errorf("%d tasks: %+v is full for batch: %t, for interactive: %t, want %t, %t", tt.tasks, l, l.IsFull(bus.Batch),
				l.IsFull(bus.Interactive), tt.batch, tt.interactive)
		}
	}
	publish(t, b, message("page-1", bus.Batch), message("page-2", bus.Interactive))
	r := newRecorder(succeed)
	start(t, b, bus.ConsumerConfig{Workers: 2}, r)
	purge := func(keep uint64) {
		t.Helper()
		s, err := b.JetStream().Stream(t.Context(), bus.Index.StreamName())
		if err == nil {
			err = s.Purge(t.Context(), jetstream.WithPurgeKeep(keep))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	purge(2*mark - 1)
	if got := <-r.seenCh; got != "j1.1.ocr.page-2" {
		t.Errorf("taken up first: %s, want the interactive task", got)
	}
	select {
	case got := <-r.seenCh:
		t.Errorf("taken up while there is no room behind: %s", got)
	case <-time.After(300 * time.Millisecond):
	}
	purge(mark - 1)
	bustest.Eventually(t, "the batch task is taken up", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
}
