// Package bustest gives tests a real NATS server of their own.
package bustest

import (
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
)

// Server starts a server in a folder of its own; it stops with the test. It does not sync every write, as no test outlives its machine.
func Server(t testing.TB) *embedded.Server {
	t.Helper()
	srv, err := embedded.Start(embedded.Config{Dir: Folder(t), Addr: "127.0.0.1:0"}, telemetry.Discard().Log)
	if err != nil {
		t.Fatalf("start nats: %v", err)
	}
	t.Cleanup(srv.Stop)
	return srv
}

// New returns a bus on a server of its own, with every stream in place. Unsettled messages come back after a second.
func New(t testing.TB) *bus.Bus {
	t.Helper()
	return Provisioned(t, bus.Topology{AckWait: time.Second})
}

// Provisioned is New with another topology.
func Provisioned(t testing.TB, topology bus.Topology) *bus.Bus {
	t.Helper()
	b := Connect(t, Server(t))
	if err := b.Provision(t.Context(), topology); err != nil {
		t.Fatalf("provision: %v", err)
	}
	return b
}

// Connect returns another connection to a server.
func Connect(t testing.TB, srv *embedded.Server) *bus.Bus {
	t.Helper()
	return Dial(t, srv.URL(), srv.InProcess())
}

// Jobs returns the store of job records on a bus.
func Jobs(t testing.TB, b *bus.Bus) *job.Store {
	t.Helper()
	kv, err := b.Jobs(t.Context())
	if err != nil {
		t.Fatalf("jobs bucket: %v", err)
	}
	return job.NewStore(kv)
}
