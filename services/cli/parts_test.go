package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestParseMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "7d": now.AddDate(0, 0, -7), "1w2d3h": now.AddDate(0, 0, -9).Add(-3 * time.Hour),
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T10:00:00Z": time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC),
		"2026-11-01 10:30":     time.Date(2026, 11, 1, 10, 30, 0, 0, time.UTC),
	} {
		if got, err := parseMoment("--since", text, now); err != nil || !got.AsTime().Equal(want) {
			t.Errorf("%s: got %v, %v, want %s", text, got.AsTime(), err, want)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "d", "7x", "1d1w", "99999999d"} {
		if _, err := parseMoment("--since", text, now); err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
}

// pageLister answers ListPages alone, a page of the list at a time.
type pageLister struct {
	inkstreamv1.InkstreamServiceClient
	pages []*inkstreamv1.PageSummary
}

// ListPages returns the page that the token names.
func (l pageLister) ListPages(_ context.Context, req *inkstreamv1.ListPagesRequest,
	_ ...grpc.CallOption) (*inkstreamv1.ListPagesResponse, error) {
	at := len(req.GetPageToken())
	token := strings.Repeat("x", at+1)
	if at+1 == len(l.pages) {
		token = ""
	}
	return &inkstreamv1.ListPagesResponse{Pages: l.pages[at : at+1], NextPageToken: token}, nil
}

func TestDoubtsAreShown(t *testing.T) {
	t.Parallel()
	lister := pageLister{pages: []*inkstreamv1.PageSummary{{Number: 1, Doubts: 2}, {Number: 2}, {Number: 3, Doubts: 1}}}
	for engine, want := range map[string]string{"vision": "doubts   3 on 2 pages: 1 (2), 3 (1)\n", "tesseract": "", "": ""} {
		var out bytes.Buffer
		a := &app{streams: streams{out: &out}}
		if err := a.showDoubts(t.Context(), lister, &inkstreamv1.Job{Options: &inkstreamv1.JobOptions{Engine: engine}}); err != nil {
			t.Errorf("showDoubts: %v", err)
		}
		if out.String() != want {
			t.Errorf("engine %q: got %q, want %q", engine, out.String(), want)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Überweisung.pdf": "Überweisung.pdf", "a\x1b[2Jb": "a?[2Jb",
		"a\nb\tc": "a b c", "\u202efdp.exe": "?fdp.exe", "\u009b31m": "?31m"} {
		if got := printableText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	var b bytes.Buffer
	w := &controlFilter{w: &b}
	for _, part := range []string{"a\x1b[2J\tü\f\n", "\u009b31m", "\xc2", "\x9bb\xc2", "\xa7"} { // controls and text that are cut in two as well
		if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
			t.Errorf("write %q: %d, %v", part, n, err)
		}
	}
	if got, want := b.String(), "a[2J\tü\f\n31mb§"; got != want {
		t.Errorf("text for a terminal: got %q, want %q", got, want)
	}
}

func TestOptionFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "-"},
		{"--retention 30d --page-timeout 90s --dedupe=false --artifacts text,json",
			"page-timeout=1m30s artifacts=text,json dedupe=false retention=720h0m0s"},
		{"--retention 0", "retention=0s"},
		{"--document-timeout -5m", "error"},
		{"--stall-timeout 1h", "error"}, // left out
	} {
		cmd := &cobra.Command{}
		read := addOptionFlags(cmd, "stall-timeout")
		got := "error"
		if cmd.ParseFlags(strings.Fields(tt.args)) == nil {
			o, err := read()
			if err != nil {
				t.Fatalf("%s: %v", tt.args, err)
			}
			got = formatOptions(o)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.args, got, tt.want)
		}
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	jobs := []*inkstreamv1.Job{{Id: "x", State: inkstreamv1.Job_PARTIAL, Filename: "請求書.pdf",
		Labels: map[string]string{"b": "2", "a": "1"}}, {Id: "longer"}}
	for how, want := range map[outputFormat]string{
		asTable: "ID      STATE              PAGES  CREATED  TOOK  FILE\nx       PARTIAL            0      -        -     請求書.pdf\nlonger  STATE_UNSPECIFIED  0      -        -     -\n",
		asWide:  "LABELS", asJSON: `"labels": {`, asYAML: "\n  labels:\n",
	} {
		var b bytes.Buffer
		s := streams{out: &b, err: &b, getenv: func(string) string { return "" }}
		if err := s.printTable(how, jobTable(jobs, "")); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: got %v and\n%s\nwant %q", how, err, b.String(), want)
		}
	}
}

