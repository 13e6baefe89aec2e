package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
)

// Terminating a task deletes it, so it must stand among the dead letters before. While they take nothing it stays in
// its queue.
func TestTaskStaysUntilItIsADeadLetter(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	letters, err := b.JetStream().Stream(t.Context(), bus.DeadLetterStream)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		t.Helper()
		cfg := letters.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // full from the start
	r := newRecorder(func(context.Context, int,
		*bus.Delivery) error {
		return fault.New(fault.SourceMissing, "no document")
	})
	start(t, b, bus.ConsumerConfig{Workers: 1}, r)
	publish(t, b, message("page-1", bus.Interactive))
	<-r.seenCh
	bustest.Eventually(t, "the task comes back, because it could not be given up",
		func() bool { return len(r.seenCh) > 0 })
	if got := messages(t, b, bus.OCR.StreamName()); got != 1 {
		t.Errorf("queue: got %d tasks, want the one that could not be given up", got)
	}
	r.mu.Lock()
	if len(r.gaveUp) > 0 {
		t.Errorf("given up: %v, want nothing before it is a dead letter", r.gaveUp)
	}
	r.mu.Unlock()
	limit(-1)
	bustest.Eventually(t, "the task is a dead letter", func() bool {
		return messages(t, b, bus.DeadLetterStream) == 1 && messages(t, b, bus.OCR.StreamName()) == 0
	})
}

// A long list takes a few exchanges with the broker, ends where it should, and goes on from there.
func TestListsOfManyMessages(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const all, page = 1234, 1000
	js := b.JetStream()
	for i := range all {
		if _, err := js.PublishAsync("ink.dlq.ocr.default.j1", []byte("{}"), jetstream.WithMsgID(ulidString(i))); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 { // others' lie between
			if _, err := js.PublishAsync("ink.dlq.ocr.other.j1", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(20 * time.Second):
		t.Fatal("not published within 20 s")
	}
	var got []bus.DeadLetter
	for _, want := range []struct {
		n    int
		more bool
	}{{page, true}, {all - page, false}, {0, false}} {
		after := uint64(0)
		if len(got) > 0 {
			after = got[len(got)-1].Sequence
		}
		letters, more, err := b.ListDeadLetters(t.Context(), "default", after, page)
		if err != nil {
			t.Fatal(err)
		}
		if len(letters) != want.n || more != want.more {
			t.Fatalf("after %d: %d letters, more: %t, want %+v", after, len(letters), more, want)
		}
		for _, l := range letters {
			if l.Sequence <= after || l.Tenant != "default" || l.Time.IsZero() || string(l.Payload) != "{}" {
				t.Fatalf("after %d: %+v", after, l)
			}
			after = l.Sequence
		}
		got = append(got, letters...)
	}
	if letters, more, err := b.ListDeadLetters(t.Context(), "nobody", 0, page); err != nil || len(letters) != 0 || more {
		t.Errorf("of another tenant: %d letters, more: %t, %v, want none", len(letters), more, err)
	}
	exact, more, err := b.ListDeadLetters(t.Context(), "default", 0, all)
	if err != nil || len(exact) != all || more {
		t.Errorf("exactly all: %d letters, more: %t, %v, want %d and no more", len(exact), more, err, all)
	}
}

func ulidString(i int) string { return string(ulidLike(i)) }
