package bus_test

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// A server that answers and takes no writes is not well, and is again when it does.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	b := bustest.Connect(t, bustest.StartServer(t))
	if err := b.CheckWrites(t.Context()); err != nil {
		t.Errorf("before there are streams: got %v, want no error", err)
	}
	b = bustest.New(t)
	bound := func(bytes int64) {
		t.Helper()
		s, err := b.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	bound(1000)
	for range 2 {
		if err := b.CheckWrites(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "NATS refuses writes: free its disk, then restart it") {
			t.Errorf("full: got %v, want that NATS refuses writes", err)
		}
		if err := b.CheckServer(t.Context()); err != nil {
			t.Errorf("full, CheckServer: got %v, want no error: the server answers", err)
		}
	}
	bound(-1)
	seq := func() uint64 {
		t.Helper()
		s, err := b.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo().State.LastSeq
	}
	before := seq()
	for range 3 {
		if err := b.CheckWrites(t.Context()); err != nil {
			t.Errorf("with room: got %v, want no error", err)
		}
	}
	if got := seq() - before; got != 1 {
		t.Errorf("three checks wrote %d times, want once", got)
	}
}

// Every service's user may do what its readiness check does.
func TestServicesCanProbeWrites(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	if err := s.Connect(t, bus.AdminUser).Provision(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	for _, user := range bus.AllUsers() {
		b := s.Connect(t, user)
		if got, want := b.CanProbeWrite(t.Context()), user != bus.AdminUser; got != want {
			t.Errorf("%s may try writes: %t, want %t", user, got, want)
			continue
		}
		if user == bus.AdminUser {
			continue
		}
		if err := b.CheckWrites(t.Context()); err != nil {
			t.Errorf("%s: got %v, want no error", user, err)
		}
	}
}
