package bustest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/telemetry"
)

// Broker is a server that can be stopped and started again on the same address and the same files, as one does that
// crashes or is updated.
type Broker struct {
	t   testing.TB
	cfg embedded.Config
	srv *Server
}

// NewBroker starts a server, which stops with the test.
func NewBroker(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{t: t, cfg: embedded.Config{Dir: ServerFolder(t), Addr: freeAddress(t)}}
	t.Cleanup(b.StopServer)
	b.StartServer()
	return b
}

// ClientURL returns the address for clients. It outlives the server.
func (b *Broker) ClientURL() string { return "nats://" + b.cfg.Addr }

// StartServer starts the server, and returns when it accepts connections. A server that runs is left alone.
func (b *Broker) StartServer() {
	b.t.Helper()
	if b.srv != nil {
		return
	}
	b.srv = launchServer(b.t, b.cfg)
}

// StopServer stops the server. A server that is stopped is left alone.
func (b *Broker) StopServer() {
	if b.srv != nil {
		b.srv.ShutDown()
		b.srv = nil
	}
}

// RestartServer stops the server and starts it again. Its streams are as they were, but it has forgotten the ids of
// what was consumed.
func (b *Broker) RestartServer() {
	b.t.Helper()
	b.StopServer()
	b.StartServer()
}

// BackupFiles copies the server's files while it is stopped, and returns the folder of the copy.
func (b *Broker) BackupFiles() string {
	b.t.Helper()
	to := ServerFolder(b.t)
	b.StopServer()
	b.copyFiles(to, b.cfg.Dir)
	b.StartServer()
	return to
}

// RestoreFiles stops the server and starts it again on the files of a backup.
func (b *Broker) RestoreFiles(from string) {
	b.t.Helper()
	b.StopServer()
	b.cfg.Dir = ServerFolder(b.t)
	b.copyFiles(b.cfg.Dir, from)
	b.StartServer()
}

func (b *Broker) copyFiles(to, from string) {
	b.t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		b.t.Fatalf("copy the server's files: %v", err)
	}
}

// Connect returns a connection that finds the server again after each restart.
func (b *Broker) Connect() *bus.Bus {
	b.t.Helper()
	return ConnectURL(b.t, b.ClientURL())
}

// ConnectURL returns a connection to the servers at the addresses, comma-separated. It ends with the test.
func ConnectURL(t testing.TB, url string, opts ...nats.Option) *bus.Bus {
	t.Helper()
	tel := telemetry.NewDiscard()
	b, err := bus.Connect(url, "test", tel.Log, tel, opts...)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

// ConnectAsUser is ConnectURL as a user whose seed is in a file.
func ConnectAsUser(t testing.TB, url, user, seed string) *bus.Bus {
	t.Helper()
	credentials := bus.Credentials{NKey: seed, InboxPrefix: bus.InboxPrefix(user)}
	opts, err := credentials.Options()
	if err != nil {
		t.Fatal(err)
	}
	return ConnectURL(t, url, opts...)
}

// StartWithOptions starts a server with options of the test's own, but that it does not sync every write. It stops
// with the test.
func StartWithOptions(t testing.TB, opts *server.Options) *server.Server {
	t.Helper()
	opts.SyncAlways, opts.NoSigs = false, true // no test outlives its machine
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatalf("nats server: %v", err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("nats server: not ready")
	}
	return srv
}

// freeAddress returns an address that no process listens on. Its host is one of the many that loop back, so that no
// other process gets the port before it is used, or while its server is stopped.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
