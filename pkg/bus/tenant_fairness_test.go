package bus_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

func messageOfTenant(tenant, job, unit string, lane bus.Lane) bus.Message {
	m := messageOf(job, unit, lane)
	m.Task = &busv1.OcrTask{Unit: &busv1.Unit{Tenant: tenant, Job: job, Run: 1}}
	return m
}

// tenantFixture is a handler whose tasks of tenants that begin with "hostile" take until they are released. It counts
// what is in hand.
type tenantFixture struct {
	*recorder
	release chan struct{}
	taken   chan *bus.Delivery // of other tenants

	mu     sync.Mutex // guards inHand
	inHand int        // of hostile tenants
}

func newTenantFixture() *tenantFixture {
	f := &tenantFixture{release: make(chan struct{}), taken: make(chan *bus.Delivery, 1000)}
	f.recorder = newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		if !strings.HasPrefix(d.Tenant, "hostile") {
			f.taken <- d
			return nil
		}
		f.mu.Lock()
		f.inHand++
		f.mu.Unlock()
		select {
		case <-f.release:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	return f
}

func (f *tenantFixture) countInHand() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inHand
}

// However many tasks hostile tenants have queued in whatever lane, all of which take for ever, another tenant's tasks
// are done one by one, in each lane, also those that come later.
func TestTenantsDoNotKeepEachOtherOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		workers, tenants, jobs, tasks int
		proven                        bool // another tenant has had tasks done before
	}{{1, 1, 10, 4, false}, {2, 1, 50, 6, false}, {2, 3, 5, 4, false}, {2, 10, 5, 6, true}} {
		t.Run(fmt.Sprintf("%d workers, %d hostile tenants", tt.workers, tt.tenants), func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			f := newTenantFixture()
			defer close(f.release)
			if tt.proven {
				publish(t, b, messageOfTenant("other", "before", "page-1", bus.Interactive))
			}
			for i := range tt.jobs * tt.tasks {
				lane := bus.Interactive
				if i%4 == 3 {
					lane = bus.Batch
				}
				publish(t, b, messageOfTenant(fmt.Sprintf("hostile%d", i%tt.tenants), fmt.Sprintf("j%d", i%tt.jobs),
					fmt.Sprintf("page-%d", i), lane))
			}
			cfg := bus.ConsumerConfig{Workers: tt.workers, UrgentWorkers: 1, ReservedWorkers: 1, Deadline: time.Minute}
			switch {
			case tt.proven: // hostile tenants take one with a first task, and then the other is for who is known
				cfg.ReservedWorkers = 2
			case tt.tenants > 1: // as many as hostile tenants may take with their first tasks, one, and one for who is known
				cfg.ReservedWorkers = tt.tenants
			}
			start(t, b, cfg, f)
			if tt.proven {
				<-f.taken
			}
			bustest.Eventually(t, "all slots that are for them are taken by hostile tenants",
				func() bool { return f.countInHand() >= tt.workers+1 })
			for i := range 6 {
				lane := []bus.Lane{bus.Interactive, bus.Batch}[i%2]
				publish(t, b, messageOfTenant("other", fmt.Sprintf("o%d", i), "page-1", lane))
				select {
				case d := <-f.taken:
					if d.Job != fmt.Sprintf("o%d", i) {
						t.Errorf("taken up: job %s, want o%d", d.Job, i)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("a task of the %s lane waits for tasks of hostile tenants, of which %d are in hand", lane,
						f.countInHand())
				}
			}
		})
	}
}

