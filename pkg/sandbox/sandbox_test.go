package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// long is for calls that are not meant to meet their timeout.
const long = 30 * time.Second

func newPool(t testing.TB, cfg sandbox.Config) *sandbox.Pool {
	t.Helper()
	if cfg.Program == "" {
		cfg.Program = "test"
	}
	if cfg.Size == 0 {
		cfg.Size = 1
	}
	cfg.Env = append(cfg.Env, "GOMAXPROCS=2")
	pool, err := sandbox.NewPool(cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return pool
}

func leaseChild(t testing.TB, pool *sandbox.Pool) *sandbox.Child {
	t.Helper()
	child, err := pool.LeaseChild(t.Context())
	if err != nil {
		t.Fatalf("LeaseChild() = %v, want nil", err)
	}
	t.Cleanup(child.Release)
	return child
}

// callChild makes a call that must succeed.
func callChild(t testing.TB, child *sandbox.Child, body string, files ...*os.File) string {
	t.Helper()
	answer, err := child.Call(t.Context(), long, []byte(body), files...)
	if err != nil {
		t.Fatalf("Call(%.40q) = %v, want nil", body, err)
	}
	return string(answer)
}

func TestCallEchoesFramesOfEverySize(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{Program: "echo"}))
	for _, size := range []int{0, 1, 100, 64<<10 - 13, 64<<10 - 12, 64<<10 - 11, 64 << 10, 1 << 20, 5 << 20, 64 << 20, 0,
		7} {
		body := bytes.Repeat([]byte{byte(size), 'x', 'y'}, size/3+1)[:size]
		answer, err := child.Call(t.Context(), long, body)
		if err != nil || !bytes.Equal(answer, body) {
			t.Fatalf("echo of %d bytes: %d bytes, error %v, want the same bytes, nil", size, len(answer), err)
		}
	}
	if _, err := child.Call(t.Context(), long, make([]byte, sandbox.MaxFrame+1)); err == nil {
		t.Errorf("Call with more than MaxFrame bytes = nil, want an error")
	}
	if got := callChild(t, child, "still there"); got != "still there" {
		t.Errorf("Call() = %q, want %q", got, "still there")
	}
}

func TestCallTakesTheLargestFrame(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{}))
	if got := callChild(t, child, "zeros "+strconv.Itoa(sandbox.MaxFrame)); len(got) != sandbox.MaxFrame {
		t.Errorf("answer of %d bytes, want %d", len(got), sandbox.MaxFrame)
	}
	_, err := child.Call(t.Context(), long, []byte("zeros "+strconv.Itoa(sandbox.MaxFrame+1)))
	if _, ok := errors.AsType[*sandbox.RemoteError](err); !ok {
		t.Errorf("Call for more than MaxFrame bytes = %v, want a RemoteError", err)
	}
}

func TestSetupSeesItsArgumentsAndNoForeignEnvironment(t *testing.T) {
	child := leaseChild(t, newPool(t, sandbox.Config{Args: []string{"a", "b c"},
		Env: []string{"OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8"}}))
	got := callChild(t, child, "args")
	for _, want := range []string{"a,b c|", "OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8", "TZ=UTC"} {
		if !strings.Contains(got, want) {
			t.Errorf("arguments and environment are %q, want %q in them", got, want)
		}
	}
	if strings.Contains(got, "PATH=") {
		t.Errorf("the child inherited the environment: %q", got)
	}
}

func TestFilesAreReadableInTheChild(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{}))
	var files []*os.File
	want := ""
	for i := range sandbox.MaxFiles + 1 {
		path := filepath.Join(t.TempDir(), "file")
		text := "file " + strconv.Itoa(i)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
		if i < sandbox.MaxFiles {
			want += text + "|"
		}
	}
	for range 20 { // more files in all than the child may have open
		if got := callChild(t, child, "files", files[:sandbox.MaxFiles]...); got != want {
			t.Fatalf("files read as %q, want %q", got, want)
		}
	}
	if _, err := child.Call(t.Context(), long, []byte("files"), files...); err == nil {
		t.Errorf("Call with %d files = nil, want an error", len(files))
	}
	// Files go with large requests as well.
	if got := callChild(t, child, "files"+strings.Repeat(" ", 1<<20), files[0], files[1]); got != "file 0|file 1|" {
		t.Errorf("files with a large request read as %q, want %q", got, "file 0|file 1|")
	}
}

