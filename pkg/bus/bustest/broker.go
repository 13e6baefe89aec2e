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

// Broker is a server that can be stopped and started again on the same address and the same files, as one does that crashes or is updated.
type Broker struct {
	t   testing.TB
	cfg embedded.Config
	srv *embedded.Server
}

// NewBroker starts a server, which stops with the test.
func NewBroker(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{t: t, cfg: embedded.Config{Dir: Folder(t), Addr: freeAddr(t)}}
	t.Cleanup(b.Stop)
	b.Start()
	return b
}

// URL returns the address for clients. It outlives the server.
func (b *Broker) URL() string { return "nats://" + b.cfg.Addr }

// Start starts the server, and returns when it accepts connections. A server that runs is left alone.
func (b *Broker) Start() {
	b.t.Helper()
	if b.srv != nil {
		return
	}
	srv, err := embedded.Start(b.cfg, telemetry.Discard().Log)
	if err != nil {
		b.t.Fatalf("start nats: %v", err)
	}
	b.srv = srv
}

// Stop stops the server. A server that is stopped is left alone.
func (b *Broker) Stop() {
	if b.srv != nil {
		b.srv.Stop()
		b.srv = nil
	}
}

// Restart stops the server and starts it again. Its streams are as they were, but it has forgotten the ids of what was consumed.
func (b *Broker) Restart() {
	b.t.Helper()
	b.Stop()
	b.Start()
}

// Backup copies the server's files while it is stopped, and returns the folder of the copy.
func (b *Broker) Backup() string {
	b.t.Helper()
	to := Folder(b.t)
	b.Stop()
	b.copyFiles(to, b.cfg.Dir)
	b.Start()
	return to
}

// Restore starts the server anew on the files of a backup.
func (b *Broker) Restore(from string) {
	b.t.Helper()
	b.Stop()
	b.cfg.Dir = Folder(b.t)
	b.copyFiles(b.cfg.Dir, from)
	b.Start()
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
	return Dial(b.t, b.URL())
}

// Dial returns a connection to the servers at the addresses, comma-separated. It ends with the test.
func Dial(t testing.TB, url string, opts ...nats.Option) *bus.Bus {
	t.Helper()
	tel := telemetry.Discard()
	b, err := bus.Connect(url, "test", tel.Log, tel, opts...)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

// DialAs is Dial as a user whose seed is in a file.
func DialAs(t testing.TB, url, user, seed string) *bus.Bus {
	t.Helper()
	credentials := bus.Credentials{NKey: seed, InboxPrefix: bus.InboxPrefix(user)}
	opts, err := credentials.Options()
	if err != nil {
		t.Fatal(err)
	}
	return Dial(t, url, opts...)
}

// Run starts a server with options of the test's own, but that it does not sync every write. It stops with the test.
func Run(t testing.TB, opts *server.Options) *server.Server {
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

// freeAddr returns an address that nobody listens on. Its host is one of the many that loop back, so that nobody else gets the port before it is
// used, or while its server is stopped.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
