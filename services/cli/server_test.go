package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone"
)

// startServer runs the whole pipeline until the test ends.
func startServer(t *testing.T, change func(*standalone.Config)) standalone.Addrs {
	t.Helper()
	cfg := standalone.EphemeralConfig(t.TempDir(), 2)
	if sandbox.Isolation().Warning() != "" { // the tests of the walls themselves say so
		cfg.Sandbox = service.SandboxBestEffort
	}
	if change != nil {
		change(&cfg)
	}
	tel, err := telemetry.SetUpTelemetry(t.Context(), cfg.Telemetry, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := standalone.New(t.Context(), cfg, tel)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan standalone.Addrs, 1), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func(a standalone.Addrs) { ready <- a }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-ready:
		return a
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return standalone.Addrs{}
	}
}

// shell runs commands with an environment.
type shell map[string]string

func (env shell) run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = runCommandLine(t.Context(), streams{out: &stdout, err: &stderr,
		getenv: func(name string) string { return env[name] }}, args)
	return code, stdout.String(), stderr.String()
}

// want runs a command that must end with a code and say something.
func (env shell) want(t *testing.T, code int, says string, args ...string) (out string) {
	t.Helper()
	got, out, errs := env.run(t, args...)
	if got != code || !strings.Contains(out+errs, says) {
		t.Errorf("inkstream %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, says, out, errs)
	}
	return out
}

// Every command against a server, by its REST and by its gRPC API.
func TestCommands(t *testing.T) {
	t.Parallel()
	addrs := startServer(t, nil)
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		submitMany(t, "http://"+addrs.HTTP)
	})
	for name, server := range map[string]string{"rest": "http://" + addrs.HTTP, "grpc": "grpc://" + addrs.GRPC,
		"found out": addrs.HTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			label := "by=" + strings.ReplaceAll(name, " ", "-")
			env := shell{"INKSTREAM_SERVER": server}
			doc := pdftest.BornDigital(3)
			path := doc.WriteFile(t)
			out := env.want(t, 0, "SUCCEEDED", "submit", "--wait", "--dedupe=false", "--label", label, "--pages", "1-3", path)
			id := strings.Fields(out)[0]
			env.want(t, 0, "3 of 3: 3 native_text", "get", id, "--wait", "30s")
			env.want(t, 0, `"pageCount": 3`, "get", id, "-o", "json")
			env.want(t, 0, "pageCount: 3", "get", id, "-o", "yaml")
			env.want(t, 0, "sha256", "get", id, "-o", "wide")
			env.want(t, 0, "SUCCEEDED", "watch", id)
			env.want(t, exitError, "no such job", "get", "01m7z3g43yb9atzzvtxpj2ph4p")
			env.want(t, exitError, "'inkstream list' shows", "watch", "01m7z3g43yb9atzzvtxpj2ph4p")
			wantResults(t, env, id, doc)
			wantLists(t, env, id, label, doc)
			wantChanges(t, env, id, label)
		})
	}
}

func wantResults(t *testing.T, env shell, id string, doc pdftest.File) {
	t.Helper()
	env.want(t, 0, doc.Pages[2].Marker, "text", id)
	if out := env.want(t, 0, doc.Pages[1].Marker, "text", id, "--page", "2"); strings.Contains(out,
		doc.Pages[0].Marker) || strings.Contains(out, "\f") {
		t.Errorf("page 2 alone: got %q, with more than that", out)
	}
	env.want(t, exitError, "the document has 3 pages", "text", id, "--page", "4")
	env.want(t, 0, "document.md", "artifacts", id)
	dir := t.TempDir()
	env.want(t, 0, "2 files", "artifacts", id, "text.txt", "*.md", "-d", dir)
	for _, name := range []string{"text.txt", "document.md"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
			!bytes.Contains(data, []byte(doc.Pages[0].Marker)) {
			t.Errorf("%s: got %d bytes, %v, want the first page's text", name, len(data), err)
		}
	}
	env.want(t, exitError, "no such artifact", "artifacts", id, "text.txt", "nothing.txt", "-d", dir)
	env.want(t, exitError, "inkstream: ", "artifacts", id, "../../secret", "--stdout")
	if out := env.want(t, 0, "", "artifacts", id, "document.json", "--stdout"); !json.Valid([]byte(out)) {
		t.Errorf("document.json on standard output is no JSON: %.80q", out)
	}
	env.want(t, 0, "uploaded", "events", id)
	env.want(t, 0, `"type": "uploaded"`, "events", id, "-o", "json")
}

