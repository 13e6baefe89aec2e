package bus_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
)

func succeed(context.Context, int, *bus.Delivery) error { return nil }

// Batch tasks that take long hold every worker; an interactive one does not wait for their end.
func TestInteractiveDoesNotWaitForBatchInHand(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	release := make(chan struct{})
	taken := make(chan bus.Lane, 10)
	r := newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		taken <- d.Lane
		if d.Lane == bus.Batch {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	})
	const workers = 2
	start(t, b, bus.ConsumerConfig{Workers: workers, UrgentWorkers: 1}, r)
	for i := range 4 {
		publish(t, b, message(fmt.Sprintf("b%d", i), bus.Batch))
	}
	for range workers {
		<-taken
	}
	for i := range 3 { // one after the other, for there is one place for them
		publish(t, b, messageOf("other", fmt.Sprintf("i%d", i), bus.Interactive))
		select {
		case lane := <-taken:
			if lane != bus.Interactive {
				t.Errorf("taken up: %s, want the interactive task", lane)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the interactive task waits for the batch")
		}
	}
	close(release)
	for range 4 + 3 {
		<-r.seenCh
	}
}

// There is an interactive task at every moment, and still every tenth task is one of the batch, however many workers
// there are.
func TestBatchHasItsShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		workers, urgent int
		one             bool // all interactive tasks are of one job
	}{{1, 0, false}, {1, 1, false}, {2, 1, false}, {4, 1, false}, {1, 1, true}, {2, 1, true}} {
		t.Run(fmt.Sprintf("%d workers and %d urgent, one job: %t", tt.workers, tt.urgent, tt.one), func(t *testing.T) {
			t.Parallel()
			const tasks, least, most = 200, 200 * 6 / 100, 200 * 25 / 100
			b := bustest.New(t)
			interactive := func(i int64) bus.Message {
				if tt.one {
					return messageOf("i", fmt.Sprintf("page-%d", i), bus.Interactive)
				}
				return messageOf(fmt.Sprintf("i%d", i), "page-1", bus.Interactive)
			}
			for i := range 2 * most {
				publish(t, b, message(fmt.Sprintf("b%d", i), bus.Batch))
			}
			const ahead = 20
			for i := range ahead {
				publish(t, b, interactive(int64(i)))
			}
			var taken, batch atomic.Int64
			enough := make(chan struct{})
			r := newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
				// As long as real work takes at least. A queue that is emptied faster than its server tells the consumer looks
				// empty.
				<-time.After(2 * time.Millisecond)
				if d.Lane == bus.Batch {
					batch.Add(1)
					return nil
				}
				n := taken.Add(1)
				if n == tasks {
					close(enough)
				}
				return b.Publish(ctx, interactive(ahead+n)) // they never end
			})
			r.seenCh = make(chan string, 10*tasks)
			start(t, b, bus.ConsumerConfig{Workers: tt.workers, UrgentWorkers: tt.urgent}, r)
			<-enough
			// A batch task in hand has its share of the time as well, while interactive ones go by; and the last picks may
			// still be owed.
			if got := batch.Load(); got < least || got > most {
				t.Errorf("%d batch tasks beside %d interactive ones, want %d to %d", got, tasks, least, most)
			}
		})
	}
}

// A task that waits for something for longer than the crash net's deliveries is not taken for one that kills its
// handlers.
func TestTaskThatWaitsIsNoOrphan(t *testing.T) {
	t.Parallel()
	b := bustest.NewWithTopology(t, bus.Topology{MaxDeliver: 2})
	var tries atomic.Int32
	queued := make(chan time.Time, 10)
	h := newRecorder(func(_ context.Context, _ int, d *bus.Delivery) error {
		queued <- d.Queued
		if tries.Add(1) <= 5 {
			return fault.New(fault.Unavailable, "away")
		}
		return nil
	})
	start(t, b, bus.ConsumerConfig{Workers: 1}, h)
	publish(t, b, message("page-1", bus.Interactive))
	first := <-queued
	bustest.Eventually(t, "the task is done at its sixth delivery",
		func() bool { return tries.Load() == 6 && messages(t, b, bus.OCR.StreamName()) == 0 })
	if n := len(h.counts); n > 0 {
		t.Errorf("%d tasks with counted failures, want none", n)
	}
	for range 5 {
		if at := <-queued; !at.Equal(first) {
			t.Errorf("queued at %s, want %s: who waits would never know for how long", at, first)
		}
	}
}
