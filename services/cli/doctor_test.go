package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/blob"
)

// runAlone runs a command that needs no server.
func runAlone(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = runCommandLine(t.Context(), streams{out: &stdout, err: &stderr, getenv: func(string) string { return "" }},
		args)
	return code, stdout.String(), stderr.String()
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	// An index that does not answer is something wrong; the rest does not matter here.
	args := []string{"doctor", "--data-dir", t.TempDir(), "--index",
		"clickhouse://u:secret@127.0.0.1:1/db?dial_timeout=1s", "--timeout", "5s", "--http", "127.0.0.1:1"}
	code, out, errs := runAlone(t, append(args, "-o", "json")...)
	if code != exitError || !strings.Contains(errs, "something is wrong") {
		t.Errorf("exit code: got %d with %q, want 1", code, errs)
	}
	var report struct {
		OK     bool
		Checks []struct{ Name, Status, Detail, Fix string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.OK || len(report.Checks) < 8 {
		t.Errorf("report: got %+v, %v, want a list of checks that is not OK", report, err)
	}
	for _, c := range report.Checks {
		if c.Name == "index" && (c.Status != "fail" || c.Fix == "" || strings.Contains(c.Detail, "secret")) {
			t.Errorf("index: got %+v, want it to fail, with what to do, without the password", c)
		}
	}
	_, out, _ = runAlone(t, args...)
	if !strings.Contains(out, "fail  index") || !strings.Contains(out, "what to do: ") {
		t.Errorf("text: got %s, want a line of the index, and what to do", out)
	}
	if code, _, _ := runAlone(t, "doctor", "-o", "xml"); code != exitUsage {
		t.Errorf("an unknown output: got exit code %d, want 2", code)
	}
}

func TestIndexMigrate(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "index.db")
	for range 2 { // as at an update, and when it is run again
		if code, out, errs := runAlone(t, "index", "migrate", "--index", url); code != 0 ||
			!strings.Contains(out, "version 6 of the schema, in SQLite") {
			t.Errorf("migrate: got %d, %q, %q", code, out, errs)
		}
	}
	// The command waits for a server that is not there yet, but not without end.
	code, _, errs := runAlone(t, "index", "migrate", "--timeout", "300ms", "--index",
		"clickhouse://u:secret@127.0.0.1:1/inkstream")
	if code != exitError || !strings.Contains(errs, "waiting") || strings.Contains(errs, "secret") {
		t.Errorf("migrate without a server: got %d, %q", code, errs)
	}
	if code, _, _ := runAlone(t, "index", "migrate", "--index", ""); code != exitUsage {
		t.Errorf("migrate without an index: got %d, want 2", code)
	}
}

func TestIndexRebuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	if err := blobs.PutBytes(t.Context(), "default/j1/manifest.json",
		[]byte(`{"tenant":"default","job":"j1","filename":"a.pdf"}`), ""); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runAlone(t, "index", "rebuild", "--data-dir", dir)
	if code != 0 || !strings.Contains(out, "1 jobs with 0 pages") {
		t.Errorf("rebuild: got %d, %q, %q, want one job", code, out, errs)
	}
	if code, _, errs := runAlone(t, "index", "rebuild", "--data-dir", filepath.Join(dir, "none")); code != exitUsage ||
		!strings.Contains(errs, "--data-dir") {
		t.Errorf("rebuild without a data folder: got %d, %q, want 2 and what to do", code, errs)
	}
}
