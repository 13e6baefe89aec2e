package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// consumeAndCrash takes a task up again and again without ever settling it, as handlers do that are killed, until the
// broker delivers it no more.
func consumeAndCrash(t *testing.T, b *bus.Bus) {
	t.Helper()
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the broker gives the task up", func() bool {
		batch, err := cons.FetchNoWait(1)
		if err != nil && !errors.Is(err, jetstream.ErrNoMessages) {
			t.Fatal(err)
		}
		for range batch.Messages() { // taken up, and dropped
		}
		return messages(t, b, bus.AdvisoryStream) > 0
	})
}

// endRecorder remembers the orphans whose jobs a janitor ended.
type endRecorder struct {
	mu      sync.Mutex // guards all below
	orphans []bus.Orphan
	err     error
}

func (e *endRecorder) end(_ context.Context, o bus.Orphan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		err := e.err
		e.err = nil
		return err
	}
	e.orphans = append(e.orphans, o)
	return nil
}

func newBusWithOrphan(t *testing.T) *bus.Bus {
	t.Helper()
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: 100 * time.Millisecond, MaxDeliver: 2})
	publish(t, b, message("page-1", bus.Interactive))
	consumeAndCrash(t, b)
	return b
}

func checkCleared(t *testing.T, b *bus.Bus, e *endRecorder) {
	t.Helper()
	if got := messages(t, b, bus.OCR.StreamName()); got != 0 {
		t.Errorf("queue: got %d messages, want 0", got)
	}
	want := bus.Orphan{Stage: bus.OCR, Tenant: "default", Job: "j1", Run: 1, ID: "j1.1.ocr.page-1"}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.orphans) != 1 || e.orphans[0] != want {
		t.Errorf("jobs ended: got %+v, want %+v", e.orphans, want)
	}
	if got := messages(t, b, bus.DeadLetterStream); got != 1 {
		t.Fatalf("dead letters: got %d, want 1", got)
	}
	s, err := b.JetStream().Stream(t.Context(), bus.DeadLetterStream)
	if err != nil {
		t.Fatal(err)
	}
	letter, err := s.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		bus.HeaderClass: "permanent", bus.HeaderReason: "CRASH_LOOP", bus.HeaderSubject: "ink.ocr.interactive.default.j1",
		bus.HeaderMsgID: "j1.1.ocr.page-1", bus.HeaderStream: "INK_OCR", bus.HeaderSequence: "1", bus.HeaderAttempts: "2",
		bus.HeaderSchema: "inkstream.bus.v1.OcrTask", bus.HeaderRun: "1",
	} {
		if got := letter.Header.Get(header); got != want {
			t.Errorf("header %s: got %q, want %q", header, got, want)
		}
	}
	if len(letter.Data) == 0 || letter.Subject != "ink.dlq.ocr.default.j1" {
		t.Errorf("dead letter: got %d bytes at %s, want the task at ink.dlq.ocr.default.j1", len(letter.Data), letter.Subject)
	}
}

// Without a janitor the broker keeps an orphan without end: no consumer gets it, but it counts as backlog. This is
// what the janitor is for.
func TestOrphanWithoutJanitor(t *testing.T) {
	t.Parallel()
	b := newBusWithOrphan(t)
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cons.Fetch(1, jetstream.FetchMaxWait(500*time.Millisecond)) // five times AckWait
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		t.Errorf("delivered again: %s", msg.Subject())
	}
	backlog, err := b.QueryBacklog(t.Context(), bus.OCR)
	if err != nil {
		t.Fatal(err)
	}
	if backlog.Tasks != 1 {
		t.Errorf("backlog: got %d, want the orphan", backlog.Tasks)
	}
}

func TestJanitorClearsOrphans(t *testing.T) {
	t.Parallel()
	b := newBusWithOrphan(t)
	e := &endRecorder{err: errors.New("the job cannot be ended now")}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 3 { // several processes
		wg.Go(func() { b.NewJanitor(e.end).Run(ctx) })
	}
	bustest.Eventually(t, "the orphan is cleared", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	stop()
	wg.Wait()
	checkCleared(t, b, e)
}

// The server may die between the last delivery and its advisory, or forget a task when an operator purges a part of
// the stream.
func TestSweepRequeuesForgottenTasks(t *testing.T) {
	t.Parallel()
	b := newBusWithOrphan(t)
	s, err := b.JetStream().Stream(t.Context(), bus.AdvisoryStream)
	if err == nil {
		err = s.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	// Tasks that wait and one that is in hand are no orphans.
	publish(t, b, message("page-2", bus.Batch), message("page-3", bus.Batch), message("page-4", bus.Interactive))
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, bus.Batch))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cons.Fetch(1); err != nil {
		t.Fatal(err)
	}
	e := &endRecorder{}
	j := b.NewJanitor(e.end)
	for i, want := range []int{0, 1, 0, 0} {
		if n, err := j.SweepForgotten(t.Context()); n != want || err != nil {
			t.Errorf("sweep %d: got %d, %v, want %d", i+1, n, err, want)
		}
	}
	if got := messages(t, b, bus.OCR.StreamName()); got != 4 {
		t.Errorf("queue: got %d messages, want the 3 that were not forgotten and the one that was queued again", got)
	}
	if letters := messages(t, b, bus.DeadLetterStream); letters > 0 || len(e.orphans) > 0 {
		t.Errorf("got %d dead letters and %d ended jobs, want none", letters, len(e.orphans))
	}
	r := newRecorder(func(context.Context, int, *bus.Delivery) error { return nil })
	stop := start(t, b, bus.ConsumerConfig{Workers: 1}, r)
	for left := 2; left > 0; {
		if id := <-r.seenCh; strings.HasPrefix(id, "j1.1.ocr.page-1") || strings.HasPrefix(id, "j1.1.ocr.page-4") {
			left--
		}
	}
	stop()
}

func TestQueuedJobs(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	publish(t, b, message("page-1", bus.Interactive), message("page-2", bus.Batch))
	got, err := b.QueuedJobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got[bus.JobRef{Tenant: "default", Job: "j1"}]; !ok || len(got) != 1 {
		t.Errorf("got %v, want j1", got)
	}
}

// A full queue has more subjects than fit into one ordinary message.
func BenchmarkQueued(b *testing.B) {
	queue := bustest.New(b)
	js := queue.JetStream()
	const jobs = 50_000
	for i := range jobs {
		if _, err := js.PublishAsync("ink.ingest.batch.default."+string(ulidLike(i)), nil); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	for b.Loop() {
		got, err := queue.QueuedJobs(b.Context())
		if err != nil || len(got) != jobs {
			b.Fatalf("got %d jobs, %v, want %d", len(got), err, jobs)
		}
	}
}

func ulidLike(i int) []byte {
	id := []byte("01k6000000000000000000000z")
	for at := len(id) - 2; i > 0; at-- {
		id[at] = byte('0' + i%10)
		i /= 10
	}
	return id
}
