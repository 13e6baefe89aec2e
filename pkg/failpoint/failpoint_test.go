package failpoint_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"inkstream.dev/pkg/failpoint"
)

// Points are the process's own, so these tests do not run beside each other.

func TestMain(m *testing.M) {
	if os.Getenv(failpoint.EnvVariable) != "" {
		hitAndDie()
	}
	os.Exit(m.Run())
}

// hitAndDie is the child of TestFailpointKillsProcess: it should not come back from the second hit.
func hitAndDie() {
	if err := failpoint.ArmFromEnv(context.Background(), os.Getenv,
		slog.New(slog.NewTextHandler(os.Stdout, nil))); err != nil {
		os.Exit(3)
	}
	for range 2 {
		if err := failpoint.Hit("ocr", "work"); err != nil {
			os.Exit(4)
		}
		os.Stdout.WriteString("alive\n")
	}
	os.Exit(5)
}

func TestFailpointKillsProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{failpoint.EnvVariable + "=ocr.work=kill@2"}
	out, err := cmd.Output()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended with %v, want SIGKILL", err)
	}
	if got := strings.Count(string(out), "alive"); got != 1 || !strings.Contains(string(out), "FAILPOINTS ARE ARMED") {
		t.Errorf("it said %q, want a warning, and to be alive once", out)
	}
}

// A process that was stopped goes on where it stood.
func TestStoppedProcessGoesOn(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{failpoint.EnvVariable + "=ocr.work=stop@2"}
	var said bytes.Buffer
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("waited for %v, %v, want it stopped", status, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 5 || strings.Count(said.String(), "alive") != 2 {
		t.Errorf("it ended with %v and said %q, want both hits to return", err, said.String())
	}
}

func TestFailpointFailsAtItsHits(t *testing.T) {
	for _, tt := range []struct {
		spec string
		want string // of six hits of a.b, f for those that fail
	}{
		{"a.b=error", "f....."},
		{"a.b=error@3", "..f..."},
		{"a.b=error@2x3", ".fff.."},
		{"a.c=error, other=kill", "......"},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			disarm, err := failpoint.ArmPoints(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			defer disarm()
			var got strings.Builder
			for range 6 {
				err := failpoint.Hit("a", "b")
				switch {
				case err == nil:
					got.WriteByte('.')
				case errors.Is(err, failpoint.ErrInjected):
					got.WriteByte('f')
				default:
					t.Fatalf("error %v, want ErrInjected", err)
				}
			}
			if got.String() != tt.want {
				t.Errorf("hits %s, want %s", got.String(), tt.want)
			}
		})
	}
	if err := failpoint.Hit("a", "b"); err != nil {
		t.Errorf("disarmed: %v, want nil", err)
	}
}

func TestBadSpecifications(t *testing.T) {
	for _, spec := range []string{"a", "a.b=", "a.b=explode", "a.b=kill@0", "a.b=kill@x", "a.b=error@1x0", "=kill",
		"a.b=kill,"} {
		if _, err := failpoint.ArmPoints(spec); err == nil {
			t.Errorf("%q was taken, want an error", spec)
		}
	}
}

func TestNothingIsArmedWithoutBeingAsked(t *testing.T) {
	var log bytes.Buffer
	err := failpoint.ArmFromEnv(t.Context(), func(string) string { return "" }, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || log.Len() > 0 {
		t.Errorf("without the variable: %v, log %q, want neither", err, log.String())
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = failpoint.Hit("render", "work") }); allocs != 0 {
		t.Errorf("a hit that is off allocates %v times, want 0", allocs)
	}
}
