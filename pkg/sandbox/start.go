package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	childArg = "sandbox-child"

	// childTimerSlack is how much later than asked for a child's threads may wake up from a sleep.
	childTimerSlack = time.Millisecond

	// The child's files beyond the standard ones.
	connFD    = 3
	scratchFD = 4
)

// childFile is the program file that children run.
var childFile = "/proc/self/exe"

// SetChildFile has children run another program file than this process, whose main calls Main with the same programs. It is
// for tests with the race detector, which makes the start of a child four times as dear. It must be called before the
// first pool is made.
func SetChildFile(path string) { childFile = path }

// ChildFile returns the path of the program file that children run; within a child it is the child's own.
func ChildFile() string { return childFile }

// childSpec is what a child needs to know, as JSON in its second argument.
type childSpec struct {
	Program      string   `json:"program"`
	Args         []string `json:"args,omitempty"`
	MemoryLimit  int64    `json:"memoryLimit"`
	ReadOnly     []string `json:"readOnly,omitempty"`
	ReadWrite    []string `json:"readWrite,omitempty"`
	ScratchBytes int64    `json:"scratchBytes,omitempty"`
}

// baseEnv is all that a child sees beside Config.Env.
var baseEnv = []string{"HOME=/nonexistent", "LC_ALL=C", "TZ=UTC", "GOTRACEBACK=single"}

// forker starts processes from one thread, for two reasons. A process asks to be killed when its parent dies, and the
// kernel takes the thread that forked it for its parent, so that thread has to live as long as the pool. And it has
// no capabilities, which is a property of a thread, so its children never have any.
type forker struct {
	requests chan func(setUp error)
	stop     chan struct{}
}

func newForker() *forker {
	return &forker{requests: make(chan func(error)), stop: make(chan struct{})}
}

func (f *forker) serveRequests() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread speaks for the process in some places of /proc, so it keeps its rights: held here, it cannot be
		// the next one.
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.serveRequests()
		}()
		<-done
		runtime.UnlockOSThread()
		return
	}
	// This goroutine never unlocks its thread, which therefore ends with it and runs nothing else. Children inherit it.
	// Go's monitor thread would wake up every 20 µs while an engine computes, which is a twentieth of a child's CPU
	// time; nothing in a child has to happen on time. Where the kernel refuses, they wake up as often as that.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(childTimerSlack), 0, 0, 0)
	err := dropCapabilities()
	for {
		select {
		case do := <-f.requests:
			do(err)
		case <-f.stop:
			return
		}
	}
}

// dropCapabilities takes them from the calling thread, for good: a root service's child is root in name only. It owns
// root's files, and has no other power.
func dropCapabilities() error {
	// Without it a root user gets all capabilities back by exec.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func (f *forker) forkExec(argv0 string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	done := make(chan struct{})
	f.requests <- func(setUp error) {
		defer close(done)
		if err = setUp; err == nil {
			setCloseOnExec()
			pid, err = syscall.ForkExec(argv0, argv, attr)
		}
	}
	<-done
	return pid, err
}

// setCloseOnExec keeps this process's files out of its children. Go opens all of its own so; but who started the
// service may have left files open for it, such as a supervisor's sockets, and C code may open some.
func setCloseOnExec() {
	if unix.CloseRange(connFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	// Before Linux 5.11. Where /proc cannot be read either, what Go opened stays out all the same.
	open, _ := os.ReadDir("/proc/self/fd")
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= connFD {
			unix.CloseOnExec(fd)
		}
	}
}

// childFiles are the files of one child, opened by the parent: its own ends and the child's.
type childFiles struct {
	conn, stderr, scratch           *os.File // ours; scratch is the child's as well
	childConn, childStderr, devNull *os.File
}

// closeChildEnds closes what only the child uses.
func (e *childFiles) closeChildEnds() { closeFiles(e.childConn, e.childStderr, e.devNull) }

func (e *childFiles) closeParentEnds() { closeFiles(e.conn, e.stderr, e.scratch) }

