// Package clamdtest runs Debian's real clamd for tests, with a signature database of one signature: the EICAR test string's.
package clamdtest

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/services/scan/clamd"
)

// Signature is the name under which clamd reports the test string; it marks signatures that are not its makers' own.
const Signature = "Inkstream.Test.EICAR.UNOFFICIAL"

// EICAR returns the harmless string that every malware scanner reports (https://www.eicar.org). It is put together here, so that no file of
// this repository is taken for malware.
func EICAR() []byte {
	return []byte(`X5O!P%@AP[4\PZX54(P^)7CC)7}$` + strings.Join([]string{"EICAR", "STANDARD", "ANTIVIRUS", "TEST", "FILE!$H+H*"}, "-"))
}

// startTimeout bounds the wait for a daemon that loads one signature; it takes a fraction of a second on an idle machine.
const startTimeout = 60 * time.Second

// Server is a running clamd.
type Server struct {
	// Unix and TCP are its two addresses, as clamd.New takes them.
	Unix, TCP string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has been reaped
	log  string
}

// Start starts a daemon and waits until it answers on both addresses; it ends with the test. Settings are further lines of clamd.conf, e.g.
// "StreamMaxLength 1M". Without clamd the test is skipped.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	program := find()
	if program == "" {
		t.Skip("clamd is not installed; install Debian's package clamav-daemon, as make test does")
	}
	// A socket's path has at most 107 bytes, which the test's own directory can exceed.
	dir, err := os.MkdirTemp("", "clamd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{Unix: "unix://" + filepath.Join(dir, "s"), done: make(chan struct{}), log: filepath.Join(dir, "output")}
	port := freePort(t)
	s.TCP = fmt.Sprintf("127.0.0.1:%d", port)
	config := s.configure(t, dir, port, settings)

	output, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	s.cmd = exec.Command(program, "--config-file="+config)
	s.cmd.Stdout, s.cmd.Stderr = output, output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start clamd: %v", err)
	}
	go func() {
		_ = s.cmd.Wait() // its end is all that is of interest
		close(s.done)
	}()
	t.Cleanup(s.Stop)
	s.await(t, s.Unix)
	s.await(t, s.TCP)
	return s
}

// Stop kills the daemon, for a test of what happens without it. It may be called twice.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // fails only if the process is gone
	<-s.done
}

func find() string {
	for _, name := range []string{"/usr/sbin/clamd", "clamd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// configure writes the configuration and the signature database, and returns the configuration's path.
func (s *Server) configure(t testing.TB, dir string, port int, settings []string) string {
	t.Helper()
	database, temp := filepath.Join(dir, "db"), filepath.Join(dir, "tmp")
	for _, d := range []string{database, temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Name, target type (0: any file), offset (*: anywhere), content.
	signature := strings.TrimSuffix(Signature, ".UNOFFICIAL") + ":0:*:" + hex.EncodeToString(EICAR()) + "\n"
	if err := os.WriteFile(filepath.Join(database, "inkstream.ndb"), []byte(signature), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := append([]string{
		"Foreground yes",
		"LocalSocket " + strings.TrimPrefix(s.Unix, "unix://"),
		fmt.Sprintf("TCPSocket %d", port),
		"TCPAddr 127.0.0.1",
		"DatabaseDirectory " + database,
		"TemporaryDirectory " + temp,
		"MaxThreads 4",
		"SelfCheck 0",
		"ScanPDF yes",
	}, settings...)
	path := filepath.Join(dir, "clamd.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// await asks until the daemon answers.
func (s *Server) await(t testing.TB, address string) {
	t.Helper()
	client, err := clamd.New(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := client.Ping(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-s.done:
			t.Fatalf("clamd ended at its start:\n%s", s.output())
		case <-ctx.Done():
			t.Fatalf("clamd does not answer at %s after %v: %v\n%s", address, startTimeout, err, s.output())
		}
	}
}

func (s *Server) output() string {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
