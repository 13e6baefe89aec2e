package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A process that gives way does not come before what it was started beside, however nice that is.
func TestLowerPriorityNeverRaisesIt(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	_ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, yieldPriority+2) // which it may be nicer than already
	before, err := niceOf(cmd.Process.Pid)
	if err != nil || before < yieldPriority+2 {
		t.Fatalf("nice value at the start: got %d, %v, want at least %d", before, err, yieldPriority+2)
	}
	p := &process{pid: cmd.Process.Pid}
	for _, tt := range []struct{ lowered, want int }{{yieldPriority, before}, {slowPriority, slowPriority}} {
		p.lowerPriority(tt.lowered)
		if got, err := niceOf(p.pid); err != nil || got != tt.want {
			t.Errorf("lowered to %d from %d: got %d, %v, want %d", tt.lowered, before, got, err, tt.want)
		}
	}
}

func TestSyscallFilter(t *testing.T) {
	t.Parallel()
	const pid = 1234
	run, machine := filterRunner(t, pid)
	const allow, eperm, enosys = uint32(seccomp.ActionAllow), uint32(seccomp.ActionErrno) | uint32(unix.EPERM),
		uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)
	for _, name := range forbiddenSyscalls {
		if nr, ok := machine.SyscallNames[name]; ok {
			if got := run(uint32(machine.ID), uint32(nr), 0); got != eperm {
				t.Errorf("%s: verdict %#x, want %#x", name, got, eperm)
			}
		}
	}
	for _, tt := range []struct {
		name string
		arg  uint64
		want uint32
	}{
		{"read", 3, allow}, {"sendmsg", 3, allow}, {"recvmsg", 3, allow}, {"mmap", 0, allow}, {"futex", 0, allow},
		{"openat", 0, allow},
		{"getrandom", 0, allow}, {"exit_group", 0, allow}, {"madvise", 0, allow}, {"epoll_pwait", 0, allow},
		{"execve", 0, eperm},
		{"kill", pid, allow}, {"kill", 1, eperm}, {"kill", 0, eperm}, {"kill", 1<<64 - 1, eperm},
		{"kill", 1<<32 | pid, eperm},
		{"tgkill", pid, allow}, {"tgkill", 1, eperm},
		{"clone", unix.CLONE_THREAD | unix.CLONE_VM, allow}, {"clone", uint64(unix.SIGCHLD), eperm},
		{"clone", unix.CLONE_VM | unix.CLONE_VFORK, eperm},
		{"prlimit64", 0, allow}, {"prlimit64", 1, eperm}, {"clone3", 0, enosys},
	} {
		nr, ok := machine.SyscallNames[tt.name]
		if !ok {
			t.Fatalf("no system call %s on this machine", tt.name)
		}
		if got := run(uint32(machine.ID), uint32(nr), tt.arg); got != tt.want {
			t.Errorf("%s(%#x): verdict %#x, want %#x", tt.name, tt.arg, got, tt.want)
		}
	}
	if got, want := run(uint32(arch.I386.ID), 11, 0), uint32(seccomp.ActionKillProcess); got != want {
		t.Errorf("a 32-bit call: verdict %#x, want %#x", got, want)
	}
	if machine.ID == arch.X86_64.ID {
		if got := run(uint32(machine.ID), 0x40000000|59, 0); got != enosys {
			t.Errorf("an x32 call: verdict %#x, want %#x", got, enosys)
		}
	}
}

// filterRunner returns a function that asks the filter for its verdict on a call, by machine, number and first
// argument.
func filterRunner(t *testing.T, pid int) (func(machineID, nr uint32, arg uint64) uint32, *arch.Info) {
	t.Helper()
	program, err := syscallFilter(pid)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	// The VM reads words as from a network packet; the kernel in the machine's order. The low half of an argument comes
	// first.
	return func(machineID, nr uint32, arg uint64) uint32 {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data, nr)
		binary.BigEndian.PutUint32(data[4:], machineID)
		binary.BigEndian.PutUint32(data[16:], uint32(arg))
		binary.BigEndian.PutUint32(data[20:], uint32(arg>>32))
		verdict, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(verdict)
	}, machine
}