// closeFiles closes files of which nothing is buffered or on disk, so no error matters.
func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func openChildFiles(scratchBytes int64) (e *childFiles, err error) {
	e = &childFiles{}
	defer func() {
		if err != nil {
			e.closeChildEnds()
			e.closeParentEnds()
		}
	}()
	var pair, pipe [2]int
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return e, fmt.Errorf("open a socket pair: %w", err)
	}
	e.childConn = os.NewFile(uintptr(pair[1]), "child's connection")
	if e.conn, err = newPolledFile(pair[0], "connection to the child"); err != nil {
		return e, fmt.Errorf("set up the connection: %w", err)
	}
	if err = unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return e, fmt.Errorf("open a pipe: %w", err)
	}
	e.childStderr = os.NewFile(uintptr(pipe[1]), "child's standard error")
	if e.stderr, err = newPolledFile(pipe[0], "standard error of the child"); err != nil {
		return e, fmt.Errorf("set up the pipe: %w", err)
	}
	if e.devNull, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return e, err
	}
	if scratchBytes > 0 {
		if e.scratch, err = newScratchFile(scratchBytes); err != nil {
			return e, fmt.Errorf("make the scratch file: %w", err)
		}
	}
	return e, nil
}

// newPolledFile makes this side of a pair non-blocking, so that it goes on the poller and takes deadlines. The child's
// end stays as it is: an engine that writes to its standard error expects to block.
func newPolledFile(fd int, name string) (*os.File, error) {
	err := unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name), err
}

// newScratchFile returns a memory file of fixed size: neither side can grow or shrink it under the other's mapping.
func newScratchFile(size int64) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("inkstream-scratch", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("inkstream-scratch", flags)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "scratch")
	if err := f.Truncate(size); err != nil {
		closeFiles(f)
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		closeFiles(f)
		return nil, fmt.Errorf("seal: %w", err)
	}
	return f, nil
}

// startProcess starts a child and waits until it is ready.
func (p *Pool) startProcess(ctx context.Context) (*process, error) {
	proc, err := p.spawnProcess()
	if err != nil {
		return nil, fmt.Errorf("start %s child: %w", p.cfg.Program, err)
	}
	err = proc.awaitReady(ctx)
	if err == nil && p.cfg.RequireWalls {
		err = proc.isolation.requireAll()
	}
	if err != nil {
		proc.killAndWait(nil)
		proc.closeFiles()
		return nil, fmt.Errorf("start %s child: %w", p.cfg.Program, err)
	}
	p.countStarted(proc)
	return proc, nil
}

// spawnProcess starts the process and the goroutines that belong to it.
func (p *Pool) spawnProcess() (*process, error) {
	if !p.registerStart() {
		return nil, ErrClosed
	}
	defer p.processes.Done()

	arg, err := json.Marshal(childSpec{
		Program: p.cfg.Program, Args: p.cfg.Args, MemoryLimit: p.cfg.MemoryLimit,
		ReadOnly: p.cfg.ReadOnly, ReadWrite: p.cfg.ReadWrite, ScratchBytes: p.cfg.ScratchBytes,
	})
	if err != nil {
		return nil, err
	}
	e, err := openChildFiles(p.cfg.ScratchBytes)
	if err != nil {
		return nil, err
	}
	defer e.closeChildEnds()
	raw, err := e.conn.SyscallConn()
	if err != nil {
		e.closeParentEnds()
		return nil, err
	}
	// None of these is on the poller, so taking their numbers changes nothing about them.
	files := []uintptr{e.devNull.Fd(), e.devNull.Fd(), e.childStderr.Fd(), e.childConn.Fd()}
	if e.scratch != nil {
		files = append(files, e.scratch.Fd())
	}
	pid, err := p.forker.forkExec(childFile, []string{os.Args[0], childArg, string(arg)}, &syscall.ProcAttr{
		Dir: "/", Env: slices.Concat(p.cfg.Env, baseEnv), Files: files, // of two with one name the first counts
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		e.closeParentEnds()
		return nil, err
	}
	proc := &process{
		pid: pid, cfg: &p.cfg, conn: e.conn, raw: raw, scratch: e.scratch, stderr: newStderrTail(e.stderr),
		startWatch: p.startWatch, done: make(chan struct{}), buf: make([]byte, frameBuffer),
	}
	// Without it the memory watch is blind, and the limit on data memory stays.
	proc.status, _ = os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	p.addProcess(proc)
	return proc, nil
}
