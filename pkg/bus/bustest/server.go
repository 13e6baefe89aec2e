package bustest

import (
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
)

// Server is a NATS server of a test. With the race detector it is a process of its own that is built without it: the
// server is tested by its makers, and cost up to a third of the processor time of tests that use it.
type Server struct {
	url      string
	shutDown func()
}

// StartServer starts a server in a folder of its own; it stops with the test. It does not sync every write, as no
// test outlives its machine.
func StartServer(t testing.TB) *Server {
	t.Helper()
	srv := launchServer(t, embedded.Config{Dir: ServerFolder(t), Addr: "127.0.0.1:0"})
	t.Cleanup(srv.ShutDown)
	return srv
}

// ClientURL returns the address for clients.
func (s *Server) ClientURL() string { return s.url }

// ShutDown shuts the server down and waits until its files are closed. One that is down is left alone.
func (s *Server) ShutDown() { s.shutDown() }

// Connect returns another connection to a server.
func Connect(t testing.TB, srv *Server) *bus.Bus {
	t.Helper()
	return ConnectURL(t, srv.ClientURL())
}
