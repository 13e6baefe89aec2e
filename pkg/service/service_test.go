package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"inkstream.dev/pkg/lifecycle"
)

// workers is a service's own setting.
type workers struct{ n int }

func (w *workers) Register(fs *flag.FlagSet) { fs.IntVar(&w.n, "own.workers", 1, "how many") }

func (w *workers) Validate() error {
	if w.n < 1 {
		return fmt.Errorf("own.workers: %d, want at least 1", w.n)
	}
	return nil
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		args  []string
		env   map[string]string
		want  string
		lines int
	}{
		{name: "unknown flag", args: []string{"--blob=file:///x"}, want: "-blob", lines: 1},
		{name: "bad value", args: []string{"--own.workers=many"}, want: "own.workers", lines: 1},
		{name: "value out of bounds", args: []string{"--blobs=file:///x", "--own.workers=0"},
			want: "own.workers: 0", lines: 1},
		{name: "a word that is no flag", args: []string{"--blobs=file:///x", "nats"}, want: `"nats"`, lines: 1},
		{name: "bad variables, each on its line",
			env: map[string]string{"OWN_WORKERS": "many", "NATS_REPLICAS": "few"}, want: "NATS_REPLICAS",
			lines: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			build := func(context.Context, *Runtime) ([]lifecycle.Unit, error) {
				t.Error("the service was built")
				return nil, nil
			}
			err := Run(t.Context(), "own", tt.args, func(k string) string { return tt.env[k] }, &out, []Settings{&workers{}},
				build)
			if got := reportExit(&out, "own", err); got != 2 {
				t.Errorf("exit code after %v: got %d, want 2", err, got)
			}
			got := out.String()
			if !strings.Contains(got, tt.want) || !strings.HasSuffix(got, "\nRun 'own --help' for its flags.\n") {
				t.Errorf("output: got %q, want one that names %s and says how to get help", got, tt.want)
			}
			if got := strings.Count(got, "\n") - 1; got != tt.lines {
				t.Errorf("lines of errors: got %d, want %d, in\n%s", got, tt.lines, out.String())
			}
		})
	}
}

func TestHelpOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := Run(t.Context(), "own", []string{"--help"}, func(string) string { return "" }, &out, []Settings{&workers{}},
		nil)
	if got := reportExit(&out, "own", err); got != 0 {
		t.Errorf("exit code after %v: got %d, want 0", err, got)
	}
	for _, want := range []string{"Usage of own:", "--own.workers int  (OWN_WORKERS)", "--blobs URL  (BLOBS)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help: got %q, want it to contain %q", out.String(), want)
		}
	}
}

func TestReportOfAFailure(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if got := reportExit(&out, "own", errors.New("broker away")); got != 1 {
		t.Errorf("exit code: got %d, want 1", got)
	}
	if got, want := out.String(), "own: broker away\n"; got != want {
		t.Errorf("output: got %q, want %q", got, want)
	}
}
