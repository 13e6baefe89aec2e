// Package clamdtest runs Debian's real clamd for tests, with a signature database of one signature: the EICAR test
// string's.
package clamdtest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/processtest"
	"inkstream.dev/services/scan/clamd"
)

// Signature is the name under which clamd reports the test string; it marks signatures that are not its makers' own.
const Signature = "Inkstream.Test.EICAR.UNOFFICIAL"

// EICAR returns the harmless string that every malware scanner reports (https://www.eicar.org). It is put together
// here, so that no file of this repository is taken for malware.
func EICAR() []byte {
	return []byte(`X5O!P%@AP[4\PZX54(P^)7CC)7}$` +
		strings.Join([]string{"EICAR", "STANDARD", "ANTIVIRUS", "TEST", "FILE!$H+H*"}, "-"))
}

// Server is a running clamd.
type Server struct {
	// Unix and TCP are its two addresses, as clamd.New takes them.
	Unix, TCP string

	process *processtest.Process
}

// Start starts a daemon and waits until it answers on both addresses; it ends with the test. Settings are further
// lines of clamd.conf, e.g. "StreamMaxLength 1M". Without clamd the test is skipped.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	program := findDaemon()
	if program == "" {
		t.Skip("clamd is not installed; install Debian's package clamav-daemon, as make test does")
	}
	// A socket's path has at most 107 bytes, which the test's own directory can exceed.
	dir, err := os.MkdirTemp("", "clamd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port, err := processtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Unix: "unix://" + filepath.Join(dir, "s"), TCP: fmt.Sprintf("127.0.0.1:%d", port)}
	config := s.writeConfig(t, dir, port, settings)
	s.process, err = processtest.StartProcess(t.Context(), exec.Command(program, "--config-file="+config),
		func(ctx context.Context) error {
			return errors.Join(pingDaemon(ctx, s.Unix), pingDaemon(ctx, s.TCP))
		})
	if err != nil {
		t.Fatalf("start clamd: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Stop kills the daemon, for a test of what happens without it. It may be called twice.
func (s *Server) Stop() { s.process.Stop() }

// pingDaemon asks whether the daemon answers at an address.
func pingDaemon(ctx context.Context, address string) error {
	client, err := clamd.New(address)
	if err != nil {
		return err
	}
	return client.Ping(ctx)
}

func findDaemon() string {
	for _, name := range []string{"/usr/sbin/clamd", "clamd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// writeConfig writes the configuration and the signature database, and returns the configuration's path.
func (s *Server) writeConfig(t testing.TB, dir string, port int, settings []string) string {
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
