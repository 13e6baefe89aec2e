package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// cuttingProxy passes connections on to a server. When it has passed on some, it cuts them all, and then refuses some
// before it passes others on again.
type cuttingProxy struct {
	listener net.Listener
	to       string

	mu     sync.Mutex // guards what follows
	open   []net.Conn
	passed int // bytes of clients since the beginning
	cutAt  int // cut when so many bytes have passed
	refuse int // connections yet to be refused after the cut
	cut    bool
}

func startCuttingProxy(t *testing.T, to string, cutAt, refuse int) *cuttingProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{listener: l, to: to, cutAt: cutAt, refuse: refuse}
	t.Cleanup(func() {
		_ = l.Close()
		p.cutConnections()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.passOn(c)
		}
	}()
	return p
}

// passOn connects a client with the server, or cuts it off.
func (p *cuttingProxy) passOn(client net.Conn) {
	p.mu.Lock()
	if p.cut && p.refuse > 0 {
		p.refuse--
		p.mu.Unlock()
		_ = client.Close()
		return
	}
	p.mu.Unlock()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.open = append(p.open, client, server)
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	_, _ = io.Copy(server, io.TeeReader(client, p))
	_ = server.Close()
}

// Write counts what clients send.
func (p *cuttingProxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.passed += len(b)
	due := !p.cut && p.passed >= p.cutAt
	p.cut = p.cut || due
	p.mu.Unlock()
	if due {
		p.cutConnections()
		return 0, errors.New("cut")
	}
	return len(b), nil
}

func (p *cuttingProxy) cutConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// A server that goes away while files are sent and jobs are waited for is waited for itself, and each file is one job,
// also where the answer to it was lost. One that was never there is not waited for.
func TestServerGoesAwayDuringSubmit(t *testing.T) {
	t.Parallel()
	addrs := startServer(t, nil)
	dir := t.TempDir()
	const files = 12
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.pdf", i)), pdftest.BornDigital(1+i).PDF, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, server := range map[string]struct{ scheme, addr string }{"rest": {"http://", addrs.HTTP}, "grpc": {"grpc://", addrs.GRPC}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startCuttingProxy(t, server.addr, 20_000, 2)
			env := shell{"INKSTREAM_SERVER": server.scheme + p.listener.Addr().String()}
			label := "away=" + name
			env.want(t, 0, "SUCCEEDED", "submit", "--wait", "--dedupe=false", "--label", label, dir)
			p.mu.Lock()
			cut, left := p.cut, p.refuse
			p.mu.Unlock()
			if !cut || left > 0 {
				t.Errorf("cut %t, %d refusals left: the server never was away", cut, left)
			}
			direct := shell{"INKSTREAM_SERVER": server.scheme + server.addr}
			if got := strings.Count(direct.want(t, 0, "", "list", "--limit", "0", "--label", label, "-o", "json"), `"filename"`); got != files {
				t.Errorf("%d jobs, want one for each of %d files", got, files)
			}
		})
	}
	t.Run("never there", func(t *testing.T) {
		t.Parallel()
		shell{"INKSTREAM_SERVER": "http://127.0.0.1:1"}.want(t, exitError, "Is the server running?", "submit", "--wait", dir)
	})
}
