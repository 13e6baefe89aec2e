package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

func TestNATSConfig(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	out := shell{}.want(t, 0, "", "nats-config", "-o", dir)
	want := []string{"admin.nk", "gateway.nk", "index.nk", "ingest.nk", "nats.conf", "ocr.nk", "render.nk", "scan.nk"}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s: mode %o, want 600", f.Name(), mode)
		}
		if !strings.Contains(out, filepath.Join(dir, f.Name())) {
			t.Errorf("%s is not told of", f.Name())
		}
		got = append(got, f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}

	if err := os.Remove(filepath.Join(dir, "admin.nk")); err != nil {
		t.Fatal(err)
	}
	shell{}.want(t, exitError, "gateway.nk is there already", "nats-config", "-o", dir)
	if _, err := os.Stat(filepath.Join(dir, "admin.nk")); err == nil {
		t.Error("a second time: admin.nk was written")
	}
	shell{}.want(t, exitUsage, "2 servers", "nats-config", "-o", t.TempDir(), "--cluster", "a,b")
}

func TestProvision(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecured(t)
	for range 2 { // the second time everything is there
		shell{}.want(t, 0, "replicas: 1", "provision", "--nats", s.URL(), "--nats.nkey", s.Seed(bus.AdminUser))
	}
	shell{}.want(t, exitError, "uthorization", "provision", "--nats", s.URL()) // without a key
	shell{}.want(t, exitError, "as the administrator", "provision", "--nats", s.URL(), "--nats.nkey", s.Seed(bus.GatewayUser),
		"--nats.inbox-prefix", "_INBOX_gateway", "--timeout", "3s")
}
