package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/sandbox"
)

// middleEnv makes this binary a process between the test and a child, for the test that kills a parent.
const middleEnv = "SANDBOX_TEST_MIDDLE"

func TestMain(m *testing.M) {
	sandbox.Main(
		sandbox.Program{Name: "test", Setup: setupTest},
		sandbox.Program{Name: "echo", Setup: func(context.Context, []string) (sandbox.Handler, error) {
			return sandbox.HandlerFunc(func(_ context.Context, req sandbox.Request) ([]byte, error) { return req.Body, nil }),
				nil
		}},
		sandbox.Program{Name: "refuses", Setup: func(context.Context, []string) (sandbox.Handler, error) {
			return nil, errors.New("no model")
		}},
		sandbox.Program{Name: "hangs", Setup: func(context.Context, []string) (sandbox.Handler, error) {
			return nil,
				endProcess("hang")
		}},
		sandbox.Program{Name: "exits", Setup: func(context.Context, []string) (sandbox.Handler, error) {
			fmt.Fprintln(os.Stderr, `terminate called after throwing an instance of 'std::bad_alloc'`)
			os.Exit(3)
			return nil, nil
		}},
	)
	if mode := os.Getenv(middleEnv); mode != "" {
		if wall, ok := strings.CutPrefix(mode, withoutPrefix); ok {
			runWithoutWall(wall)
		}
		runMiddleProcess(mode)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := childrenOf(os.Getpid()); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "processes left behind: %v\n", left)
			code = 1
		}
		os.Exit(code)
	}))
}

// setupTest makes the handler of most tests: the request is a command and its arguments, separated by spaces.
func setupTest(_ context.Context, args []string) (sandbox.Handler, error) {
	h := &testHandler{args: args}
	return sandbox.HandlerFunc(h.handleRequest), nil
}

type testHandler struct {
	args []string
	kept [][]byte
}

func (h *testHandler) handleRequest(_ context.Context, req sandbox.Request) ([]byte, error) {
	words := strings.Fields(string(req.Body))
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "pid":
		return []byte(strconv.Itoa(os.Getpid())), nil
	case "args":
		return []byte(strings.Join(h.args, ",") + "|" + strings.Join(os.Environ(), ",")), nil
	case "error":
		return nil, errors.New(string(req.Body[len("error "):]))
	case "zeros":
		n, err := strconv.Atoi(arg(1))
		return make([]byte, n), err
	case "heap":
		samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(samples)
		return strconv.AppendUint(nil, samples[0].Value.Uint64()+samples[1].Value.Uint64(), 10), nil
	case "files":
		return readAll(req.Files)
	case "slack":
		n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		return strconv.AppendInt(nil, int64(n), 10), err
	case "open": // which of its files it was handed by exec
		var kept []string
		for fd := range 64 {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				kept = append(kept, strconv.Itoa(fd))
			}
		}
		return []byte(strings.Join(kept, " ")), nil
	case "double":
		return nil, doubleScratch(req.Scratch)
	case "grow":
		return nil, req.Scratch.Truncate(1 << 20)
	case "try":
		return nil, tryForbidden(arg(1), arg(2))
	case "threads":
		return nil, tryOnThreads()
	case "flood":
		return nil, h.exhaustLimit(arg(1))
	case "yield": // computes until it yields, and says how nice it is then
		return computeUntilYield()
	case "later": // as a child that was taken over, and goes on when it has answered
		go func() {
			_ = endProcess(arg(1))
			_ = h.exhaustLimit(arg(1))
		}()
		return nil, nil
	default:
		return nil, endProcess(words[0])
	}
}

