package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// IsolationReport says which walls there are: in the running kernel (Isolation) or around one child (Child.Isolation).
type IsolationReport struct {
	// Landlock is the version of its ABI; 0 means none: the child can then open what the service's user can. From 4 on
	// it keeps children off TCP, from 6 on off abstract sockets and other processes' signals; seccomp does both as well.
	Landlock int `json:"landlock"`
	// Seccomp tells whether system calls are filtered.
	Seccomp bool `json:"seccomp"`
}

// Warning says what is missing, in words for a log line at start; empty if nothing is.
func (r IsolationReport) Warning() string {
	var missing []string
	if r.Landlock == 0 {
		missing = append(missing, "Landlock (children can open the files that the service can)")
	}
	if !r.Seccomp {
		missing = append(missing, "seccomp (children can use the network and start processes)")
	}
	return strings.Join(missing, ", ")
}

// ErrNoWalls means that a child has not all walls around it, and was not started for that.
var ErrNoWalls = errors.New("the kernel does not wall engines in")

// String says which walls there are.
func (r IsolationReport) String() string {
	if missing := r.Warning(); missing != "" {
		return "missing: " + missing
	}
	return fmt.Sprintf("Landlock ABI %d, seccomp", r.Landlock)
}

// CheckWalls returns an error that wraps ErrNoWalls, and says what to do, where the running kernel does not give all
// walls.
func CheckWalls() error { return Isolation().requireAll() }

func (r IsolationReport) requireAll() error {
	if missing := r.Warning(); missing != "" {
		return fmt.Errorf("%w: it lacks %s; use a kernel of at least 5.13 with Landlock and seccomp, or accept the risk with --sandbox=best-effort",
			ErrNoWalls, missing)
	}
	return nil
}

// Isolation reports what the running kernel gives. It changes nothing about this process.
func Isolation() IsolationReport {
	return IsolationReport{Landlock: landlockABI(), Seccomp: seccompSupported()}
}

// landlockABI returns the version that is in force on this kernel: like the library, it takes 6 for 5 where the
// kernel's signal scoping has the bug that makes it fail between the threads of one process.
func landlockABI() int {
	const signalsFixed = 1 << 1
	v, err := llsys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	if errata, err := llsys.LandlockGetErrata(); v >= 6 && (err != nil || errata&signalsFixed == 0) {
		return 5
	}
	return v
}

// isolateProcess shuts this process in, all threads of it, for good. dataBefore is what it had mapped before Setup.
func isolateProcess(s childSpec, dataBefore uint64) (IsolationReport, error) {
	var report IsolationReport
	if err := limitResources(s, dataBefore); err != nil {
		return report, err
	}
	if err := landlock.V11.BestEffort().Restrict(fileRules(s)...); err != nil {
		return report, fmt.Errorf("raise Landlock: %w", err)
	}
	// Last, since raising the others takes calls that this one forbids.
	if err := filterSyscalls(); err != nil && !errors.Is(err, errNoSeccomp) {
		return report, fmt.Errorf("raise seccomp: %w", err)
	}
	return findWalls(), nil
}

// findWalls returns which walls stand around this process, by trying them.
func findWalls() IsolationReport {
	var found IsolationReport
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	found.Seccomp = errors.Is(err, unix.EPERM)
	// Every user may read the root folder, but for what Landlock says.
	if fd, err = unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.Close(fd)
	} else if errors.Is(err, unix.EACCES) {
		found.Landlock = landlockABI()
	}
	return found
}

// limitResources sets limits that the kernel enforces. With no capabilities they cannot be raised again.
func limitResources(s childSpec, dataBefore uint64) error {
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0},
		{"open files", unix.RLIMIT_NOFILE, maxOpenFiles},
		{"file size", unix.RLIMIT_FSIZE, uint64(max(s.ScratchBytes, minFileSize))},
		// Counted are mappings, not pages in use, so what the runtime maps for itself at start goes on top: with the race
		// detector that is terabytes.
		{"data memory", unix.RLIMIT_DATA, dataBefore + uint64(s.MemoryLimit) + dataHeadroom},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("read the limit on %s: %w", l.name, err)
		}
		limit := min(l.max, now.Max) // a stricter one that the service runs under stays
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

const (
	mayReadFile = landlock.AccessFSSet(llsys.AccessFSReadFile)
	mayReadDir  = landlock.AccessFSSet(llsys.AccessFSReadDir)
	mayChange   = landlock.AccessFSSet(llsys.AccessFSWriteFile | llsys.AccessFSTruncate)
	mayArrange  = landlock.AccessFSSet(llsys.AccessFSMakeReg | llsys.AccessFSMakeDir | llsys.AccessFSRemoveFile | llsys.AccessFSRemoveDir)
)

// fileRules lists what the child may do with files. Nothing may be executed.
func fileRules(s childSpec) []landlock.Rule {
	var rules []landlock.Rule
	for _, path := range s.ReadOnly {
		rules = appendRule(rules, path, mayReadFile, mayReadDir)
	}
	for _, path := range s.ReadWrite {
		rules = appendRule(rules, path, mayReadFile|mayChange, mayReadDir|mayArrange)
	}
	return rules
}

// appendRule allows what goes for a file, and for a folder what goes for folders as well. A path that is not there,
// or that the child could not reach anyway, is skipped.
func appendRule(rules []landlock.Rule, path string, file, folder landlock.AccessFSSet) []landlock.Rule {
	info, err := os.Stat(path)
	if err != nil {
		return rules
	}
	if info.IsDir() {
		file |= folder
	}
	return append(rules, landlock.PathAccess(file, path).IgnoreIfMissing())
}
