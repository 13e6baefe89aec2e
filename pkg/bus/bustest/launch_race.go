//go:build race

package bustest

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/processtest"
)

// serverProgram is the program of the servers.
var serverProgram = sync.OnceValues(func() (string, error) {
	return processtest.BuildPlainProgram("natsserver", "./pkg/bus/bustest/natsserver")
})

// launchServer runs a server in a process of its own, which ends with this one if not before: then its input ends.
func launchServer(t testing.TB, cfg embedded.Config) *Server {
	t.Helper()
	program, err := serverProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, cfg.Dir, cfg.Addr)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	srv := &Server{shutDown: sync.OnceFunc(func() {
		_ = stdin.Close() // an error says that it has ended, and Wait how
		if err := cmd.Wait(); err != nil {
			t.Errorf("nats server: %v: %s", err, &complaint)
		}
	})}
	if srv.url, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		srv.shutDown()
		t.Fatalf("start nats: %v", err)
	}
	srv.url = strings.TrimSpace(srv.url)
	return srv
}
