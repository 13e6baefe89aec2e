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
	out, errOut, code := runNATS(t, "nats-config", "-o", dir)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
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
	if _, errOut, code = runNATS(t, "nats-config", "-o", dir); code != exitError || !strings.Contains(errOut, "gateway.nk is there already") {
		t.Errorf("a second time: exit code %d, %q, want a refusal", code, errOut)
	}
	if _, err := os.Stat(filepath.Join(dir, "admin.nk")); err == nil {
		t.Error("a second time: admin.nk was written")
	}
	if _, errOut, code = runNATS(t, "nats-config", "-o", t.TempDir(), "--cluster", "a,b"); code != exitUsage || !strings.Contains(errOut, "cluster") {
		t.Errorf("a cluster of two: exit code %d, %q, want wrong usage", code, errOut)
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecured(t)
	for range 2 { // the second time everything is there
		out, errOut, code := runNATS(t, "provision", "--nats", s.URL(), "--nats.nkey", s.Seed(bus.AdminUser))
		if code != 0 || !strings.Contains(out, "replicas: 1") {
			t.Errorf("exit code %d: %s%s", code, out, errOut)
		}
	}
	_, errOut, code := runNATS(t, "provision", "--nats", s.URL())
	if code != exitError || !strings.Contains(strings.ToLower(errOut), "authorization") {
		t.Errorf("without a key: exit code %d, %q, want a refusal", code, errOut)
	}
	_, errOut, code = runNATS(t, "provision", "--nats", s.URL(), "--nats.nkey", s.Seed(bus.GatewayUser), "--nats.inbox-prefix", "_INBOX_gateway",
		"--timeout", "3s")
	if code != exitError || !strings.Contains(errOut, "as the administrator") {
		t.Errorf("as the gateway: exit code %d, %q, want advice", code, errOut)
	}
}

// runNATS runs the command line without any environment.
func runNATS(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), streams{in: strings.NewReader(""), out: &o, err: &e, getenv: func(string) string { return "" }}, args)
	return o.String(), e.String(), code
}
