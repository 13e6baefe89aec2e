package bustest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// The traps of a replicated broker, each on a real cluster: they share one, because it takes seconds to start. The
// last ones restart it.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	b := c.Connect(bus.Topology{MaxTasks: 2, AckWait: time.Second})
	t.Run("topology", func(t *testing.T) { testReplicas(t, b) })
	t.Run("conflicts are found", func(t *testing.T) { testConflicts(t, bustest.NewJobStore(t, b)) })
	t.Run("a crowd writes", func(t *testing.T) { testConcurrentUpdates(t, bustest.NewJobStore(t, b)) })
	t.Run("one of a crowd takes over", func(t *testing.T) { testTakeover(t, bustest.NewJobStore(t, b)) })
	t.Run("a full queue is told", func(t *testing.T) { testFull(t, b) })
	t.Run("no stale reads", func(t *testing.T) { testStaleReads(t, c) })
	t.Run("a request without a leader is repeated", func(t *testing.T) { testLeaderless(t, c) })
	t.Run("a rolling restart forgets ids", func(t *testing.T) { testForgottenTasks(t, b, c.RollingRestart) })
}

// The same, as far as it goes, on a single server.
func TestSingleServerKeepsContract(t *testing.T) {
	t.Parallel()
	broker := bustest.NewBroker(t)
	b := broker.Connect()
	if err := b.Provision(t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Run("conflicts are found", func(t *testing.T) { testConflicts(t, bustest.NewJobStore(t, b)) })
	t.Run("a crowd writes", func(t *testing.T) { testConcurrentUpdates(t, bustest.NewJobStore(t, b)) })
	t.Run("one of a crowd takes over", func(t *testing.T) { testTakeover(t, bustest.NewJobStore(t, b)) })
	t.Run("a restart forgets ids", func(t *testing.T) { testForgottenTasks(t, b, broker.RestartServer) })
}

func testReplicas(t *testing.T, b *bus.Bus) {
	streams := b.JetStream().ListStreams(t.Context())
	n := 0
	for info := range streams.Info() {
		if n++; info.Config.Replicas != bustest.ClusterSize {
			t.Errorf("stream %s: %d replicas, want %d", info.Config.Name, info.Config.Replicas, bustest.ClusterSize)
		}
	}
	if err := streams.Err(); err != nil || n < 9 {
		t.Errorf("%d streams, %v, want all 9", n, err)
	}
}

func record() *job.Record {
	return &job.Record{ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Running, CreateTime: time.Now()}
}

// testConflicts has another writer write between each reading and writing. The broker's code for that differs between
// one replica and several.
func testConflicts(t *testing.T, jobs *job.Store) {
	rec := record()
	if err := jobs.CreateRecord(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := jobs.CreateRecord(t.Context(), rec); !errors.Is(err, job.ErrExists) {
		t.Errorf("second Create: %v, want %v", err, job.ErrExists)
	}
	const rivals = 3
	tries := 0
	got, err := jobs.UpdateRecord(t.Context(), rec.Tenant, rec.ID, func(r *job.Record) error {
		if tries++; tries <= rivals {
			_, err := jobs.UpdateRecord(t.Context(), rec.Tenant, rec.ID, func(r *job.Record) error { r.PageCount++; return nil })
			if err != nil {
				return err
			}
		}
		r.PageCount += 10
		return nil
	})
	if err != nil {
		t.Fatalf("Update with conflicts: %v", err)
	}
	if want := rivals + 10; got.PageCount != want || tries != rivals+1 {
		t.Errorf("after %d tries the count is %d, want %d after %d", tries, got.PageCount, want, rivals+1)
	}
}

// testConcurrentUpdates has many write at once, so that writes are on their way when others come: several replicas
// have a code of their own for that.
func testConcurrentUpdates(t *testing.T, jobs *job.Store) {
	rec := record()
	if err := jobs.CreateRecord(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 10
	var crowd errgroup.Group
	for range writers {
		crowd.Go(func() error {
			for range each {
				if _, err := jobs.UpdateRecord(t.Context(), rec.Tenant, rec.ID,
					func(r *job.Record) error { r.PageCount++; return nil }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := crowd.Wait(); err != nil {
		t.Fatalf("Update in a crowd: %v", err)
	}
	if got, err := jobs.LoadRecord(t.Context(), rec.Tenant, rec.ID); err != nil || got.PageCount != writers*each {
		t.Errorf("the count is %d, %v, want %d", got.PageCount, err, writers*each)
	}
}

// testTakeover has many jobs take over the same claims at once: one gets each, and the others are told that another
// was faster, whatever the broker's code.
func testTakeover(t *testing.T, jobs *job.Store) {
	old := record()
	old.SHA256 = "ab"
	claim := job.Claim{Job: old.ID}
	if _, err := jobs.ClaimIdempotencyKey(t.Context(), old.Tenant, "key", claim); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.ClaimContent(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	for what, take := range map[string]func(*job.Record) error{
		"content": func(r *job.Record) error { return jobs.ReplaceContent(t.Context(), r, old.ID) },
		"idempotency key": func(r *job.Record) error {
			return jobs.ReplaceClaim(t.Context(), r.Tenant, "key", claim, job.Claim{Job: r.ID})
		},
	} {
		var won atomic.Int32
		var crowd errgroup.Group
		for range 8 {
			r := record()
			r.SHA256 = old.SHA256
			crowd.Go(func() error {
				err := take(r)
				if err == nil {
					won.Add(1)
				}
				if errors.Is(err, job.ErrExists) || errors.Is(err, job.ErrNotFound) {
					return nil
				}
				return err
			})
		}
		if err := crowd.Wait(); err != nil || won.Load() != 1 {
			t.Errorf("%s: %d took it over, %v, want 1 and no error", what, won.Load(), err)
		}
	}
}

// testFull fills the queue, whose bound the leader judges before anything is replicated.
func testFull(t *testing.T, b *bus.Bus) {
	var full error
	for i := 0; full == nil && i < 20; i++ {
		full = b.Publish(t.Context(), bus.Message{
			Stage: bus.Ingest, Lane: bus.Batch, Unit: fmt.Sprintf("u%d", i),
			Task: &busv1.IngestTask{Unit: &busv1.Unit{Tenant: "default", Job: "j1", Run: 1}},
		})
	}
	if fault.CodeOf(full) != fault.QueueFull || fault.KindOf(full) != fault.Busy {
		t.Errorf("got %v (%s), want %s, busy", full, fault.KindOf(full), fault.QueueFull)
	}
}

// testStaleReads reads through a node whose network is slow what was written through the others just before. A write
// is acknowledged when two of three have it, so the third still has the old record, and must not be the one who
// answers.
func testStaleReads(t *testing.T, c *bustest.Cluster) {
	const delay = 50 * time.Millisecond
	leader, canary := c.StreamLeader("KV_"+bus.JobBucket), startUpdateProbe(t, c)
	slow := 0
	for slow == leader || slow == canary {
		slow++
	}
	through := bustest.ConnectURL(t, c.NodeURL(slow))
	writer, reader := bustest.NewJobStore(t, bustest.ConnectURL(t, c.NodeURL(leader))), bustest.NewJobStore(t, through)
	c.SetNodeDelay(slow, delay)
	defer c.SetNodeDelay(slow, 0)
	awaitProbeUpdate(t, through, delay)
	stale, missing := 0, 0
	const rounds = 5
	for range rounds {
		rec := record()
		if err := writer.CreateRecord(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.LoadRecord(t.Context(), rec.Tenant, rec.ID); errors.Is(err, job.ErrNotFound) {
			missing++
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.UpdateRecord(t.Context(), rec.Tenant, rec.ID,
			func(r *job.Record) error { r.Run = 2; return nil }); err != nil {
			t.Fatal(err)
		}
		got, err := reader.LoadRecord(t.Context(), rec.Tenant, rec.ID)
		if err != nil && !errors.Is(err, job.ErrNotFound) {
			t.Fatal(err)
		}
		if err == nil && got.Run != 2 {
			stale++
		}
	}
	if stale > 0 || missing > 0 {
		t.Errorf("of %d records %d were missing and %d old after they had been written, want none", rounds, missing, stale)
	}
}

// startUpdateProbe makes a stream whose replicas may answer reads, and returns the node that leads it.
func startUpdateProbe(t *testing.T, c *bustest.Cluster) int {
	t.Helper()
	js := bustest.ConnectURL(t, c.ClientURLs()).JetStream()
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "CANARY", Subjects: []string{"canary"}, Replicas: bustest.ClusterSize, AllowDirect: true,
	})
	if err == nil {
		_, err = js.Publish(t.Context(), "canary", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.StreamLeader("CANARY")
}

// awaitProbeUpdate waits until the node that b is connected to answers reads by itself, where it may: a replica
// begins with that some seconds after it is there. What is as old as the canary could be answered by it then as well.
func awaitProbeUpdate(t *testing.T, b *bus.Bus, delay time.Duration) {
	t.Helper()
	bustest.Eventually(t, "the slow node answers reads by itself", func() bool {
		s, err := b.JetStream().Stream(t.Context(), "CANARY")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = s.GetLastMsgForSubject(t.Context(), "canary")
		return err == nil && time.Since(start) < delay
	})
}

// testForgottenTasks repeats a message after a restart. The queue has forgotten its id with the message, and takes it
// again; that is known of the broker, and why the compare-and-set of job state is what counts (pkg/stage tests that
// nothing is done twice for it).
func testForgottenTasks(t *testing.T, b *bus.Bus, restart func()) {
	again := bus.Message{
		Stage: bus.OCR, Lane: bus.Interactive, Unit: "page-1",
		Task: &busv1.OcrTask{Unit: &busv1.Unit{Tenant: "default", Job: "j1", Run: 1}},
	}
	if err := b.Publish(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	handled := make(chan struct{}, 10)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	consumer := b.NewConsumer(bus.OCR, bus.ConsumerConfig{Workers: 1, Deadline: time.Minute, DrainTimeout: time.Second},
		handler{handled})
	go func() { done <- consumer.Run(ctx, func() {}) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	<-handled
	awaitEmpty(t, b)
	if err := b.Publish(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := queued(t, b); got != 0 {
		t.Errorf("before the restart the repeat was taken: %d tasks queued, want 0", got)
	}
	restart()
	if err := b.Publish(t.Context(), again); err != nil {
		t.Fatalf("publish after the restart: %v", err)
	}
	select {
	case <-handled:
	case <-time.After(20 * time.Second):
		t.Error("the repeat was absorbed: the broker has learned to remember, and pkg/stage need no longer expect it")
	}
	awaitEmpty(t, b)
}

// testLeaderless starts a service and provisions while one node of three is left, which gets no votes to become the
// leader; then the others come back.
func testLeaderless(t *testing.T, c *bustest.Cluster) {
	one := bustest.ConnectURL(t, c.NodeURL(0))
	c.StopNode(1)
	c.StopNode(2)
	before := one.JetStream().Conn().Stats().OutMsgs
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	consumer := one.NewConsumer(bus.Scan, bus.ConsumerConfig{Workers: 1, Deadline: time.Minute,
		DrainTimeout: time.Second}, handler{})
	var both errgroup.Group
	both.Go(func() error { return consumer.Run(ctx, stop) })
	both.Go(func() error {
		return one.Provision(t.Context(), bus.Topology{Replicas: bustest.ClusterSize, MaxTasks: 2, AckWait: time.Second})
	})
	bustest.Eventually(t, "both ask", func() bool { return one.JetStream().Conn().Stats().OutMsgs >= before+2 })
	c.StartNode(1)
	c.StartNode(2)
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
}

type handler struct{ handled chan struct{} }

func (h handler) HandleTask(context.Context, *bus.Delivery) error {
	h.handled <- struct{}{}
	return nil
}
func (handler) CountFailure(context.Context, *bus.Delivery, error) (int, error) { return 1, nil }
func (handler) RecordGiveUp(context.Context, *bus.Delivery, error) error        { return nil }

func queued(t *testing.T, b *bus.Bus) uint64 {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), bus.OCR.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func awaitEmpty(t *testing.T, b *bus.Bus) {
	t.Helper()
	bustest.Eventually(t, "the queue is empty", func() bool { return queued(t, b) == 0 })
}
