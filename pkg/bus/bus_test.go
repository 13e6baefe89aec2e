package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// recorder is a handler that answers by script and remembers what it saw.
type recorder struct {
	mu     sync.Mutex // guards all below
	seen   []string
	gaveUp []string
	counts map[string]int

	answer func(ctx context.Context, n int, d *bus.Delivery) error
	seenCh chan string
}

func newRecorder(answer func(ctx context.Context, n int, d *bus.Delivery) error) *recorder {
	return &recorder{answer: answer, counts: map[string]int{}, seenCh: make(chan string, 1000)}
}

func (r *recorder) HandleTask(ctx context.Context, d *bus.Delivery) error {
	r.mu.Lock()
	r.seen = append(r.seen, d.ID)
	n := 0
	for _, id := range r.seen {
		if id == d.ID {
			n++
		}
	}
	r.mu.Unlock()
	defer func() { r.seenCh <- d.ID }()
	return r.answer(ctx, n, d)
}

func (r *recorder) CountFailure(_ context.Context, d *bus.Delivery, _ error) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[d.ID]++
	return r.counts[d.ID], nil
}

func (r *recorder) RecordGiveUp(_ context.Context, d *bus.Delivery, _ error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaveUp = append(r.gaveUp, d.ID)
	return nil
}

func message(unit string, lane bus.Lane) bus.Message { return messageOf("j1", unit, lane) }

func messageOf(job, unit string, lane bus.Lane) bus.Message {
	return bus.Message{
		Stage: bus.OCR, Lane: lane, Unit: unit,
		Task: &busv1.OcrTask{Unit: &busv1.Unit{Tenant: "default", Job: job, Run: 1}},
	}
}

// start runs a consumer until the test ends.
func start(t *testing.T, b *bus.Bus, cfg bus.ConsumerConfig, h bus.Handler) (stop func()) {
	t.Helper()
	if cfg.Deadline == 0 {
		cfg.Deadline = 10 * time.Second
	}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 5 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() { done <- b.NewConsumer(bus.OCR, cfg, h).Run(ctx, func() { close(ready) }) }()
	<-ready
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func publish(t *testing.T, b *bus.Bus, msgs ...bus.Message) {
	t.Helper()
	for _, m := range msgs {
		if err := b.Publish(t.Context(), m); err != nil {
			t.Fatalf("publish %s: %v", m.MessageID(), err)
		}
	}
}

func messages(t *testing.T, b *bus.Bus, stream string) uint64 {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatalf("stream %s: %v", stream, err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatalf("stream %s: %v", stream, err)
	}
	return info.State.Msgs
}

func TestSettleDelivery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		answer    func(n int) error
		delivered int
		counted   int
		dead      uint64
	}{
		{"success is acknowledged", func(int) error { return nil }, 1, 0, 0},
		{"unknown error is redelivered and counted", func(n int) error {
			if n == 1 {
				return errors.New("boom")
			}
			return nil
		}, 2, 1, 0},
		{"busy is redelivered and not counted", func(n int) error {
			if n == 1 {
				return fault.Wrap(fault.Busy, fault.Unavailable, errors.New("away"))
			}
			return nil
		}, 2, 0, 0},
		{"permanent is dead-lettered at once", func(int) error { return fault.New(fault.Damaged, "broken") }, 1, 0, 1},
		{"an engine crash has two tries", func(int) error { return fault.New(fault.EngineCrashed, "died") }, 2, 2, 1},
		{"a panic is an engine crash", func(int) error { panic("slice bounds out of range") }, 2, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			r := newRecorder(func(_ context.Context, n int, _ *bus.Delivery) error { return tt.answer(n) })
			start(t, b, bus.ConsumerConfig{Workers: 1}, r)
			publish(t, b, message("page-1", bus.Interactive))
			for range tt.delivered {
				<-r.seenCh
			}
			bustest.Eventually(t, "the task leaves its stream", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
			r.mu.Lock()
			defer r.mu.Unlock()
			if got := len(r.seen); got != tt.delivered {
				t.Errorf("delivered %d times, want %d", got, tt.delivered)
			}
			if got := r.counts["j1.1.ocr.page-1"]; got != tt.counted {
				t.Errorf("counted %d failures, want %d", got, tt.counted)
			}
			if got := messages(t, b, bus.DeadLetterStream); got != tt.dead {
				t.Errorf("%d dead letters, want %d", got, tt.dead)
			}
			if got := uint64(len(r.gaveUp)); got != tt.dead {
				t.Errorf("gave up %d tasks, want %d", got, tt.dead)
			}
		})
	}
}

