package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

const (
	defaultMemoryLimit  = 1 << 30
	defaultStartTimeout = time.Minute

	// dataHeadroom is what a child may map beyond MemoryLimit before the kernel refuses: the watch looks at resident
	// memory, and a Go program maps its heap 64 MiB at a time and each thread's stack in full.
	dataHeadroom = 512 << 20
	// maxOpenFiles is plenty for an engine: the standard files, the connection, the poller, and a few documents or fonts.
	maxOpenFiles = 64
	// minFileSize bounds the files that a child may write where it may write at all.
	minFileSize = 256 << 20
)

// Config says what a pool's children run and what they may use.
type Config struct {
	// Program is the name of the program, one of those that were given to Main.
	Program string
	// Args go to the program's Setup.
	Args []string
	// Size is the number of children at most. They start when first needed and are kept warm, for IdleTimeout if that is
	// not 0: those that were not leased for so long end.
	Size int
	// IdleTimeout bounds how long children cost memory while there is nothing to do; 0 means that they stay.
	IdleTimeout time.Duration
	// MemoryLimit bounds a child's own resident memory in bytes, the scratch file not counted. Beyond it the child is
	// killed with ExitError{Reason: Memory}. Default 1 GiB. A binary built with the race detector gets four times as
	// much.
	MemoryLimit int64
	// CPULimit bounds the CPU time that one call may take, on all of the child's threads together; beyond it the child
	// is killed with ExitError{Reason: CPU}. Unlike a call's timeout it does not depend on what else the machine does. 0
	// means no limit.
	CPULimit time.Duration
	// YieldAfter is the CPU time that a call may take before its child yields to the others on the machine: what takes long
	// is more often hostile than not, and must not slow down what does not. Such a child is replaced when it is released.
	// 0 means never.
	YieldAfter time.Duration
	// ReadOnly lists files and folders that the child may read once the walls are up; nothing else. Missing ones are
	// ignored.
	ReadOnly []string
	// ReadWrite lists files and folders that the child may change as well. Missing ones are ignored.
	ReadWrite []string
	// ScratchBytes is the size of the shared memory file; 0 means none.
	ScratchBytes int64
	// RecycleAfter is the number of requests after which a child is replaced when it is released; 0 means never.
	RecycleAfter int
	// RecycleBytes is the resident memory beyond which a child is replaced when it is released; 0 means MemoryLimit.
	RecycleBytes int64
	// OneTenant has each child work for one tenant in its life, the tenant of its first call's lease; see WithTenant. It
	// is for programs in native code, in which one document may leave something behind that alters the next one. As many
	// children as Size stay warm at most, those of the tenants that came last.
	OneTenant bool
	// StartTimeout bounds the time from the start of a process to its readiness, Setup included. Default one minute.
	StartTimeout time.Duration
	// RequireWalls has no child start that has not all walls around it: such a start fails with ErrNoWalls.
	RequireWalls bool
	// Env is added to the child's environment, e.g. OMP_THREAD_LIMIT=1. Nothing of the parent's is inherited.
	Env []string
	// ObserveWalls, if set, receives which walls a child has raised around itself, whenever one is ready. It is called
	// from several goroutines and must not block.
	ObserveWalls func(IsolationReport)
	// Observe, if set, receives the events of children, for metrics. It is called from several goroutines and must not
	// block.
	Observe func(event Event, reason ExitReason)
}

// Event is something that happened to a child, as Config.Observe hears it.
type Event string

// The events. Only Died carries a Reason.
const (
	Started  Event = "started"  // a child is ready for requests
	Recycled Event = "recycled" // a worn child was stopped
	Died     Event = "died"     // a child died or had to be killed
)

// withDefaults returns a checked copy with the zero values filled in and all paths absolute, since a child works in
// "/".
func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.Program == "" {
		errs = append(errs, errors.New("sandbox: no program is named"))
	}
	if c.Size < 1 {
		errs = append(errs, fmt.Errorf("sandbox: size %d, want at least 1", c.Size))
	}
	if c.MemoryLimit < 0 || c.ScratchBytes < 0 || c.RecycleBytes < 0 || c.RecycleAfter < 0 || c.StartTimeout < 0 ||
		c.CPULimit < 0 || c.IdleTimeout < 0 || c.YieldAfter < 0 {
		errs = append(errs, errors.New("sandbox: a limit is negative"))
	}
	if c.MemoryLimit == 0 {
		c.MemoryLimit = defaultMemoryLimit
	}
	c.MemoryLimit *= memoryScale
	c.RecycleBytes *= memoryScale
	if c.RecycleBytes == 0 {
		c.RecycleBytes = c.MemoryLimit
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	var err error
	if c.ReadOnly, err = absolutePaths(c.ReadOnly); err != nil {
		errs = append(errs, err)
	}
	if c.ReadWrite, err = absolutePaths(c.ReadWrite); err != nil {
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

func absolutePaths(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if p == "" { // filepath.Abs would make it the working folder
			return nil, errors.New("sandbox: an empty path among those that the child may use")
		}
		a, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("sandbox: resolve a path that the child may use: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}
