package bus_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// fairnessFixture is a handler of which the tasks of one job, "slow", take until they are released.
type fairnessFixture struct {
	*recorder
	release chan struct{}
	taken   chan *bus.Delivery
}

func newFairnessFixture() *fairnessFixture {
	c := &fairnessFixture{release: make(chan struct{}), taken: make(chan *bus.Delivery, 100)}
	c.recorder = newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		c.taken <- d
		if d.Job == "slow" {
			select {
			case <-c.release:
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	})
	return c
}

// inHand returns how many tasks of a lane are with consumers.
func inHand(t *testing.T, b *bus.Bus, l bus.Lane) int {
	t.Helper()
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, l))
	if err != nil {
		t.Fatal(err)
	}
	return cons.CachedInfo().NumAckPending
}

// A job all of whose tasks take long has every shared slot, but the urgent one is for others: they pass what more of
// it there is.
func TestTasksOfOneJobDoNotBlockOtherJobs(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	rig := newFairnessFixture()
	const workers, pages = 2, 6
	start(t, b, bus.ConsumerConfig{Workers: workers, UrgentWorkers: 1, FairnessWait: 50 * time.Millisecond}, rig)
	for i := range pages {
		publish(t, b, messageOf("slow", fmt.Sprintf("page-%d", i), bus.Interactive))
	}
	publish(t, b, messageOf("quick", "page-1", bus.Interactive))
	var slow []string
	for {
		d := <-rig.taken
		if d.Job == "quick" {
			break
		}
		slow = append(slow, d.ID)
	}
	if len(slow) != workers {
		t.Errorf("%d tasks of the slow job were taken up, want %d and the urgent slot free", len(slow), workers)
	}
	// Those that come later pass as well.
	publish(t, b, messageOf("late", "page-1", bus.Interactive))
	if d := <-rig.taken; d.Job != "late" {
		t.Errorf("taken up: %s, want the late job's task", d.ID)
	}
	close(rig.release)
	for range pages - workers {
		d := <-rig.taken
		if d.Lane != bus.Interactive || slices.Contains(slow, d.ID) {
			t.Errorf("taken up: %s of the %s lane, want another one of the interactive lane", d.ID, d.Lane)
		}
		slow = append(slow, d.ID)
	}
	bustest.Eventually(t, "no task is left", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	if n := len(rig.taken); n > 0 {
		t.Errorf("%d tasks were taken up once more", n)
	}
}

// While the tasks of a job end soon, no other of it leaves its lane, and each is handled once.
func TestQuickTasksOfOneJobStayInTheirLane(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const pages = 50
	var mu sync.Mutex
	lanes := map[bus.Lane]int{}
	r := newRecorder(func(_ context.Context, _ int, d *bus.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		lanes[d.Lane]++
		return nil
	})
	for i := range pages {
		publish(t, b, messageOf("j1", fmt.Sprintf("page-%d", i), bus.Interactive))
	}
	start(t, b, bus.ConsumerConfig{Workers: 2, UrgentWorkers: 1}, r)
	for range pages {
		<-r.seenCh
	}
	mu.Lock()
	defer mu.Unlock()
	if lanes[bus.Interactive] != pages {
		t.Errorf("lanes: %v, want %d tasks of the interactive one", lanes, pages)
	}
}

// A consumer that stops hands back the task that it holds at once, though others are still in its hands.
func TestDeferredTaskIsReturned(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	first, second := newFairnessFixture(), newFairnessFixture()
	defer close(second.release)
	stop := start(t, b, bus.ConsumerConfig{Workers: 1, UrgentWorkers: 1, FairnessWait: time.Hour,
		DrainTimeout: time.Minute}, first)
	publish(t, b, messageOf("slow", "page-1", bus.Interactive), messageOf("slow", "page-2", bus.Interactive))
	one := <-first.taken
	bustest.Eventually(t, "the second task is held", func() bool { return inHand(t, b, bus.Interactive) == 2 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	start(t, b, bus.ConsumerConfig{Workers: 1}, second)
	if two := <-second.taken; two.ID == one.ID {
		t.Errorf("the other consumer has %s, which is in hand", two.ID)
	}
	close(first.release)
	<-stopped
}

// A task that waits for a slot for as long as a handler may take, with a heartbeat from its pull on, has all of its
// time to itself when it gets one: no consumer has it a second time.
func TestHeldTaskHasItsWholeTime(t *testing.T) {
	t.Parallel()
	const ackWait, deadline = 600 * time.Millisecond, 1800 * time.Millisecond
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: ackWait})
	delivered := make(chan uint64, 10)
	r := newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		delivered <- d.Delivered
		<-ctx.Done() // the whole of its time
		return nil
	})
	cfg := bus.ConsumerConfig{Workers: 1, Deadline: deadline}
	start(t, b, cfg, r)
	bustest.Eventually(t, "a pull waits in each lane", func() bool {
		return waitingPulls(t, b, bus.Interactive) > 0 && waitingPulls(t, b, bus.Batch) > 0
	})
	publish(t, b, messageOf("j1", "page-1", bus.Interactive), messageOf("j2", "page-1", bus.Batch))
	bustest.Eventually(t, "both are pulled",
		func() bool { return inHand(t, b, bus.Interactive)+inHand(t, b, bus.Batch) == 2 })
	start(t, b, cfg, r) // idle, and has what the broker believes to be left
	bustest.Eventually(t, "no task is left", func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	if n := len(delivered); n != 2 {
		t.Errorf("tasks were taken up %d times, want 2", n)
	}
	for range 2 {
		if times := <-delivered; times != 1 {
			t.Errorf("a task is delivered for the %d. time", times)
		}
	}
}

// waitingPulls returns how many consumers wait for tasks of a lane.
func waitingPulls(t *testing.T, b *bus.Bus, l bus.Lane) int {
	t.Helper()
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, l))
	if err != nil {
		t.Fatal(err)
	}
	return cons.CachedInfo().NumWaiting
}
