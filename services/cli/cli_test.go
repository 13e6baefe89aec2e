package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/standalone"
)

func TestMain(m *testing.M) {
	sandbox.Main(standalone.ChildPrograms()...)
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

// inkstream runs the command line.
func inkstream(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = runCommandLine(t.Context(), streams{out: &o, err: &e, getenv: func(string) string { return "" }}, args)
	return code, o.String(), e.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown command", []string{"frobnicate"}, "frobnicate"},
		{"unknown flag", []string{"get", "--frobnicate", "x"}, "--frobnicate"},
		{"missing argument", []string{"get"}, "get"},
		{"missing output", []string{"process", "a.pdf"}, "--output"},
		{"no such file", []string{"process", "-o", "out", "/nonexistent/a.pdf"}, "/nonexistent/a.pdf"},
		{"folder without PDFs", []string{"process", "-o", "out", t.TempDir()}, "no PDF files"},
		{"unknown serve flag", []string{"serve", "--frobnicate"}, "frobnicate"},
		{"label without a name", []string{"search", "--label", "=", "x"}, "--label"},
		{"bad value", []string{"serve", "--ocr.workers", "0"}, "ocr.workers: 0, want at least 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := inkstream(t, tt.args...)
			if code != exitUsage || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit code %d, stderr %q, want %d and %q in it", code, stderr, exitUsage, tt.says)
			}
		})
	}
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	code, _, stderr := inkstream(t, "get", "01m7z3g43yb9atzzvtxpj2ph4p", "--server", "127.0.0.1:1")
	if code != exitError || !strings.Contains(stderr, "Is the server running?") {
		t.Errorf("exit code %d, stderr %q, want %d and what to do", code, stderr, exitError)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	good := pdftest.BornDigital(3)
	for name, data := range map[string][]byte{"a.pdf": good.PDF, "sub/a.pdf": good.PDF, "sub/not.pdf": []byte("no PDF"),
		"sub/x.txt": []byte("x")} {
		path := filepath.Join(in, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := inkstream(t, "process", "-o", out, filepath.Join(in, "a.pdf"))
	if code != 0 || !strings.Contains(stdout, "SUCCEEDED") || !strings.Contains(stdout, "3 native_text") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "a", "text.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\f"); n != 2 || !strings.Contains(string(text), good.Pages[2].Marker) {
		t.Errorf("text.txt has %d form feeds, want 2, and the third page's %q", n, good.Pages[2].Marker)
	}
	code, stdout, stderr = inkstream(t, "process", "-o", out, in)
	if code != exitPartial || strings.Count(stdout, "SUCCEEDED") != 2 || !strings.Contains(stdout, "NOT_A_PDF") {
		t.Errorf("exit code %d, want %d, two files SUCCEEDED and one NOT_A_PDF\n%s%s", code, exitPartial, stdout, stderr)
	}
	for _, name := range []string{"a/document.json", "sub/a/document.json"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(stderr, "3 of 3 files, 6 of 6 pages") {
		t.Errorf("no line of progress at the end: %q", stderr)
	}
}

// submit, get, watch and text against a running server.
func TestClient(t *testing.T) {
	t.Parallel()
	path := pdftest.BornDigital(2).WriteFile(t)
	err := standalone.RunWith(t.Context(), standalone.EphemeralConfig(t.TempDir(), 1), os.Stderr,
		func(_ context.Context, addr string) error {
			code, stdout, stderr := inkstream(t, "submit", "--wait", path, "--server", addr)
			if code != 0 || !strings.Contains(stdout, "SUCCEEDED") {
				t.Errorf("submit: exit code %d\n%s%s", code, stdout, stderr)
				return nil
			}
			id := strings.Fields(stdout)[0]
			for _, tt := range []struct {
				args []string
				says string
			}{
				{[]string{"get", id}, "2 of 2: 2 native_text"},
				{[]string{"get", id, "-o", "json"}, `"pageCount"`},
				{[]string{"watch", id}, "SUCCEEDED"},
				{[]string{"text", id}, "\f"},
			} {
				code, stdout, stderr := inkstream(t, append(tt.args, "--server", addr)...)
				if code != 0 || !strings.Contains(stdout, tt.says) {
					t.Errorf("%v: exit code %d, want %q\n%s%s", tt.args, code, tt.says, stdout, stderr)
				}
			}
			if code, _, stderr := inkstream(t, "get", "01m7z3g43yb9atzzvtxpj2ph4p", "--server", addr); code != exitError ||
				!strings.Contains(stderr, "no such job") {
				t.Errorf("unknown job: exit code %d, %q", code, stderr)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}
