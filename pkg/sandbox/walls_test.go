package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/sandbox"
)

// withoutPrefix begins the mode of a middle process on a kernel that lacks a wall.
const withoutPrefix = "without "

// A pool that requires walls starts no child that lacks one, and says which one and what to do; another starts it, and
// the child knows what it lacks.
func TestMissingWalls(t *testing.T) {
	t.Parallel()
	if missing := sandbox.Isolation().Warning(); missing != "" {
		t.Skipf("this kernel lacks %s", missing)
	}
	for _, wall := range []string{"Landlock", "seccomp", "none"} {
		t.Run(wall, func(t *testing.T) {
			t.Parallel()
			middle := exec.CommandContext(t.Context(), "/proc/self/exe")
			middle.Env = append(os.Environ(), middleEnv+"="+withoutPrefix+wall)
			middle.Stderr = t.Output()
			out, err := middle.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitN(string(out), "\n", 3)
			if len(lines) != 3 {
				t.Fatalf("the pools said %q, want two lines", out)
			}
			required, bestEffort := lines[0], lines[1]
			if wall == "none" {
				if !strings.HasPrefix(required, "started") || bestEffort != required || !strings.HasSuffix(required, ", seccomp") {
					t.Errorf("required: %q, best effort: %q, want a child with all walls from both", required, bestEffort)
				}
				return
			}
			if !strings.HasPrefix(required, "refused") || !strings.Contains(required, wall) ||
				!strings.Contains(required, "--sandbox=best-effort") {
				t.Errorf("required: %q, want a refusal that names %s and the flag", required, wall)
			}
			if !strings.HasPrefix(bestEffort, "started: missing: "+wall) {
				t.Errorf("best effort: %q, want a child that misses %s", bestEffort, wall)
			}
		})
	}
}

// A child that takes a processor, or memory, when it has answered is ended, though it is idle, also while others are
// busy.
func TestIdleChildrenAreWatched(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]sandbox.ExitReason{"spin": sandbox.CPU, "slow": sandbox.Memory} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ended := make(chan sandbox.ExitReason, 2)
			// So little that the child has it well before it has spent the CPU time of an idle one.
			pool := newPool(t, sandbox.Config{Size: 2, MemoryLimit: 96 << 20,
				Observe: func(e sandbox.Event, reason sandbox.ExitReason) {
					if e == sandbox.Died {
						ended <- reason
					}
				}})
			good, bad := leaseChild(t, pool), leaseChild(t, pool)
			callChild(t, good, "pid")
			callChild(t, bad, "later "+how)
			bad.Release()
			busy, stop := context.WithCancel(t.Context()) // another child is at work all the time
			worked := make(chan struct{})
			go func() {
				defer close(worked)
				_, _ = good.Call(busy, 0, []byte("hang"))
			}()
			select {
			case reason := <-ended:
				if reason != want {
					t.Errorf("the child that goes on ended by %s, want %s", reason, want)
				}
			case <-time.After(2 * time.Minute):
				t.Errorf("the child that goes on is still there")
			}
			stop()
			<-worked
		})
	}
}

// runWithoutWall takes a wall away from this process and its children, and prints what pools make of that.
func runWithoutWall(wall string) {
	switch wall {
	case "Landlock":
		refuseSyscall(unix.SYS_LANDLOCK_CREATE_RULESET)
	case "seccomp":
		refuseSyscall(unix.SYS_SECCOMP)
	}
	for _, required := range []bool{true, false} {
		walls := make(chan sandbox.IsolationReport, 1)
		pool, err := sandbox.NewPool(sandbox.Config{Program: "echo", Size: 1, RequireWalls: required,
			ObserveWalls: func(r sandbox.IsolationReport) { walls <- r }}, slog.New(slog.DiscardHandler))
		if err != nil {
			panic(err)
		}
		child, err := pool.LeaseChild(context.Background())
		switch {
		case errors.Is(err, sandbox.ErrNoWalls):
			fmt.Println("refused:", err)
		case err != nil:
			panic(err)
		case child.Isolation() != <-walls:
			panic("the pool observes other walls than the child reports")
		default:
			fmt.Println("started:", child.Isolation())
			child.Release()
		}
		if err := pool.Close(); err != nil {
			panic(err)
		}
	}
	os.Exit(0)
}

// refuseSyscall has a system call fail, on all threads and in all children, as on a kernel that does not know it.
func refuseSyscall(number uint32) {
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		panic(err)
	}
	filters := make([]unix.SockFilter, len(program))
	for i, r := range program {
		filters[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	prog := &unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(prog))); errno != 0 {
		panic(errno)
	}
}
