package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/sandbox"
)

func TestWornChildrenAreReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  sandbox.Config
		body string
	}{
		{"after requests", sandbox.Config{RecycleAfter: 2}, "pid"},
		{"beyond memory", sandbox.Config{RecycleBytes: 1 << 20}, "pid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, tt.cfg)
			child := leaseChild(t, pool)
			first := callChild(t, child, tt.body)
			if again := callChild(t, child, tt.body); again != first {
				t.Errorf("the child changed from %s to %s within a lease", first, again)
			}
			child.Release()
			child.Release() // does nothing
			if second := callChild(t, leaseChild(t, pool), tt.body); second == first {
				t.Errorf("the worn child %s serves again", first)
			}
			if got := pool.Stats(); got.Recycled != 1 || got.Started != 2 || got.Live != 1 || len(got.Deaths) != 0 {
				t.Errorf("Stats() = %+v, want 1 recycled, 2 started, 1 live, no deaths", got)
			}
		})
	}
}

func TestIdleChildThatDiedFailsNoCall(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{})
	child := leaseChild(t, pool)
	pid, err := strconv.Atoi(callChild(t, child, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	child.Release()
	exited := watchExit(t, pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exited()
	if got := callChild(t, leaseChild(t, pool), "pid"); got == strconv.Itoa(pid) {
		t.Errorf("the dead child %s answers", got)
	}
}

// A child that has worked for one tenant never works for another, and those of tenants that do not come back end.
func TestChildOfOneTenant(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{Size: 2, OneTenant: true})
	if err := pool.StartChildren(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	lease := func(tenant string) (pid string) {
		t.Helper()
		child, err := pool.LeaseChild(sandbox.WithTenant(t.Context(), tenant))
		if err != nil {
			t.Fatal(err)
		}
		defer child.Release()
		return callChild(t, child, "pid")
	}
	owner := make(map[string]string)
	for _, tenant := range []string{"a", "b", "a", "b", "c", "b", "a", "c", "d", "d"} {
		pid := lease(tenant)
		if before, ok := owner[pid]; ok && before != tenant {
			t.Errorf("child %s works for %s after %s", pid, tenant, before)
		}
		owner[pid] = tenant
		if idle := pool.Stats().Idle; idle > 2 {
			t.Errorf("%d children are kept warm, want 2", idle)
		}
	}
	// a, b: the warm ones. c ends a's, a ends c's, c ends b's, d ends a's.
	if got := pool.Stats(); got.Started != 6 || got.Retired != 4 || len(got.Deaths) != 0 {
		t.Errorf("Stats() = %+v, want 6 started, 4 retired", got)
	}
}

// A call that takes long yields to everything else, and its child serves nothing more when it is released; others stay.
func TestLongCallYields(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{YieldAfter: long})
	child := leaseChild(t, pool)
	first := callChild(t, child, "pid")
	child.Release()
	if again := callChild(t, leaseChild(t, pool), "pid"); again != first {
		t.Errorf("a child whose calls were short was replaced")
	}
	pool = newPool(t, sandbox.Config{YieldAfter: 100 * time.Millisecond})
	child = leaseChild(t, pool)
	first = callChild(t, child, "pid")
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	if nice, want := callChild(t, child, "yield"), strconv.Itoa(max(15, 20-own)); nice != want {
		t.Errorf("a long call runs at nice value %s, want %s", nice, want)
	}
	child.Release()
	if next := callChild(t, leaseChild(t, pool), "pid"); next == first {
		t.Errorf("the child that yields serves again")
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program string
		check   func(error) bool
	}{
		{"refuses", func(err error) bool {
			remote, ok := errors.AsType[*sandbox.RemoteError](err)
			return ok && remote.Message == "set up: no model"
		}},
		{"unheard of", func(err error) bool {
			_, ok := errors.AsType[*sandbox.RemoteError](err)
			return ok && strings.Contains(err.Error(), "unheard of")
		}},
		{"hangs", func(err error) bool {
			death, ok := errors.AsType[*sandbox.ExitError](err)
			return ok && death.Reason == sandbox.Timeout
		}},
		{"exits", func(err error) bool {
			death, ok := errors.AsType[*sandbox.ExitError](err)
			return ok && death.Reason == sandbox.Memory && strings.Contains(death.Detail, "terminate called")
		}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			timeout := long
			if tt.program == "hangs" {
				timeout = 300 * time.Millisecond
			}
			pool := newPool(t, sandbox.Config{Program: tt.program, StartTimeout: timeout})
			for range 2 { // the slot is free again
				child, err := pool.LeaseChild(t.Context())
				if child != nil || !tt.check(err) {
					t.Errorf("LeaseChild() = %v, %v, want an error that says why", child, err)
				}
			}
			if err := pool.StartChildren(t.Context(), 1); !tt.check(err) {
				t.Errorf("StartChildren() = %v, want an error that says why", err)
			}
		})
	}
}