// endProcess ends the process, or lets it hang, in many ways.
func endProcess(how string) error {
	switch how {
	case "hang":
		<-time.After(time.Hour) // not select {}, which the runtime may call a deadlock
	case "spin":
		for i := 0; i >= 0; i &= 0xff {
			i++
		}
	case "exit":
		os.Exit(3)
	case "exit0":
		os.Exit(0)
	case "exitmemory":
		os.Exit(sandbox.ExitMemory)
	case "badalloc":
		fmt.Fprintln(os.Stderr, "terminate called after throwing an instance of 'std::bad_alloc'")
		os.Exit(134)
	case "panic":
		panic("the words of a document")
	case "nil":
		var p *int
		*p = 1 //nolint:govet // the point of it
	case "segv":
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		b[0] = 1
	case "abort":
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGABRT), endProcess("hang"))
	case "sigkill":
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), endProcess("hang"))
	case "garbage":
		_, err := unix.Write(3, []byte("not a frame, but long enough for its header"))
		return errors.Join(err, endProcess("hang"))
	case "close":
		return errors.Join(unix.Close(3), endProcess("hang"))
	}
	return errors.New("unknown command " + how)
}

// exhaustLimit takes memory until it is stopped: touching every page, or only mapping.
func (h *testHandler) exhaustLimit(how string) error {
	for {
		b, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		h.kept = append(h.kept, b)
		switch how {
		case "slow": // as an engine that computes what it stores
			// Written to by the kernel: page by page, a busy machine takes more CPU time for it than an idle child may have.
			if err := unix.Madvise(b, unix.MADV_POPULATE_WRITE); err != nil {
				return err
			}
			<-time.After(2 * time.Millisecond)
		case "heap":
			g := make([]byte, 64<<20)
			for i := 0; i < len(g); i += 4096 {
				g[i] = 1
			}
			h.kept = append(h.kept, g)
		}
	}
}

func readAll(files []*os.File) ([]byte, error) {
	var all []byte
	for _, f := range files {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		b := make([]byte, info.Size())
		if _, err := f.ReadAt(b, 0); err != nil {
			return nil, err
		}
		all = append(append(all, b...), '|')
	}
	return all, nil
}

// doubleScratch maps the scratch file, doubles its first byte and appends a mark.
func doubleScratch(scratch *os.File) error {
	conn, err := scratch.SyscallConn()
	if err != nil {
		return err
	}
	var b []byte
	mapErr := conn.Control(func(fd uintptr) {
		b, err = unix.Mmap(int(fd), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	})
	if err := errors.Join(err, mapErr); err != nil {
		return err
	}
	b[0] *= 2
	copy(b[1:], "seen")
	return unix.Munmap(b)
}

// tryForbidden does what a child should not be able to do, and returns how it failed.
func tryForbidden(what, arg string) error {
	switch what {
	case "read":
		_, err := os.ReadFile(arg)
		return err
	case "list":
		_, err := os.ReadDir(arg)
		return err
	case "write":
		return os.WriteFile(arg, []byte("x"), 0o600)
	case "remove":
		return os.Remove(arg)
	case "stat":
		_, err := os.Stat(arg)
		return err
	case "readlink":
		_, err := os.Readlink(arg)
		return err
	case "statopen": // of a file that is open
		f, err := os.Open(arg)
		if err == nil {
			_, err = f.Stat()
		}
		return err
	case "chmod":
		return os.Chmod(arg, 0o777)
	case "mkdir":
		return os.Mkdir(arg, 0o700)
	case "files":
		var err error
		for err == nil {
			_, err = unix.Dup(0)
		}
		return err
	}
	return tryReach(what, arg)
}

// tryReach goes on with the ways to others: sockets, programs, signals.
func tryReach(what, arg string) error {
	switch what {
	case "dial":
		network, address, _ := strings.Cut(arg, "/")
		conn, err := net.Dial(network, address)
		if err == nil {
			return conn.Close()
		}
		return err
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			return l.Close()
		}
		return err
	case "exec":
		return exec.Command(arg).Run()
	case "execve":
		return syscall.Exec(arg, []string{arg}, nil)
	case "fork":
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	case "signal":
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGUSR1)
	}
	return tryKernel(what)
}

