package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// staysInFlightAfter returns whether a task that a dead consumer holds is delivered again after another job's tasks
// were dropped, one that waited and one that was in flight as well.
func staysInFlightAfter(t *testing.T, drop func(b *bus.Bus)) bool {
	t.Helper()
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: 200 * time.Millisecond})
	for i, job := range []string{"j0", "held", "dropped", "dropped", "j1"} {
		m := message("page-"+string(rune('a'+i)), bus.Interactive)
		m.Task = &busv1.OcrTask{Unit: &busv1.Unit{Tenant: "default", Job: job, Run: 1}}
		publish(t, b, m)
	}
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		batch, err := cons.Fetch(1)
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			if i == 0 {
				if err := msg.DoubleAck(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	drop(b)
	for range 4 { // what is left: the one that waits, and the one that was in hand
		batch, err := cons.Fetch(1, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			if err := msg.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
			switch msg.Subject() {
			case "ink.ocr.interactive.default.held":
				return true
			case "ink.ocr.interactive.default.dropped":
				t.Error("a dropped task was delivered")
			}
		}
	}
	return false
}

func TestDroppingTasksLeavesOthersInHand(t *testing.T) {
	t.Parallel()
	again := staysInFlightAfter(t, func(b *bus.Bus) {
		if err := b.PurgeTasks(t.Context(), "default", "dropped"); err != nil {
			t.Fatal(err)
		}
		if n := messages(t, b, bus.OCR.StreamName()); n != 2 {
			t.Errorf("got %d tasks, want the 2 of other jobs", n)
		}
	})
	if !again {
		t.Error("the task in hand is lost")
	}
}

// A purge with a filter would be one call, but makes the server forget the tasks in hand. Should this fail, the
// server has learnt better.
func TestPurgeWithFilterForgetsOthersInHand(t *testing.T) {
	t.Parallel()
	again := staysInFlightAfter(t, func(b *bus.Bus) {
		stream, err := b.JetStream().Stream(t.Context(), bus.OCR.StreamName())
		if err == nil {
			err = stream.Purge(t.Context(), jetstream.WithPurgeSubject("ink.ocr.interactive.default.dropped"))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if again {
		t.Error("the task in hand was delivered again")
	}
}
