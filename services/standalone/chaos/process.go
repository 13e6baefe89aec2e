package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"inkstream.dev/pkg/processtest"
)

// Services are the names of the services' own programs, in the order in which they are started.
var Services = []string{"index", "ocr", "render", "scan", "ingest", "gateway"}

// BuildServices builds the services' programs into dir. Root is the repository.
func BuildServices(root, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	// All at once, and without what only a debugger reads: linking is most of it.
	args := []string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, name := range Services {
		args = append(args, "./services/"+name+"/cmd/"+name)
	}
	cmd := exec.Command("go", args...) //nolint:noctx // it ends by itself
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the services: %w\n%s", err, out)
	}
	return nil
}

// Process is a program that can be killed and started again.
type Process struct {
	name string
	path string
	args []string
	log  io.Writer

	mu      sync.Mutex // guards what follows
	cmd     *exec.Cmd  // nil before the first start
	done    chan struct{}
	killed  bool  // its end was asked for
	exitErr error // how it ended; set when done is closed
	// unexpectedExits counts the ends that were not asked for, and lastExit is the exit status of the last one.
	unexpectedExits int
	lastExit        error
}

// NewProcess returns a process that is not running. What it says goes to log.
func NewProcess(path string, args []string, log io.Writer) *Process {
	return &Process{name: filepath.Base(path), path: path, args: args, log: log}
}

// Start starts the process with more variables in its environment than this one has. It must not be running.
func (p *Process) Start(env ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // Kill and Stop end it, not the context of the caller
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	// A group of its own: what the terminal sends is for the process that supervises it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := processtest.SpawnProcess(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done, p.killed = cmd, done, false
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.exitErr = err
		if !p.killed {
			p.unexpectedExits, p.lastExit = p.unexpectedExits+1, err
		}
		close(done)
	}()
	return nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Running reports whether the process is there.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isRunning()
}

func (p *Process) isRunning() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the process's number.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Kill ends the process by SIGKILL and waits until it is gone. It reports whether it was running.
func (p *Process) Kill() bool {
	was, _ := p.endWithSignal(os.Kill, time.Minute)
	return was
}

// Stop asks the process to end, and kills it after the patience. An error says that it did not end well.
func (p *Process) Stop(patience time.Duration) error {
	was, err := p.endWithSignal(os.Interrupt, patience)
	if !was {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s did not stop cleanly: %w", p.name, err)
	}
	return nil
}

// endWithSignal sends a signal and waits.
func (p *Process) endWithSignal(sig os.Signal, patience time.Duration) (was bool, err error) {
	p.mu.Lock()
	if was = p.isRunning(); !was {
		p.mu.Unlock()
		return false, nil
	}
	p.killed = true
	proc, done := p.cmd.Process, p.done
	p.mu.Unlock()
	_ = proc.Signal(sig) // an error means that it has just ended
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		_ = proc.Kill()
		<-done
		return true, fmt.Errorf("it went on for %s", patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return true, p.exitErr
}

// UnexpectedExits returns how often the process has ended by itself, and how the last time.
func (p *Process) UnexpectedExits() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unexpectedExits, p.lastExit
}

// EngineChild is a sandboxed child of a service.
type EngineChild struct {
	PID, Parent int
}

// childArg is what the second argument of every sandboxed child is.
const childArg = "sandbox-child"

// ListEngineChildren lists the living engine children whose program lies in a folder, whatever process is their parent
// now.
func ListEngineChildren(bin string) []EngineChild {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil // the pattern is good
	}
	var found []EngineChild
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		argv := bytes.Split(line, []byte{0})
		if len(argv) < 2 || string(argv[1]) != childArg || filepath.Dir(string(argv[0])) != bin {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if parent, alive := parentProcess(pid); alive {
			found = append(found, EngineChild{PID: pid, Parent: parent})
		}
	}
	return found
}

// parentProcess returns a process's parent, and whether the process is more than an entry in the table that its parent
// has not read yet.
func parentProcess(pid int) (parent int, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// pid (name) state ppid …, where the name may hold anything
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}

// awaitReaped waits until a process that was killed is in the table no more, for its parent has read how it ended. It
// reports false where that takes longer than the patience.
func awaitReaped(pid int, patience time.Duration) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
	}
	return false
}

// errOrphansLeft says which processes are left.
var errOrphansLeft = errors.New("engine children are left")

// AwaitNoOrphans waits until every engine child of a folder's programs has one of the parents, and returns how long
// that took.
func AwaitNoOrphans(bin string, patience time.Duration, parents ...int) (time.Duration, error) {
	start := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var orphans []int
		for _, e := range ListEngineChildren(bin) {
			if !slices.Contains(parents, e.Parent) {
				orphans = append(orphans, e.PID)
			}
		}
		if len(orphans) == 0 {
			return time.Since(start), nil
		}
		if time.Since(start) > patience {
			return time.Since(start), fmt.Errorf("%w after %s: %v", errOrphansLeft, patience, orphans)
		}
		<-tick.C
	}
}