func TestDeadLetterHoldsTheWholeMessage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	r := newRecorder(func(context.Context, int,
		*bus.Delivery) error {
		return fault.New(fault.SourceMissing, "no document")
	})
	start(t, b, bus.ConsumerConfig{Workers: 1}, r)
	publish(t, b, message("page-7", bus.Batch))
	bustest.Eventually(t, "a dead letter", func() bool { return messages(t, b, bus.DeadLetterStream) == 1 })
	s, err := b.JetStream().Stream(t.Context(), bus.DeadLetterStream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := msg.Subject, "ink.dlq.ocr.default.j1"; got != want {
		t.Errorf("subject %q, want %q", got, want)
	}
	for header, want := range map[string]string{
		bus.HeaderClass: "permanent", bus.HeaderReason: "SOURCE_MISSING", bus.HeaderError: "no document",
		bus.HeaderAttempts: "1",
		bus.HeaderMsgID:    "j1.1.ocr.page-7", bus.HeaderSubject: "ink.ocr.batch.default.j1",
		bus.HeaderSchema: "inkstream.bus.v1.OcrTask",
		bus.HeaderRun:    "1", bus.HeaderStream: "INK_OCR",
	} {
		if got := msg.Header.Get(header); got != want {
			t.Errorf("header %s is %q, want %q", header, got, want)
		}
	}
	if len(msg.Data) == 0 {
		t.Error("the dead letter has no payload")
	}
}

func TestRepeatIsAbsorbed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	publish(t, b, message("page-1", bus.Interactive), message("page-1", bus.Interactive),
		message("page-2", bus.Interactive))
	if got := messages(t, b, bus.OCR.StreamName()); got != 2 {
		t.Errorf("%d messages stored, want 2", got)
	}
	replay := message("page-1", bus.Interactive)
	replay.Replay = 1
	publish(t, b, replay)
	if got := messages(t, b, bus.OCR.StreamName()); got != 3 {
		t.Errorf("%d messages stored after a replay, want 3", got)
	}
}

func TestInteractiveGoesFirstAndBatchDoesNotStarve(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for i := range 40 {
		publish(t, b, message(fmt.Sprintf("b%d", i), bus.Batch), message(fmt.Sprintf("i%d", i), bus.Interactive))
	}
	var lanes []bus.Lane
	r := newRecorder(nil)
	r.answer = func(_ context.Context, _ int, d *bus.Delivery) error {
		lanes = append(lanes, d.Lane) // one worker: no race
		return nil
	}
	stop := start(t, b, bus.ConsumerConfig{Workers: 1}, r)
	for range 80 {
		<-r.seenCh
	}
	stop()
	batch := 0
	for _, l := range lanes[:40] {
		if l == bus.Batch {
			batch++
		}
	}
	if batch < 3 || batch > 6 {
		t.Errorf("%d of the first 40 tasks were batch, want about a tenth: %v", batch, lanes[:40])
	}
}