func TestSafeExcerptHoldsNoText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, words, want string }{
		{"nothing", "", ""},
		{"lines of an engine", "one\ntwo\n\nthree\nfour\n", "three | four"},
		{"quoted", `Error opening data file "/secret/name" of "x` + "\nread_params_file: Can't open 'secret'\n",
			`Error opening data file "…" | read_params_file: Can't open "…"`},
		{"typographic quotes", "bad word “secret”", `bad word "…"`},
		{"not printable", "bad \x1b[31mtoken\xff Größe", "bad [31mtoken Gre"},
		{"long", strings.Repeat("x", 500), strings.Repeat("x", excerptColumns)},
		{"panic with a value", "noise\npanic: secret\n\tand more\n\ngoroutine 1 [running]:\n" +
			"main.(*Engine).load(0xc000, {0x1, 0x2})\n\t/src/engine/load.go:12 +0x1d\n",
			"panic: (value withheld) at main.(*Engine).load load.go:12"},
		{"runtime error", "panic: runtime error: index out of range [5] with length 3\n\n" +
			"goroutine 1 [running]:\nruntime.panicIndex()\n\t/go/panic.go:1\n" +
			"a/b.F[...](0x1)\n\t/src/f.go:7 +0x1\n",
			"panic: runtime error: index out of range [5] with length 3 at a/b.F[...] f.go:7"},
		{"fatal error",
			"fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw({0x1})\n\t/go/panic.go:1 +0x1\n",
			"fatal error: runtime: out of memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := safeExcerpt(tt.words); got != tt.want {
				t.Errorf("excerpt = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExitReason(t *testing.T) {
	t.Parallel()
	exit := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
	signalled := func(s syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(s) }
	for _, tt := range []struct {
		name      string
		status    syscall.WaitStatus
		words     string
		nearLimit bool
		want      ExitReason
	}{
		{"plain exit", exit(1), "", false, Crash},
		{"segmentation fault", signalled(syscall.SIGSEGV), "", false, Crash},
		{"segmentation fault with memory at its end", signalled(syscall.SIGSEGV), "", true, Memory},
		{"clean exit with much memory", exit(0), "", true, Crash},
		{"killed from outside", signalled(syscall.SIGKILL), "", false, Crash},
		{"killed by the kernel for memory", signalled(syscall.SIGKILL), "", true, Memory},
		{"the program says memory", exit(ExitMemory), "", false, Memory},
		{"Go", exit(2), "fatal error: runtime: cannot allocate memory", false, Memory},
		{"C++", signalled(syscall.SIGABRT), "what():  std::bad_alloc", false, Memory},
		{"CPU", signalled(syscall.SIGXCPU), "", true, CPU},
	} {
		if got := exitReason(tt.status, tt.words, tt.nearLimit); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestStderrTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l := newStderrTail(r)
	go l.readPipe()
	for range 100 {
		if _, err := w.WriteString(strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.WriteString("the end"); err != nil {
		t.Fatal(err)
	}
	closeFiles(w)
	if got := l.drainPipe(); len(got) != maxStderrBytes || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("kept %d bytes that end in %q, want %d and %q", len(got), got[max(0, len(got)-8):], maxStderrBytes,
			"xthe end")
	}
}

// The place beyond the ordinary ones is for what is urgent, beside what is not, or takes long. Where all that is in hand
// is as urgent, it stays free.
func TestUrgentLeaseGoesBeyondOthers(t *testing.T) {
	t.Parallel()
	urgent := WithPriority(t.Context())
	acquireSoon := func(s *leaseSlots) error {
		ctx, cancel := context.WithTimeout(urgent, 20*leaseLookInterval)
		defer cancel()
		tokens, err := s.acquire(ctx)
		if err == nil {
			s.release(tokens)
		}
		return err
	}
	for _, tt := range []struct {
		name   string
		holder context.Context
		since  time.Duration
		want   error
	}{
		{"beside what is not urgent", t.Context(), 0, nil},
		{"beside what is as urgent", urgent, 0, context.DeadlineExceeded},
		{"beside what takes long", urgent, urgentPatience, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slots := newLeaseSlots(Config{Size: 1}, make(chan struct{}))
			held, err := slots.acquire(tt.holder)
			if err != nil {
				t.Fatal(err)
			}
			for tokens := range slots.urgent {
				slots.urgent[tokens] = time.Now().Add(-tt.since)
			}
			if err := acquireSoon(slots); !errors.Is(err, tt.want) {
				t.Errorf("acquire() = %v, want %v", err, tt.want)
			}
			slots.release(held)
			if err := acquireSoon(slots); err != nil {
				t.Errorf("acquire() = %v after a release, want nil", err)
			}
			if len(slots.urgent) > 0 {
				t.Errorf("%d urgent leases are left", len(slots.urgent))
			}
		})
	}
}
