package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// Who provisions changes how many servers keep a stream only where that is asked for, and what cannot be done without
// a leader is told so. The tests share a cluster, because it takes seconds to start; the last one stops it.
func TestReplicasOfCluster(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	b := bustest.ConnectURL(t, c.ClientURLs())
	if err := b.CheckProvisioned(t.Context()); err == nil || !strings.Contains(err.Error(), "inkstream provision") {
		t.Errorf("before anybody has provisioned: %v, want what to run", err)
	}
	inspect := func(after string, want int) {
		t.Helper()
		if found, got, err := b.InspectTopology(t.Context(), bus.Topology{}); err != nil || len(found) > 0 || got != want {
			t.Errorf("after %s: %d replicas, %v, %v, want %d and nothing wrong", after, got, found, err, want)
		}
	}
	for _, tt := range []struct {
		asked    string
		topology bus.Topology
	}{{"nothing, at first", bus.Topology{}}, {"one", bus.Topology{Replicas: 1}}, {"nothing", bus.Topology{}}} {
		if err := b.Provision(t.Context(), tt.topology); err != nil {
			t.Fatalf("provision, asked for %s: %v", tt.asked, err)
		}
		inspect("being asked for "+tt.asked, 3)
	}
	err := b.Provision(t.Context(), bus.Topology{Replicas: 5})
	if err == nil || !strings.Contains(err.Error(), "5 servers") || !strings.Contains(err.Error(), "--nats.replicas") {
		t.Errorf("five replicas on three servers: %v, want how many it takes", err)
	}
	lowered := map[string]int{}
	if err := b.Provision(t.Context(), bus.Topology{Replicas: 1,
		OnLowerReplicas: func(stream string, from, to int) { lowered[stream] = 10*from + to }}); err != nil {
		t.Fatalf("lower: %v", err)
	}
	inspect("being lowered", 1)
	for _, stream := range []string{bus.OCR.StreamName(), bus.EventStream, "KV_" + bus.JobBucket, "KV_" + bus.KeyBucket} {
		if lowered[stream] != 31 {
			t.Errorf("lowered %v, want %s from 3 to 1", lowered, stream)
		}
	}
	// A stream that one server keeps needs no other to answer.
	if err := b.Provision(t.Context(), bus.Topology{Replicas: 3}); err != nil {
		t.Fatalf("raise: %v", err)
	}
	inspect("being raised", 3)
	// A server answers for a consumer whose replicas have never had a leader, and goes on doing so when it is the only
	// one left.
	bustest.EventuallyWithin(t, time.Minute, "all replicas are in step",
		func() bool { return replicasCurrent(t, b, bus.Scan) })
	c.StopNode(1)
	c.StopNode(2)
	one := bustest.ConnectURL(t, c.NodeURL(0))
	bustest.Eventually(t, "the cluster has lost its leader",
		func() bool { return errors.Is(one.CheckServer(t.Context()), bus.ErrNoLeader) })
	// A leader goes on answering for some seconds before it notices that the others are gone.
	var last error
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last answer: %v", last)
		}
	})
	bustest.EventuallyWithin(t, time.Minute, "the stream has lost its leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		last = one.CheckTopology(ctx, bus.Scan)
		return errors.Is(last, bus.ErrNoLeader)
	})
	for what, ask := range map[string]func(context.Context) error{
		"check":                        one.CheckServer,
		"provisioned":                  func(ctx context.Context) error { return one.CheckTopology(ctx) },
		"check of what is provisioned": func(ctx context.Context) error { return one.CheckProvisioned(ctx) },
		"inspect": func(ctx context.Context) error {
			_, _, err := one.InspectTopology(ctx, bus.Topology{})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := ask(ctx); !errors.Is(err, bus.ErrNoLeader) || strings.Contains(err.Error(), "no streams") {
			t.Errorf("%s on one server of three: %v, want %v", what, err, bus.ErrNoLeader)
		}
		cancel()
	}
	if got := awaitLog(t, c.NodeURL(0)); !strings.Contains(got, "has no leader") || strings.Contains(got, "no streams") {
		t.Errorf("log: %q, want it to tell of the leader", got)
	}
}

// replicasCurrent reports whether two servers follow the leader of everything that a stage's service asks for.
func replicasCurrent(t *testing.T, b *bus.Bus, s bus.Stage) bool {
	t.Helper()
	var groups []*jetstream.ClusterInfo
	for _, l := range []bus.Lane{bus.Interactive, bus.Batch} {
		cons, err := b.JetStream().Consumer(t.Context(), s.StreamName(), bus.DurableName(s, l))
		if err != nil {
			return false
		}
		groups = append(groups, cons.CachedInfo().Cluster)
	}
	for _, name := range []string{s.StreamName(), "KV_" + bus.JobBucket} {
		stream, err := b.JetStream().Stream(t.Context(), name)
		if err != nil {
			return false
		}
		groups = append(groups, stream.CachedInfo().Cluster)
	}
	return !slices.ContainsFunc(groups, func(g *jetstream.ClusterInfo) bool {
		behind := func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline }
		return g == nil || g.Leader == "" || len(g.Replicas) != 2 || slices.ContainsFunc(g.Replicas, behind)
	})
}

// logBuffer is a log.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// connect connects with a log of the test's own.
func connect(t *testing.T, url string, log *logBuffer, opts ...nats.Option) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(url, "test", slog.New(slog.NewTextHandler(log, nil)), nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// awaitLog waits for what a service needs until the log tells of that, and returns the log.
func awaitLog(t *testing.T, url string) string {
	t.Helper()
	log := &logBuffer{}
	b := connect(t, url, log)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- b.AwaitProvisioned(ctx, bus.Scan) }()
	bustest.Eventually(t, "the log tells of the wait", func() bool { return strings.Contains(log.String(), "level=WARN") })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("await: %v, want %v", err, context.Canceled)
	}
	return log.String()
}

// The log says why there is no connection, not what became of a request without one.
func TestLogSaysWhyThereIsNoConnection(t *testing.T) {
	t.Parallel()
	if got := awaitLog(t, "nats://127.0.0.1:1"); !strings.Contains(got,
		"no connection to NATS at 127.0.0.1:1: dial tcp") || strings.Contains(got, "buffer") {
		t.Errorf("log: %q, want that the connection was refused", got)
	}
}

// Who is refused hears by which server, and which flags name the key.
func TestRefusedUserErrorNamesTheCause(t *testing.T) {
	t.Parallel()
	s, other := bustest.NewSecuredServer(t), bustest.NewSecuredServer(t)
	credentials := bus.Credentials{NKey: other.SeedFile(string(bus.Scan))}
	opts, err := credentials.Options()
	if err != nil {
		t.Fatal(err)
	}
	b := connect(t, s.ClientURL(), &logBuffer{}, opts...)
	for what, err := range map[string]error{"await": b.AwaitProvisioned(t.Context(), bus.Scan),
		"check": b.CheckServer(t.Context())} {
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Fatalf("%s: %v, want a refusal", what, err)
		}
		for _, want := range []string{strings.TrimPrefix(s.ClientURL(), "nats://"), "--nats.nkey"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to name %s", what, err, want)
			}
		}
	}
}

// A server that hangs is left before its tasks would be delivered again.
func TestHungServerIsDisconnected(t *testing.T) {
	t.Parallel()
	opts := bustest.New(t).JetStream().Conn().Opts
	if got := opts.PingInterval * time.Duration(opts.MaxPingsOut+1); got > 30*time.Second {
		t.Errorf("a server that hangs is left after %s, want 30s at most", got)
	}
}