// A task that takes long comes back in the batch lane, marked; and however many such tasks there are, they do not take
// all slots.
func TestTasksThatTakeLongGoBehind(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	const workers, tasks = 4, 12
	slow, quick := make(chan *bus.Delivery, 100), make(chan *bus.Delivery, 100)
	release := make(chan struct{})
	var mu sync.Mutex
	var inHand, most int
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inHand += n
		most = max(most, inHand)
	}
	r := newRecorder(func(ctx context.Context, _ int, d *bus.Delivery) error {
		switch {
		case strings.HasPrefix(d.Job, "quick"):
			quick <- d
			return nil
		case !d.Slow:
			return bus.ErrTakesLong
		}
		count(1)
		defer count(-1)
		slow <- d
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	start(t, b, bus.ConsumerConfig{Workers: workers, UrgentWorkers: 1, ReservedWorkers: 1, Deadline: time.Minute}, r)
	for i := range tasks {
		publish(t, b, messageOf(fmt.Sprintf("slow%d", i), "page-1", bus.Interactive))
	}
	for range workers / 2 {
		if d := <-slow; d.Lane != bus.Batch || d.Queued.IsZero() || !strings.Contains(d.ID, "#s") {
			t.Errorf("taken up: %s of the %s lane, queued %v, want a marked copy in the batch lane", d.ID, d.Lane, d.Queued)
		}
	}
	bustest.Eventually(t, "all have had their first try",
		func() bool { return inHandOrQueued(t, b, bus.Interactive) == 0 })
	for i := range 20 { // one after the other: all of them pass those that take long
		publish(t, b, messageOf(fmt.Sprintf("quick%d", i), "page-1", bus.Batch))
		select {
		case <-quick:
		case <-time.After(20 * time.Second):
			t.Fatal("a quick task of the batch lane waits for those that take long")
		}
	}
	close(release)
	bustest.EventuallyWithin(t, 40*time.Second, "no task is left",
		func() bool { return messages(t, b, bus.OCR.StreamName()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if most > workers/2 {
		t.Errorf("%d tasks that take long were in hand at a time, want at most %d", most, workers/2)
	}
	if n := len(slow); n != tasks-workers/2 {
		t.Errorf("%d more tasks that take long were done, want %d", n, tasks-workers/2)
	}
}

// A consumer all of whose shared slots are taken does not take tasks from one that is idle, to put them aside, because
// a task of another tenant is in hand elsewhere. It looks for that task again after a second in vain, two more, four
// more and so on, and may take one task each time.
func TestTasksAreNotTakenFromIdleConsumers(t *testing.T) {
	t.Parallel()
	b := bustest.NewWithTopology(t, bus.Topology{AckWait: time.Minute}) // what is fetched stays in hand without a sign of life
	publish(t, b, messageOfTenant("other", "o1", "page-1", bus.Batch))
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, bus.Batch))
	if err != nil {
		t.Fatal(err)
	}
	fetched := make(chan jetstream.Msg, 1)
	fetch := func() {
		got, err := cons.Fetch(1, jetstream.FetchContext(t.Context()))
		if err != nil {
			if t.Context().Err() == nil {
				t.Error(err)
				close(fetched)
			}
			return
		}
		for msg := range got.Messages() {
			fetched <- msg
		}
	}
	fetch()
	<-fetched // and is in hand from now on
	f := newTenantFixture()
	defer close(f.release)
	for i := range 2 { // one in hand, one held
		publish(t, b, messageOfTenant("hostile", "h1", fmt.Sprintf("page-%d", i), bus.Batch))
	}
	began, aside := time.Now(), 0
	start(t, b, bus.ConsumerConfig{Workers: 1, ReservedWorkers: 1, Deadline: time.Minute}, f)
	bustest.Eventually(t, "one task is in hand, and one held", func() bool { return inHand(t, b, bus.Batch) == 3 })
	go fetch() // with the fetch of each turn there are two, so that one waits at any time
	for i := range 30 {
		go fetch()
		bustest.Eventually(t, "the other consumer waits", func() bool { return waitingPulls(t, b, bus.Batch) > 1 })
		publish(t, b, messageOfTenant("hostile", "h1", fmt.Sprintf("more-%d", i), bus.Batch))
		meta, err := (<-fetched).Metadata()
		if err != nil {
			t.Fatal(err)
		}
		aside += int(meta.NumDelivered) - 1
		if most := int(math.Log2(1 + time.Since(began).Seconds())); aside > most {
			t.Fatalf("task %d: %d were put aside though a consumer was idle, want at most %d", i, aside, most)
		}
	}
}

// inHandOrQueued returns how many tasks of a lane are with consumers or queued.
func inHandOrQueued(t *testing.T, b *bus.Bus, l bus.Lane) int {
	t.Helper()
	cons, err := b.JetStream().Consumer(t.Context(), bus.OCR.StreamName(), bus.DurableName(bus.OCR, l))
	if err != nil {
		t.Fatal(err)
	}
	info := cons.CachedInfo()
	return info.NumAckPending + int(info.NumPending)
}