func TestScratchIsSharedAndOfFixedSize(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{ScratchBytes: 8192}))
	for _, n := range []byte{21, 50} {
		if _, err := child.ScratchFile().WriteAt([]byte{n}, 0); err != nil {
			t.Fatal(err)
		}
		callChild(t, child, "double")
		got := make([]byte, 5)
		if _, err := child.ScratchFile().ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		if want := append([]byte{2 * n}, "seen"...); !bytes.Equal(got, want) {
			t.Errorf("scratch holds %q, want %q", got, want)
		}
	}
	_, err := child.Call(t.Context(), long, []byte("grow"))
	if _, ok := errors.AsType[*sandbox.RemoteError](err); !ok {
		t.Errorf("growing the scratch file = %v, want a RemoteError", err)
	}
	if err := child.ScratchFile().Truncate(0); err == nil {
		t.Errorf("shrinking the scratch file = nil, want an error")
	}
}

func TestHandlerErrorLeavesTheChildAlive(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{}))
	pid := callChild(t, child, "pid")
	message := "bad \xff\x00 bytes and\nlines"
	_, err := child.Call(t.Context(), long, []byte("error "+message))
	remote, ok := errors.AsType[*sandbox.RemoteError](err)
	if !ok || remote.Message != message {
		t.Errorf("Call() = %q, want a RemoteError with %q", err, message)
	}
	if got := callChild(t, child, "pid"); got != pid {
		t.Errorf("the child is %s after the error, want still %s", got, pid)
	}
}

func TestExitHasAReason(t *testing.T) {
	t.Parallel()
	for _, tt := range deaths {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			testExit(t, tt)
		})
	}
}

// exitCase is a command and what its child dies of.
type exitCase struct {
	command string
	reason  sandbox.ExitReason
	detail  string
}

var deaths = []exitCase{
	{"hang", sandbox.Timeout, "killed after 100ms"},
	{"spin", sandbox.Timeout, "killed after 100ms"},
	{"exit", sandbox.Crash, "exit status 3"},
	{"exit0", sandbox.Crash, "exit status 0"},
	{"exitmemory", sandbox.Memory, "exit status 97"},
	{"badalloc", sandbox.Memory, "exit status 134"},
	{"panic", sandbox.Crash, "(value withheld) at inkstream.dev/pkg/sandbox_test.endProcess main_test.go:"},
	{"nil", sandbox.Crash, "nil pointer dereference"},
	{"segv", sandbox.Crash, "fatal error: fault at "},
	{"abort", sandbox.Crash, "SIGABRT"},
	{"sigkill", sandbox.Crash, "signal: killed"},
	{"spin ", sandbox.CPU, "CPU time of 1s"},
	{"garbage", sandbox.Crash, "broken protocol"},
	{"close", sandbox.Crash, "signal: killed"},
	{"flood slow", sandbox.Memory, " MiB of "},
	{"flood heap", sandbox.Memory, ""},
}