func wantLists(t *testing.T, env shell, id, label string, doc pdftest.File) {
	t.Helper()
	bustest.Eventually(t, "the job in the list, which is a moment behind it", func() bool {
		_, out, _ := env.run(t, "list", "-q", "--label", label, "--state", "succeeded")
		return strings.Contains(out, id)
	})
	env.want(t, 0, id, "list", "--label", label, "--since", "1h", "--state", "succeeded,failed")
	if out := env.want(t, 0, "", "list", "-q", "--label", label); strings.TrimSpace(out) != id {
		t.Errorf("list -q by label: got %q, want %s alone", out, id)
	}
	env.want(t, 0, "No job is like that", "list", "--label", label, "--until", "1h")
	var jobs []struct{ ID, State string }
	out := env.want(t, 0, "", "list", "--label", label, "-o", "json")
	if err := json.Unmarshal([]byte(out), &jobs); err != nil || len(jobs) != 1 || jobs[0].ID != id ||
		jobs[0].State != "SUCCEEDED" {
		t.Errorf("list as JSON: got %+v, %v, want %s", jobs, err, id)
	}
	env.want(t, 0, "page 3", "search", "--label", label, doc.Pages[2].Marker)
	env.want(t, 0, `"page": 3`, "search", "--label", label, "-o", "json", doc.Pages[2].Marker)
	env.want(t, 0, "No page has that", "search", "zyzzyvas")
	env.want(t, exitUsage, "quotation mark", "search", `"abc`)
	env.want(t, exitUsage, "", "list", "--filename", strings.Repeat("x", 256))
	env.want(t, 0, "render", "stages")
	env.want(t, 0, `"inFlight"`, "stages", "--once", "-o", "json")
	env.want(t, 0, "There are no dead letters", "deadletters", "ls")
	env.want(t, 0, "[]", "deadletters", "ls", "-o", "json")
	env.want(t, exitError, "no such dead letter", "deadletters", "show", "12345")
	env.want(t, 0, id+"\tSUCCEEDED", "__complete", "get", "")
	env.want(t, 0, "text.txt\t", "__complete", "artifacts", id, "")
	env.want(t, 0, "searchable_pdf", "__complete", "submit", "--artifacts", "")
	env.want(t, exitError, "--auth=keys", "keys", "ls")
	out = env.want(t, 0, "whsec_", "webhooks", "add", "https://example.com/"+label)
	if strings.Count(out, "\n") != 1 {
		t.Errorf("webhooks add: got %q on standard output, want the secret alone", out)
	}
	hooks := env.want(t, 0, "https://example.com/"+label, "webhooks", "ls")
	hook := regexp.MustCompile(`(\S+) .*/` + label).FindStringSubmatch(hooks)
	env.want(t, 0, "removed", "webhooks", "rm", hook[1])
	env.want(t, exitError, "not allowed", "webhooks", "add", "http://127.0.0.1/")
}

func wantChanges(t *testing.T, env shell, id, label string) {
	t.Helper()
	env.want(t, exitError, "SUCCEEDED", "cancel", id)
	env.want(t, exitError, "--all", "retry", id)
	env.want(t, 0, "(run 2)", "retry", "--all", id)
	env.want(t, 0, "SUCCEEDED", "watch", id)
	env.want(t, exitUsage, "--yes", "delete", "--label", label)
	env.want(t, exitUsage, "not both", "delete", "--label", label, id)
	env.want(t, exitUsage, "a filter", "delete")
	env.want(t, 0, id, "delete", "--label", label, "--dry-run")
	env.want(t, 0, "1 job deleted", "delete", "--label", label, "--yes")
	env.want(t, exitError, "Submit the document again", "get", id)
}

// submitMany sends several files: patterns, what programs get, and what is refused.
func submitMany(t *testing.T, server string) {
	t.Helper()
	env := shell{"INKSTREAM_SERVER": server}
	dir, out := t.TempDir(), t.TempDir()
	for name, data := range map[string][]byte{"a.pdf": pdftest.BornDigital(1).PDF, "b/b.pdf": pdftest.BornDigital(2).PDF,
		"c.pdf": []byte("no PDF"), "d.pdf": nil} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout := env.want(t, exitPartial, "", "submit", "--wait", "-d", out, "-o", "json", filepath.Join(dir, "**/*.pdf"),
		filepath.Join(dir, "a.pdf"))
	var got []struct {
		File  string
		Job   struct{ State string }
		Error struct{ Code string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	var lines []string
	for _, g := range got {
		lines = append(lines, filepath.Base(g.File)+" "+g.Job.State+g.Error.Code)
	}
	slices.Sort(lines)
	want := []string{"a.pdf SUCCEEDED", "b.pdf SUCCEEDED", "c.pdf REJECTED", "d.pdf EMPTY_FILE"}
	if !slices.Equal(lines, want) {
		t.Errorf("submit: got %q, want %q", lines, want)
	}
	for _, name := range []string{"a/text.txt", "b/b/text.txt"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	env.want(t, 0, "pages/s", "bench", "--documents", "3", "--made-pages", "1", "--concurrency", "2")
	env.want(t, exitUsage, "no file is like that", "submit", filepath.Join(dir, "*.tif"))
	hotFolder(t, env)
}

// until is a place to write to that calls done when some texts have been written.
type until struct {
	texts []string
	done  func()

	mu  sync.Mutex // guards all below
	all bytes.Buffer
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all.Write(p)
	if !slices.ContainsFunc(u.texts, func(text string) bool { return !strings.Contains(u.all.String(), text) }) {
		u.done()
	}
	return len(p), nil
}

// hotFolder has a folder watched until a file has got into its place, twice: the second time it is the same document,
// and becomes no other job.
func hotFolder(t *testing.T, env shell) {
	t.Helper()
	dir := t.TempDir()
	doc := pdftest.BornDigital(2)
	watch := func(texts ...string) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		u := &until{texts: texts, done: stop}
		code := runCommandLine(ctx, streams{out: io.Discard, err: u, getenv: func(n string) string { return env[n] }},
			[]string{"submit", "--watch", dir, "--label", "hot=yes"})
		if code != 0 {
			t.Errorf("watch: got exit code %d, want 0\n%s", code, u.all.String())
		}
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.pdf", doc.PDF)
	put("c.pdf", []byte("no PDF"))
	watch("SUCCEEDED  a.pdf", "REJECTED  c.pdf")
	put("b.pdf", doc.PDF)
	watch("SUCCEEDED  b.pdf")
	for _, name := range []string{"done/a.pdf", "done/a/text.txt", "done/b.pdf", "done/b/document.md", "failed/c.pdf",
		"failed/c.error.txt"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if out := env.want(t, 0, "", "list", "-q", "--label", "hot=yes", "--state", "succeeded"); strings.Count(out,
		"\n") != 1 {
		t.Errorf("jobs of two files with the same bytes: got %q, want one", out)
	}
}