// A server that is busy is asked again when it says, and one that is away for as long as was wanted.
func TestRetryPolicy(t *testing.T) {
	t.Parallel()
	busy, err := status.New(codes.ResourceExhausted,
		"busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(5 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	away := status.Error(codes.Unavailable, "away")
	for _, tt := range []struct {
		name    string
		away    time.Duration
		errs    []error
		reached int // so many calls reach the server before they fail
		unknown bool
		calls   int
		took    time.Duration
		err     error
	}{
		{name: "fine at once", calls: 1},
		{name: "busy twice", errs: []error{busy.Err(), busy.Err()}, calls: 3, took: 10 * time.Second},
		{name: "away, and nobody waits", errs: []error{away}, calls: 1, err: away},
		{name: "away for a while", away: time.Minute, errs: []error{away, away, away}, calls: 4,
			took: 7 * time.Second},
		{name: "away for too long", away: 3 * time.Second, errs: []error{away, away, away, away}, calls: 3,
			took: 3 * time.Second, err: away},
		{name: "away again and again, each time for less", away: 3 * time.Second, errs: []error{away, away, away, away},
			reached: 3, calls: 5, took: 5 * time.Second},
		{name: "never there", away: time.Minute, errs: []error{away}, unknown: true, calls: 1, err: away},
		{name: "no use", away: time.Minute, errs: []error{status.Error(codes.NotFound, "none")}, calls: 1,
			err: status.Error(codes.NotFound, "none")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				reached := began
				if tt.unknown {
					reached = time.Time{}
				}
				policy := retryPolicy{unreachableLimit: tt.away, lastReached: func() time.Time { return reached }}
				err := policy.runWithRetry(context.Background(), func() error {
					if calls++; calls <= tt.reached {
						reached = time.Now()
					}
					if calls <= len(tt.errs) {
						return tt.errs[calls-1]
					}
					return nil
				})
				if !errors.Is(err, tt.err) || calls != tt.calls || time.Since(began) != tt.took {
					t.Errorf("got %v after %d calls and %s, want %v, %d and %s", err, calls, time.Since(began), tt.err, tt.calls,
						tt.took)
				}
			})
		})
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("work.key", "the-key\n")
	write(".config/inkstream/config.yaml",
		"default: work\nprofiles:\n  work:\n    server: https://work.example.com\n    key_file: ~/work.key\n  lab:\n    server: grpc://lab:9090\n")
	for _, tt := range []struct {
		name        string
		flags       connection
		env         shell
		server, key string
	}{
		{"the default profile", connection{}, nil, "https://work.example.com", "the-key"},
		{"a named one", connection{profile: "lab"}, nil, "grpc://lab:9090", ""},
		{"one of the environment", connection{}, shell{"INKSTREAM_PROFILE": "lab"}, "grpc://lab:9090", ""},
		{"flags win", connection{server: "http://other", apiKey: "k"}, shell{"INKSTREAM_SERVER": "http://env"},
			"http://other", "k"},
		{"the environment wins over the profile", connection{},
			shell{"INKSTREAM_SERVER": "http://env", "INKSTREAM_API_KEY": "e"}, "http://env", "e"},
		{"a profile's key is not sent elsewhere", connection{server: "http://other"}, nil, "http://other", ""},
		{"nor to the environment's server", connection{}, shell{"INKSTREAM_SERVER": "http://env"}, "http://env", ""},
	} {
		env := shell{"HOME": home}
		for k, v := range tt.env {
			env[k] = v
		}
		e, err := tt.flags.resolveEndpoint(streams{err: new(bytes.Buffer), getenv: func(n string) string { return env[n] }})
		key := ""
		if !e.key.IsEmpty() {
			key = e.key.RevealText()
		}
		if err != nil || e.server != tt.server || key != tt.key {
			t.Errorf("%s: got %q with key %q, %v, want %q with %q", tt.name, e.server, key, err, tt.server, tt.key)
		}
	}
	env := shell{"HOME": home}
	env.want(t, exitUsage, "there are lab, work", "list", "--profile", "nothing")
	env.want(t, 0, "lab\tgrpc://lab:9090", "__complete", "list", "--profile", "")
	write(".config/inkstream/config.yaml", "profiles:\n  work:\n    sever: x\n")
	env.want(t, exitUsage, "sever", "list")
	shell{}.want(t, exitUsage, "neither HOME", "list", "--profile", "x")
}

