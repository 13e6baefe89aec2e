//go:build !race

package bustest

import (
	"sync"
	"testing"

	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/telemetry"
)

// launchServer runs a server in this process.
func launchServer(t testing.TB, cfg embedded.Config) *Server {
	t.Helper()
	srv, err := embedded.StartServer(cfg, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatalf("start nats: %v", err)
	}
	return &Server{url: srv.ClientURL(), shutDown: sync.OnceFunc(srv.ShutDown)}
}