func TestLeasesShareThePool(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{Size: 2, ScratchBytes: 4096})
	if err := pool.StartChildren(t.Context(), 5); err != nil {
		t.Fatalf("StartChildren() = %v, want nil", err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				child, err := pool.LeaseChild(t.Context())
				if err != nil {
					t.Errorf("LeaseChild() = %v, want nil", err)
					return
				}
				want := fmt.Sprintf("error %d %d", i, j)
				if _, err := child.Call(t.Context(), long, []byte(want)); err == nil || "error "+err.Error() != want {
					t.Errorf("Call() = %v, want %q", err, want)
				}
				if j == 10 && i%4 == 0 {
					if _, err := child.Call(t.Context(), long, []byte("exit")); err == nil {
						t.Errorf("Call(exit) = nil, want a death")
					}
				}
				if got := pool.Stats().Live; got > 3 { // one may be dying
					t.Errorf("%d children live, want at most 2", got)
				}
				child.Release()
			}
		})
	}
	wg.Wait()
	// A child that crashed last is replaced only when another is needed.
	if got := pool.Stats(); got.Deaths[sandbox.Crash] != 2 || got.Started > 4 || got.Live != got.Started-2 ||
		got.Idle != got.Live {
		t.Errorf("Stats() = %+v, want 2 crashed, at most 4 started, the others live and idle", got)
	}
}

func TestLeaseWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{})
	leaseChild(t, pool)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := pool.LeaseChild(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("LeaseChild() = %v, want context.DeadlineExceeded", err)
	}
}

func TestCloseWhileBusy(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 3)
	pool := newPool(t, sandbox.Config{Size: 3, Observe: func(e sandbox.Event, _ sandbox.ExitReason) {
		if e == sandbox.Started {
			started <- struct{}{}
		}
	}})
	busy, resting := leaseChild(t, pool), leaseChild(t, pool)
	callChild(t, busy, "pid")
	result := make(chan error)
	go func() {
		_, err := busy.Call(t.Context(), long, []byte("hang"))
		result <- err
	}()
	waiting := make(chan error)
	for range 2 {
		go func() { // one of them gets the third child, the other waits
			child, err := pool.LeaseChild(t.Context())
			if err == nil {
				_, err = child.Call(t.Context(), long, []byte("hang"))
				child.Release()
			}
			waiting <- err
		}()
	}
	for range 3 {
		<-started
	}
	if err := pool.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	if got := pool.Stats().Live; got != 0 {
		t.Errorf("%d processes live after Close, want 0", got)
	}
	for _, results := range []chan error{result, waiting, waiting} {
		if err := <-results; !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("a call or lease = %v, want ErrClosed", err)
		}
	}
	_, err := resting.Call(t.Context(), long, []byte("pid"))
	if death, ok := errors.AsType[*sandbox.ExitError](err); !ok || death.Reason != sandbox.Cancelled {
		t.Errorf("Call() after Close = %v, want ExitError cancelled", err)
	}
	resting.Release()
	if _, err := resting.Call(t.Context(), long, []byte("pid")); err == nil {
		t.Errorf("Call() after Release = nil, want an error")
	}
	if _, err := pool.LeaseChild(t.Context()); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("LeaseChild() after Close = %v, want ErrClosed", err)
	}
}

func TestParentsDeathKillsTheChild(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"idle", "busy", "stopped"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			parent := exec.Command("/proc/self/exe")
			parent.Env = append(os.Environ(), middleEnv+"="+mode)
			parent.Stderr = t.Output()
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if mode == "stopped" { // sees neither the end of its connection nor anything else
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			exited := watchExit(t, pid)
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // says that it was killed
			exited()
		})
	}
}

// runMiddleProcess is the parent that gets killed.
func runMiddleProcess(mode string) {
	pool, err := sandbox.NewPool(sandbox.Config{Program: "test", Size: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	child, err := pool.LeaseChild(context.Background())
	if err != nil {
		panic(err)
	}
	pid, err := child.Call(context.Background(), 0, []byte("pid"))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(pid))
	if mode != "idle" {
		_, err = child.Call(context.Background(), 0, []byte("hang"))
	}
	<-time.After(time.Minute)
	panic(err)
}

// watchExit returns a function that waits for the end of a process, whatever its parent is.
func watchExit(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("watch process %d: %v", pid, err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		deadline := time.Now().Add(5 * time.Second)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
			if errors.Is(err, unix.EINTR) && time.Now().Before(deadline) {
				continue // a signal of the runtime's
			}
			if n != 1 {
				t.Errorf("process %d is still there after 5 s (poll: %v)", pid, err)
			}
			return
		}
	}
}

func TestIdleChildrenEnd(t *testing.T) {
	t.Parallel()
	died := make(chan struct{}, 3)
	pool := newPool(t, sandbox.Config{Size: 3, IdleTimeout: 50 * time.Millisecond,
		Observe: func(e sandbox.Event, _ sandbox.ExitReason) {
			if e == sandbox.Died {
				died <- struct{}{}
			}
		}})
	var exited []func()
	var children []*sandbox.Child
	for range 3 {
		child := leaseChild(t, pool)
		pid, err := strconv.Atoi(callChild(t, child, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		children, exited = append(children, child), append(exited, watchExit(t, pid))
	}
	for _, child := range children {
		child.Release()
	}
	for _, wait := range exited {
		wait()
	}
	callChild(t, leaseChild(t, pool), "pid") // another starts
	if got := pool.Stats(); got.Retired != 3 || got.Started != 4 || len(got.Deaths) != 0 {
		t.Errorf("Stats() = %+v, want 3 retired, 4 started, no deaths", got)
	}
	if len(died) > 0 {
		t.Error("the end of an idle child counts as a death")
	}
}
