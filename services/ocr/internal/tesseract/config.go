package tesseract

import (
	"errors"
	"flag"
	"fmt"
	"runtime"

	"inkstream.dev/pkg/sandbox"
)

// Config says how many children there are and what they may use.
type Config struct {
	// Workers is the number of children at most, each of which uses one core; one for each core if 0.
	Workers int
	// DataPath is the folder of the models; DefaultDataPath if empty.
	DataPath string
	// Languages are loaded before a child's first page; others when a page first asks for them. eng, or the first that
	// is installed, if empty or recognise.Auto.
	Languages string
	// MemoryLimit bounds a child's resident memory in bytes.
	MemoryLimit int64
	// Program is what the children run; "tesseract" if empty. Tests put a misbehaving one in its place.
	Program string
	// RequireWalls has no child start that is not walled in; ObserveWalls, if set, receives the walls that each has.
	// Both are as in sandbox.Config.
	RequireWalls bool
	ObserveWalls func(sandbox.IsolationReport)
	// Observe, if set, receives the starts and deaths of children, as in sandbox.Config.
	Observe func(sandbox.Event, sandbox.ExitReason)
}

// minMemory is less than any page of text needs.
const minMemory = 128 << 20

// DefaultConfig returns the configuration of a production service: 1 GiB a child, as many children as the service has
// workers.
func DefaultConfig() Config { return Config{MemoryLimit: 1 << 30} }

// Register adds the engine's flags. Workers and Languages follow from those of the service.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.DataPath, "tesseract.data", c.DataPath, "`folder` of Tesseract's models, with larger ones in its "+largerFolder+"; found by itself if empty")
	fs.Int64Var(&c.MemoryLimit, "tesseract.memory-limit", c.MemoryLimit,
		"resident `bytes` of a Tesseract child; beyond it the child is killed")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 0 {
		errs = append(errs, fmt.Errorf("tesseract workers: %d, want none or more", c.Workers))
	}
	if c.MemoryLimit < minMemory {
		errs = append(errs, fmt.Errorf("tesseract.memory-limit: %d, want at least %d", c.MemoryLimit, minMemory))
	}
	return errors.Join(errs...)
}

func (c *Config) workerCount() int {
	if c.Workers == 0 {
		return runtime.NumCPU()
	}
	return c.Workers
}

func (c *Config) programOrDefault() string {
	if c.Program == "" {
		return programName
	}
	return c.Program
}
