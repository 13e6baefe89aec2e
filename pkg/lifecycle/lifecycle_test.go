package lifecycle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/lifecycle"
)

// signalChild, in the environment, makes this test binary the program that TestSecondSignalKills sends signals to.
const signalChild = "LIFECYCLE_SIGNAL_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(signalChild) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := lifecycle.SignalContext(context.Background())
	defer stop()
	fmt.Println("running")
	<-ctx.Done()
	fmt.Println("draining")
	<-time.After(time.Minute) // a drain that takes longer than the sender of the signals waits
}

// eventLog notes what happens, in order.
type eventLog struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *eventLog) record(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *eventLog) want(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("order: got %q, want %q", d.lines, want)
	}
}

// unit returns a unit that takes a second to get ready and a second to drain.
func (d *eventLog) unit(name string) lifecycle.Unit {
	return lifecycle.Unit{Name: name, Run: func(ctx context.Context, ready func()) error {
		d.record("start " + name)
		<-time.After(time.Second)
		d.record("ready " + name)
		ready()
		<-ctx.Done()
		d.record("stop " + name)
		<-time.After(time.Second)
		d.record("stopped " + name)
		return nil
	}}
}

var errBoom = errors.New("boom")

var discard = slog.New(slog.DiscardHandler)

func TestUnitsStartInOrderAndStopInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := lifecycle.Run(ctx, discard, d.unit("bus"), d.unit("ocr"), d.unit("gateway")); err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		d.want(t, "start bus", "ready bus", "start ocr", "ready ocr", "start gateway", "ready gateway",
			"stop gateway", "stopped gateway", "stop ocr", "stopped ocr", "stop bus", "stopped bus")
	})
}

func TestUnitThatDoesNotStartStopsTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		broken := lifecycle.Unit{Name: "ocr", Run: func(context.Context, func()) error { return errBoom }}
		err := lifecycle.Run(t.Context(), discard, d.unit("bus"), broken, d.unit("gateway"))
		if !errors.Is(err, errBoom) || err.Error() != "ocr: boom" {
			t.Errorf("Run: got error %v, want ocr: boom", err)
		}
		d.want(t, "start bus", "ready bus", "stop bus", "stopped bus")
	})
}

func TestEndOfContextDuringStartStopsWhatWasStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := lifecycle.Run(ctx, discard, d.unit("bus"), d.unit("ocr"), d.unit("gateway")); err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		d.want(t, "start bus", "ready bus", "start ocr", "ready ocr", "stop ocr", "stopped ocr", "stop bus", "stopped bus")
	})
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	ends := func(err error, finite bool) lifecycle.Unit {
		return lifecycle.Unit{Name: "job", EndsProcess: finite, Run: func(_ context.Context, ready func()) error {
			ready()
			<-time.After(time.Minute)
			return err
		}}
	}
	stops := func(err error) lifecycle.Unit {
		return lifecycle.Unit{Name: "stops", Run: func(ctx context.Context, ready func()) error {
			ready()
			<-ctx.Done()
			return err
		}}
	}
	stuck := lifecycle.Unit{Name: "stuck", DrainTimeout: 5 * time.Second,
		Run: func(ctx context.Context, ready func()) error {
			ready()
			<-ctx.Done()
			<-time.After(time.Hour)
			return nil
		}}
	for _, tt := range []struct {
		name  string
		units []lifecycle.Unit
		want  string
	}{
		{"no units", nil, ""},
		{"finite unit through", []lifecycle.Unit{stops(nil), ends(nil, true)}, ""},
		{"finite unit failed", []lifecycle.Unit{stops(nil), ends(errBoom, true)}, "job: boom"},
		{"unit ended by itself", []lifecycle.Unit{ends(nil, false), stops(nil)}, "job: ended without being asked to"},
		{"unit failed", []lifecycle.Unit{ends(errBoom, false), stops(nil)}, "job: boom"},
		{"drain failed", []lifecycle.Unit{stops(errBoom), ends(nil, true)}, "stops: boom"},
		{"stop reported as cancelled", []lifecycle.Unit{stops(context.Canceled), ends(nil, true)}, ""},
		{"both errors are joined", []lifecycle.Unit{stops(errBoom), ends(errBoom, false)}, "job: boom\nstops: boom"},
		{"unit that does not stop is left behind", []lifecycle.Unit{stops(nil), stuck, ends(nil, true)},
			"stuck: did not stop within 5s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := ""
				if err := lifecycle.Run(t.Context(), discard, tt.units...); err != nil {
					got = err.Error()
				}
				if got != tt.want {
					t.Errorf("Run: got error %q, want %q", got, tt.want)
				}
				<-time.After(2 * time.Hour) // of the bubble's own time: even the stuck unit ends, so that no goroutine leaks
			})
		})
	}
}

func TestUnitKeepsContextValues(t *testing.T) {
	t.Parallel()
	type key struct{}
	var got any
	ctx := context.WithValue(t.Context(), key{}, "value")
	unit := lifecycle.Unit{Name: "unit", EndsProcess: true, Run: func(ctx context.Context, _ func()) error {
		got = ctx.Value(key{})
		return nil
	}}
	if err := lifecycle.Run(ctx, discard, unit); err != nil || got != "value" {
		t.Errorf("Run: got value %v, error %v, want value, none", got, err)
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), signalChild+"=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatalf("pipe: %v", err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatalf("start: %v", err)
			}
			lines := bufio.NewReader(out)
			for _, want := range []string{"running", "draining"} {
				got, err := lines.ReadString('\n')
				if strings.TrimSpace(got) != want {
					t.Errorf("child: got %q, %v, want %q", got, err, want)
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatalf("signal: %v", err)
				}
			}
			exit, ok := errors.AsType[*exec.ExitError](waitFor(t, cmd, sig))
			if !ok {
				t.Fatalf("child: ended cleanly, want it killed by %v", sig)
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != sig {
				t.Errorf("child: got %v, want it killed by %v", exit, sig)
			}
		})
	}
}

// waitFor waits for the child. It sends the signal again until then, because the moment in which the first one has
// its effect is short but not nothing.
func waitFor(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case err := <-done:
			tick.Stop()
			return err
		case <-tick.C:
			_ = cmd.Process.Signal(sig) // it may have ended by now
		}
	}
}