// tryKernel goes on with system calls that no engine needs.
func tryKernel(what string) error {
	errnoOf := func(trap, a, b, c uintptr) error {
		if _, _, errno := syscall.Syscall(trap, a, b, c); errno != 0 {
			return errno
		}
		return nil
	}
	switch what {
	case "socketpair":
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	case "ptrace":
		return unix.PtraceAttach(os.Getppid())
	case "unshare":
		return unix.Unshare(unix.CLONE_NEWUSER)
	case "mount":
		return unix.Mount("none", "/tmp", "tmpfs", 0, "")
	case "memfd":
		_, err := unix.MemfdCreate("x", 0)
		return err
	case "sharedmemory":
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		return err
	case "outlive": // its parent
		return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	case "io_uring":
		return errnoOf(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	case "bpf":
		return errnoOf(unix.SYS_BPF, 0, 0, 0)
	case "clone3":
		return errnoOf(unix.SYS_CLONE3, 0, 0, 0)
	case "truncate":
		return unix.Truncate("/etc/passwd", 1<<40) // too large for any process, if the call gets that far
	case "renice":
		return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 10)
	case "pin":
		return unix.SchedSetaffinity(os.Getppid(), &unix.CPUSet{})
	case "own":
		_, err := unix.FcntlInt(3, unix.F_SETOWN, os.Getppid())
		return err
	case "ownhigh": // the kernel ignores the command's upper half
		return errnoOf(unix.SYS_FCNTL, 3, 1<<32|unix.F_SETOWN, uintptr(os.Getppid()))
	case "setsig":
		_, err := unix.FcntlInt(3, unix.F_SETSIG, int(unix.SIGKILL))
		return err
	case "ioctlown":
		const fioSetOwn = 0x8901
		return unix.IoctlSetPointerInt(3, fioSetOwn, os.Getppid())
	case "flags":
		_, err := unix.FcntlInt(3, unix.F_GETFL, 0)
		return err
	case "tgkill":
		return unix.Tgkill(os.Getppid(), os.Getppid(), 0)
	case "morefiles":
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4096, Max: 4096})
	case "caps":
		var data [2]unix.CapUserData
		if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
			return err
		}
		return fmt.Errorf("%d %d %d", data[0].Effective, data[0].Permitted, data[1].Permitted)
	default:
		return errors.New("unknown attempt " + what)
	}
}

// tryOnThreads checks the walls on many threads at once, old and new.
func tryOnThreads() error {
	const threads = 16
	var wg, ready sync.WaitGroup
	ready.Add(threads)
	errs := make([]error, threads)
	for i := range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait() // all hold a thread of their own
			if err := tryForbidden("read", "/etc/passwd"); !errors.Is(err, unix.EACCES) {
				errs[i] = fmt.Errorf("thread %d reads: %w", i, err)
			}
			if err := tryForbidden("dial", "tcp/127.0.0.1:1"); !errors.Is(err, unix.EPERM) {
				errs[i] = errors.Join(errs[i], fmt.Errorf("thread %d dials: %w", i, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// childrenOf lists the processes that a process has, zombies included.
func childrenOf(parent int) []string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []string
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended since
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			found = append(found, filepath.Dir(path)+" "+f[0])
		}
	}
	return found
}

// computeUntilYield computes until the process is nicer than it was, and returns how nice it is. One that was as nice
// before as one that yields computes for a second of processor time.
func computeUntilYield() ([]byte, error) {
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	for now := before; err == nil; now, err = unix.Getpriority(unix.PRIO_PROCESS, 0) {
		var used unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used); err != nil {
			return nil, err
		}
		if now != before || 20-before >= 15 && used.Nano() > time.Second.Nanoseconds() {
			return strconv.AppendInt(nil, int64(20-now), 10), nil
		}
	}
	return nil, err
}
