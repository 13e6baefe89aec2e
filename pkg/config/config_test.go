package config_test

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/config"
)

// settings is a small configuration such as a service has.
type settings struct {
	workers int
	timeout time.Duration
	limit   config.Bytes
	token   config.Secret
	debug   bool
}

func flags(s *settings) *flag.FlagSet {
	fs := config.NewFlagSet("test", io.Discard)
	fs.IntVar(&s.workers, "ocr.workers", 2, "how many pages are recognised at once")
	fs.DurationVar(&s.timeout, "ocr.page-timeout", time.Minute, "longest time for a page")
	s.limit = 500 * config.MB
	fs.Var(&s.limit, "max-file-size", "largest file")
	fs.Var(&s.token, "api.token", "what clients must show")
	fs.BoolVar(&s.debug, "debug", false, "say more")
	return fs
}

func TestParse(t *testing.T) {
	t.Parallel()
	defaults := settings{workers: 2, timeout: time.Minute, limit: 500 * config.MB}
	for _, tt := range []struct {
		name string
		args []string
		env  map[string]string
		want func(*settings)
		rest int
	}{
		{name: "defaults stand", want: func(*settings) {}},
		{name: "environment beats the default", env: map[string]string{"OCR_WORKERS": "5", "OCR_PAGE_TIMEOUT": "3s",
			"DEBUG": "true"},
			want: func(s *settings) { s.workers, s.timeout, s.debug = 5, 3*time.Second, true }, rest: 0},
		{name: "flag beats the environment", args: []string{"--ocr.workers=7"},
			env: map[string]string{"OCR_WORKERS": "5"}, want: func(s *settings) { s.workers = 7 }},
		{name: "flag with the default's value beats the environment", args: []string{"-ocr.workers", "2"},
			env: map[string]string{"OCR_WORKERS": "5"}, want: func(*settings) {}},
		{name: "a broken variable does not matter under a flag", args: []string{"-ocr.workers", "3"},
			env: map[string]string{"OCR_WORKERS": "many"}, want: func(s *settings) { s.workers = 3 }},
		{name: "empty variable counts as unset", env: map[string]string{"OCR_WORKERS": ""},
			want: func(*settings) {}},
		{name: "sizes have units", env: map[string]string{"MAX_FILE_SIZE": "1GiB"},
			want: func(s *settings) { s.limit = config.GiB }},
		{name: "other arguments are left", args: []string{"--debug", "a.pdf", "b.pdf"},
			want: func(s *settings) { s.debug = true }, rest: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got settings
			fs := flags(&got)
			if err := config.ParseFlags(fs, tt.args, func(k string) string { return tt.env[k] }); err != nil {
				t.Fatalf("ParseFlags: got error %v, want none", err)
			}
			want := defaults
			tt.want(&want)
			if got != want {
				t.Errorf("settings: got %+v, want %+v", got, want)
			}
			if fs.NArg() != tt.rest {
				t.Errorf("arguments left: got %d, want %d", fs.NArg(), tt.rest)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		env  map[string]string
		want []string
	}{
		{"unknown flag", []string{"--ocr.wrokers=3"}, nil, []string{"ocr.wrokers"}},
		{"bad flag", []string{"--ocr.workers=many"}, nil, []string{"ocr.workers", "many"}},
		{"every bad variable is named", nil, map[string]string{"OCR_WORKERS": "many", "MAX_FILE_SIZE": "-3"},
			[]string{"OCR_WORKERS", "MAX_FILE_SIZE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := config.ParseFlags(flags(&settings{}), tt.args, func(k string) string { return tt.env[k] })
			if err == nil {
				t.Fatalf("ParseFlags: got no error, want one naming %q", tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error: got %q, want it to name %q", err, want)
				}
			}
		})
	}
}

func TestParseRefusesFlagsThatShareAVariable(t *testing.T) {
	t.Parallel()
	fs := config.NewFlagSet("test", io.Discard)
	fs.Int("ocr.max-pages", 0, "")
	fs.Int("ocr.max.pages", 0, "")
	err := config.ParseFlags(fs, nil, func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "OCR_MAX_PAGES") {
		t.Errorf("ParseFlags: got error %v, want one naming OCR_MAX_PAGES", err)
	}
}

func TestHelpNamesFlagAndVariable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	fs := flags(&settings{})
	fs.SetOutput(&out)
	if err := config.ParseFlags(fs, []string{"--help"}, func(string) string { return "" }); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("ParseFlags: got error %v, want %v", err, flag.ErrHelp)
	}
	for _, want := range []string{"--ocr.workers int  (OCR_WORKERS)", "(default 2)",
		"--max-file-size value  (MAX_FILE_SIZE)", "(default 500MB)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help: got %q, want it to contain %q", out.String(), want)
		}
	}
}

func TestProblemsAreJoined(t *testing.T) {
	t.Parallel()
	var p config.Problems
	if err := p.Err(); err != nil {
		t.Errorf("no problems: got error %v, want none", err)
	}
	p.CheckFlag(true, "fine", "never seen")
	p.CheckFlag(false, "ocr.workers", "%d, want at least 1", 0)
	p.AddError(nil)
	p.AddError(io.ErrUnexpectedEOF)
	err := p.Err()
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error: got %v, want it to hold %v", err, io.ErrUnexpectedEOF)
	}
	if got, want := err.Error(), "ocr.workers: 0, want at least 1\nunexpected EOF"; got != want {
		t.Errorf("error: got %q, want %q", got, want)
	}
}