func testExit(t *testing.T, tt exitCase) {
	t.Helper()
	events := make(chan string, 10)
	cfg := sandbox.Config{MemoryLimit: 256 << 20,
		Observe: func(e sandbox.Event, r sandbox.ExitReason) { events <- string(e) + string(r) }}
	timeout := long
	switch tt.reason {
	case sandbox.CPU:
		cfg.CPULimit = time.Second // a child under the race detector takes a tenth to start
	case sandbox.Timeout:
		timeout = 100 * time.Millisecond
	}
	pool := newPool(t, cfg)
	child := leaseChild(t, pool)
	_, err := child.Call(t.Context(), timeout, []byte(tt.command))
	got, ok := errors.AsType[*sandbox.ExitError](err)
	if !ok {
		t.Fatalf("Call(%q) = %v, want an ExitError", tt.command, err)
	}
	t.Log(got)
	if got.Reason != tt.reason || !strings.Contains(got.Detail, tt.detail) {
		t.Errorf("Call(%q) = %v, want reason %s and %q in the detail", tt.command, got, tt.reason, tt.detail)
	}
	if strings.Contains(got.Detail, "words of a document") {
		t.Errorf("the detail %q holds what the handler was at", got.Detail)
	}
	if _, again := child.Call(t.Context(), long, []byte("pid")); !errors.Is(again, error(got)) {
		t.Errorf("the next call = %v, want the same death", again)
	}
	if got := pool.Stats(); got.Deaths[tt.reason] != 1 || got.Live != 0 {
		t.Errorf("Stats() = %+v, want one death by %s and none live", got, tt.reason)
	}
	child.Release()
	next := leaseChild(t, pool)
	for range 2 {
		callChild(t, next, "pid")
	}
	for _, want := range []string{"started", "died" + string(tt.reason), "started"} {
		if got := <-events; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
}

func TestDataLimitStopsMappingsThatAreNeverTouched(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{MemoryLimit: 64 << 20}))
	_, err := child.Call(t.Context(), long, []byte("flood map"))
	if remote, ok := errors.AsType[*sandbox.RemoteError](err); !ok || remote.Message != "cannot allocate memory" {
		t.Errorf("mapping without end = %v, want a RemoteError: cannot allocate memory", err)
	}
}

func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{})
	for _, tt := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		want error
	}{
		{"cancelled", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			child, err := pool.LeaseChild(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer child.Release()
			ctx, cancel := tt.ctx()
			defer cancel()
			_, err = child.Call(ctx, long, []byte("hang"))
			death, ok := errors.AsType[*sandbox.ExitError](err)
			if !ok || death.Reason != sandbox.Cancelled || !errors.Is(err, tt.want) {
				t.Errorf("Call() = %v, want ExitError cancelled that is %v", err, tt.want)
			}
		})
	}
	t.Run("before the call", func(t *testing.T) {
		child, err := pool.LeaseChild(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer child.Release()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = child.Call(ctx, long, []byte("pid"))
		if _, died := errors.AsType[*sandbox.ExitError](err); died || !errors.Is(err, context.Canceled) {
			t.Errorf("Call() = %v, want context.Canceled and no death", err)
		}
		callChild(t, child, "pid")
		if _, err := pool.LeaseChild(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("LeaseChild() = %v, want context.Canceled", err)
		}
	})
}

func TestNewPoolChecksItsConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []sandbox.Config{
		{Size: 1},
		{Program: "test"},
		{Program: "test", Size: 1, MemoryLimit: -1},
		{Program: "test", Size: 1, ReadOnly: []string{""}},
	} {
		if _, err := sandbox.NewPool(cfg, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("NewPool(%+v) = nil, want an error", cfg)
		}
	}
}

func TestChildrenHaveTimerSlack(t *testing.T) {
	t.Parallel()
	if got := callChild(t, leaseChild(t, newPool(t, sandbox.Config{})), "slack"); got != "1000000" {
		t.Errorf("timer slack in nanoseconds = %s, want 1000000", got)
	}
}

// What a large page took of the heap is the system's again when the next comes.
func TestHeapOfALargeRequestIsGivenBack(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{}))
	heapSize := func() int {
		n, err := strconv.Atoi(callChild(t, child, "heap"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const large = 32 << 20
	before := heapSize()
	if got := len(callChild(t, child, "zeros "+strconv.Itoa(large))); got != large {
		t.Fatalf("%d bytes came back, want %d", got, large)
	}
	if after := heapSize(); after > before+large/2 {
		t.Errorf("the heap has %d bytes after a request of %d, %d before", after, large, before)
	}
}
