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
	"inkstream.dev/pkg/natsconf"
)

// Secured is a server with the configuration that natsconf writes: each service has a user of its own. It takes down what its clients say.
type Secured struct {
	srv *server.Server
	dir string

	mu      sync.Mutex // guards what follows
	said    map[string]map[string]bool
	refused []string
}

// NewSecured starts such a server, which stops with the test.
func NewSecured(t testing.TB) *Secured {
	t.Helper()
	s := &Secured{dir: Folder(t), said: make(map[string]map[string]bool)}
	opts := natsconf.DefaultOptions()
	opts.Listen, opts.Monitor, opts.Dir = "127.0.0.1:-1", "", filepath.Join(s.dir, "store")
	files, err := natsconf.Generate(opts)
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
	s.srv = Run(t, cfg)
	s.srv.SetLoggerV2(s, false, true, false)
	return s
}

// URL returns the address for clients.
func (s *Secured) URL() string { return s.srv.ClientURL() }

// Seed returns the file with the seed of a user.
func (s *Secured) Seed(user string) string { return filepath.Join(s.dir, natsconf.SeedFile(user)) }

// Connect returns a connection as a user, under a name of the test's.
func (s *Secured) Connect(t testing.TB, user string) *bus.Bus {
	t.Helper()
	return DialAs(t, s.URL(), user, s.Seed(user))
}

// Said returns the subjects that clients of a name have published to, sorted. The name is what goes before the / of the connection's.
func (s *Secured) Said(client string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.said[client]))
}

// Refused returns what the server has refused.
func (s *Secured) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// publishLine is how the server tells of a message that a client publishes: with the connection's name and the subject.
var publishLine = regexp.MustCompile(`cid:\d+ - "?[^"]*:go:([^"/]*)[^"]*"?.* - <<- \[H?PUB (\S+)`)

// Tracef takes down what is published.
func (s *Secured) Tracef(format string, v ...any) {
	m := publishLine.FindStringSubmatch(fmt.Sprintf(format, v...))
	if m == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[m[1]] == nil {
		s.said[m[1]] = make(map[string]bool)
	}
	s.said[m[1]][m[2]] = true
}

// Errorf takes down what is refused.
func (s *Secured) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	if !strings.Contains(line, "Violation") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, line)
}

// Noticef does nothing.
func (s *Secured) Noticef(string, ...any) {}

// Warnf does nothing.
func (s *Secured) Warnf(string, ...any) {}

// Fatalf takes it down like an error.
func (s *Secured) Fatalf(format string, v ...any) { s.Errorf("Violation: "+format, v...) }

// Debugf does nothing.
func (s *Secured) Debugf(string, ...any) {}