// A handler slower than AckWait must not see its message again: the heartbeat covers it, and what is not being worked
// on is not fetched.
func TestSlowHandlerIsNotRepeated(t *testing.T) {
	t.Parallel()
	const ackWait, tasks = time.Second, 3
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: ackWait})
	r := newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		if d.Delivered != 1 {
			t.Errorf("%s is delivered for the %d. time", d.ID, d.Delivered)
		}
		select {
		case <-time.After(ackWait * 3 / 2):
		case <-ctx.Done():
		}
		return nil
	})
	for i := range tasks {
		publish(t, b, message(fmt.Sprintf("page-%d", i), bus.Interactive))
	}
	stop := start(t, b, bus.ConsumerConfig{Workers: 2}, r) // one may be idle, and would take it up
	for range tasks {
		<-r.seenCh
	}
	bustest.Eventually(t, "the queue is empty", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	stop()
	if got := len(r.seen); got != tasks {
		t.Errorf("handled %d times, want %d", got, tasks)
	}
}

// A handler that hangs, and ignores its deadline, does not hold its message without end: the heartbeat ends with the
// deadline, and then another handler gets the message.
func TestHungHandlerLosesItsTask(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	hangs := make(chan struct{})
	defer close(hangs) // before the consumer is stopped
	r := newRecorder(func(_ context.Context, n int, _ *bus.Delivery) error {
		if n == 1 {
			<-hangs
			return context.Canceled
		}
		return nil
	})
	start(t, b, bus.ConsumerConfig{Workers: 2, Deadline: 300 * time.Millisecond}, r)
	publish(t, b, message("page-1", bus.Interactive))
	bustest.Eventually(t, "another does the work", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	if got := <-r.seenCh; got != "j1.1.ocr.page-1" || len(r.seenCh) > 0 {
		t.Errorf("done: %s and %d more, want the task once", got, len(r.seenCh))
	}
}

func TestDrainReturnsUnfinishedTasks(t *testing.T) {
	t.Parallel()
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: time.Minute})
	started := make(chan struct{})
	r := newRecorder(func(ctx context.Context, n int, _ *bus.Delivery) error {
		if n == 1 {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	stop := start(t, b, bus.ConsumerConfig{Workers: 1, DrainTimeout: 50 * time.Millisecond}, r)
	publish(t, b, message("page-1", bus.Interactive))
	<-started
	stop()
	<-r.seenCh
	start(t, b, bus.ConsumerConfig{Workers: 1}, r)
	<-r.seenCh // long before AckWait
	if got := r.counts["j1.1.ocr.page-1"]; got != 0 {
		t.Errorf("counted %d failures for a stop, want 0", got)
	}
}

func TestTopologyReadsWellAndIsIdempotent(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := b.Provision(t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		t.Fatalf("second Provision: %v", err)
	}
	if err := b.CheckTopology(t.Context()); err != nil {
		t.Fatalf("CheckTopology: %v", err)
	}
	for _, s := range bus.AllStages() {
		stream, err := b.JetStream().Stream(t.Context(), s.StreamName())
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		if cfg.Description == "" || !cfg.AllowDirect || cfg.Retention != jetstream.WorkQueuePolicy ||
			cfg.Discard != jetstream.DiscardNew || cfg.MaxAge != 0 {
			t.Errorf("stream %s: %+v", s.StreamName(), cfg)
		}
	}
}

// What is as it should be is left alone when the next process provisions, and what is not is brought there.
func TestProvisionAgain(t *testing.T) {
	t.Parallel()
	b := bustest.NewWithTopology(t, bus.Topology{MaxTasks: 100})
	updates, err := b.JetStream().Conn().SubscribeSync("$JS.EVENT.ADVISORY.STREAM.UPDATED.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, tasks := range []int64{100, 200} {
		if err := b.Provision(t.Context(), bus.Topology{MaxTasks: tasks}); err != nil {
			t.Fatal(err)
		}
	}
	updated := func() int {
		n, _, err := updates.Pending()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := len(bus.AllStages()) // their streams hold the mark
	bustest.Eventually(t, "the streams are updated", func() bool { return updated() >= want })
	if got := updated(); got != want {
		t.Errorf("%d streams were updated, want %d, and those once", got, want)
	}
}
