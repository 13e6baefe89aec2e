// Package bustest gives tests a real NATS server of their own.
package bustest

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
)

// New returns a bus on a server of its own, with every stream in place. Unsettled messages come back after a second.
func New(t testing.TB) *bus.Bus {
	t.Helper()
	return NewWithTopology(t, bus.Topology{AckWait: time.Second})
}

// NewWithTopology is New with another topology.
func NewWithTopology(t testing.TB, topology bus.Topology) *bus.Bus {
	t.Helper()
	b := Connect(t, StartServer(t))
	if err := b.Provision(t.Context(), topology); err != nil {
		t.Fatalf("provision: %v", err)
	}
	return b
}

// NewJobStore returns the store of job records on a bus.
func NewJobStore(t testing.TB, b *bus.Bus) *job.Store {
	t.Helper()
	kv, err := b.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatalf("jobs bucket: %v", err)
	}
	return job.NewStore(kv)
}

// ExpireMessageIDs has a stream's window be over, within which the broker absorbs repeats of messages.
func ExpireMessageIDs(t testing.TB, b *bus.Bus, stream string) {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	subject := strings.NewReplacer("*", "x", ">", "x").Replace(cfg.Subjects[0])
	// Twice, because the server may look what is over before it has taken note of the change, and then not again in all
	// of the old window.
	for _, window := range []time.Duration{101 * time.Millisecond, 100 * time.Millisecond} {
		cfg.Duplicates = window
		if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	published := false
	Eventually(t, "the window is over", func() bool {
		ack, err := b.JetStream().Publish(t.Context(), subject, nil, jetstream.WithMsgID("probe"))
		again := err == nil && !ack.Duplicate && published
		published = published || err == nil
		return again
	})
}
