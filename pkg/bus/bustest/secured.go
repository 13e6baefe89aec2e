package bustest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/natsconfig"
)

// SecuredServer is a server with the configuration that natsconfig writes: each service has a user of its own. It takes
// down what its clients say.
type SecuredServer struct {
	srv *server.Server
	dir string

	mu        sync.Mutex // guards what follows
	published map[string]map[string]bool
	refused   []string
}

// NewSecuredServer starts such a server, which stops with the test.
func NewSecuredServer(t testing.TB) *SecuredServer {
	t.Helper()
	s := &SecuredServer{dir: ServerFolder(t), published: make(map[string]map[string]bool)}
	opts := natsconfig.DefaultOptions()
	opts.Listen, opts.Monitor, opts.Dir = "127.0.0.1:-1", "", filepath.Join(s.dir, "store")
	files, err := natsconfig.GenerateFiles(opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(s.dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := server.ProcessConfigFile(filepath.Join(s.dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.SyncAlways {
		t.Error("the configuration does not have every write synced")
	}
	s.srv = StartWithOptions(t, cfg)
	s.srv.SetLoggerV2(s, false, true, false)
	return s
}

// ClientURL returns the address for clients.
func (s *SecuredServer) ClientURL() string { return s.srv.ClientURL() }

// StopServer stops the server. One that is stopped is left alone.
func (s *SecuredServer) StopServer() {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// SeedFile returns the file with the seed of a user.
func (s *SecuredServer) SeedFile(user string) string {
	return filepath.Join(s.dir, natsconfig.SeedFileName(user))
}

// Connect returns a connection as a user, under a name of the test's.
func (s *SecuredServer) Connect(t testing.TB, user string) *bus.Bus {
	t.Helper()
	return ConnectAsUser(t, s.ClientURL(), user, s.SeedFile(user))
}

// PublishedSubjects returns the subjects that clients of a name have published to, sorted. The name is what goes
// before the / of the connection's.
func (s *SecuredServer) PublishedSubjects(client string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.published[client]))
}

// RefusedRequests returns what the server has refused.
func (s *SecuredServer) RefusedRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// publishLine is how the server tells of a message that a client publishes: with the connection's name and the subject.
var publishLine = regexp.MustCompile(`cid:\d+ - "?[^"]*:go:([^"/]*)[^"]*"?.* - <<- \[H?PUB (\S+)`)

// Tracef takes down what is published.
func (s *SecuredServer) Tracef(format string, v ...any) {
	m := publishLine.FindStringSubmatch(fmt.Sprintf(format, v...))
	if m == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published[m[1]] == nil {
		s.published[m[1]] = make(map[string]bool)
	}
	s.published[m[1]][m[2]] = true
}

// Errorf takes down what is refused.
func (s *SecuredServer) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	if !strings.Contains(line, "Violation") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, line)
}

// Noticef does nothing.
func (s *SecuredServer) Noticef(string, ...any) {}

// Warnf does nothing.
func (s *SecuredServer) Warnf(string, ...any) {}

// Fatalf takes it down like an error.
func (s *SecuredServer) Fatalf(format string, v ...any) { s.Errorf("Violation: "+format, v...) }

// Debugf does nothing.
func (s *SecuredServer) Debugf(string, ...any) {}