// What is not reached, or speaks another language than it was called in, is explained.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	shell{}.want(t, exitError, "inkstream serve", "list", "--server", "http://127.0.0.1:1")
	shell{}.want(t, exitError, "inkstream serve", "list", "--server", "grpc://127.0.0.1:1")
	shell{}.want(t, exitUsage, "grpcs", "list", "--server", "ftp://x")
	shell{}.want(t, exitUsage, "--state", "list", "--state", "broken")
	shell{}.want(t, exitUsage, "ID is missing", "get")
	shell{}.want(t, exitUsage, "want one of table, wide, json, yaml", "list", "-o", "xml")
	for text, want := range map[string]string{
		"tls: failed to verify certificate: x509: unknown authority":                       "--ca-file",
		"http: server gave HTTP response to HTTPS client":                                  "http://",
		"net/http: HTTP/1.x transport connection broken: malformed HTTP response":          "grpc://",
		"error reading server preface: http2: frame header looked like an HTTP/1.1 header": "REST",
		"connection refused": "inkstream serve",
	} {
		if got := connectionAdvice(text); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", text, got, want)
		}
	}
}

func TestManualAndCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := shell{"INKSTREAM_API_KEY": "very-secret"}
	env.want(t, 0, "manual pages", "man", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 30 {
		t.Errorf("manual: got %d pages, %v, want one for each command", len(pages), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "inkstream-serve.1"))
	if err != nil || !bytes.Contains(data, []byte("ocr.workers")) {
		t.Errorf("manual of serve: %v, want the flags of the services in it", err)
	}
	data, err = os.ReadFile(filepath.Join(dir, "inkstream-submit.1"))
	if err != nil || !bytes.Contains(data, []byte("scans/**/*.pdf")) || !bytes.Contains(data, []byte("Exit codes")) {
		t.Errorf("manual of submit: %v, want the pattern and the exit codes in it", err)
	}
	for _, page := range pages {
		if data, err := os.ReadFile(page); err != nil || bytes.Contains(data, []byte("very-secret")) {
			t.Errorf("%s: %v, or it shows the key", page, err)
		}
	}
	for _, sh := range []string{"bash", "zsh", "fish"} {
		env.want(t, 0, "inkstream", "completion", sh)
	}
	if out := env.want(t, 0, "--server", "list", "--help"); strings.Contains(out, "very-secret") {
		t.Error("help shows the key")
	}
	env.want(t, 0, "--ocr.workers", "__complete", "serve", "")
	if out := env.want(t, 0, "--workers", "process", "--help"); strings.Contains(out, "--api-key") {
		t.Error("help of a command without a server says how to reach one")
	}
	env.want(t, 0, `"version"`, "version", "-o", "json")
}

func TestFoldersAreExpanded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.pdf", "b/a.pdf", "b/c.PDF", "b/d.txt"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "b", "circle")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want []string // folders
	}{
		{[]string{dir}, []string{"a", "b/a", "b/c"}},
		{[]string{filepath.Join(dir, "**/*.pdf")}, []string{"a", "b/a"}},
		{[]string{filepath.Join(dir, "a.pdf"), filepath.Join(dir, "b/a.pdf"), filepath.Join(dir, "*.pdf")},
			[]string{"a", "a-2"}},
		{[]string{filepath.Join(dir, "b/d.txt")}, []string{"d"}},
	} {
		files, err := expandInputs(tt.args)
		var got []string
		for _, f := range files {
			got = append(got, f.folder)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, %v, want %q", tt.args, got, err, tt.want)
		}
	}
}
