package pdf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"inkstream.dev/pkg/pdf/internal/host"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/sandbox"
)

const programName = "pdf"

// Program is what the children of an Engine run. A process that makes an Engine must list it in [sandbox.Main].
func Program() sandbox.Program {
	return sandbox.Program{Name: programName, Setup: setup}
}

// childConfig travels to the child as its one argument.
type childConfig struct {
	CacheDir    string   `json:"cacheDir"`
	MemoryLimit int64    `json:"memoryLimit"`
	FontDirs    []string `json:"fontDirs"`
}

func (c childConfig) args() ([]string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode child configuration: %w", err)
	}
	return []string{string(b)}, nil
}

// setup compiles PDFium, or loads its code from the cache, while the child may still write to the cache.
func setup(ctx context.Context, args []string) (sandbox.Handler, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("pdf child: %d arguments, want 1", len(args))
	}
	var cfg childConfig
	if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	// The heap is small beside PDFium's memory, which is not in it: collecting less often saves a twentieth of the CPU time.
	debug.SetGCPercent(300)
	h, err := host.New(ctx, pdfium.Config{CacheDir: cfg.CacheDir, MemoryLimit: cfg.MemoryLimit, FontDirs: cfg.FontDirs})
	if err != nil {
		return nil, err
	}
	return child{h}, nil
}

// child ends its process when PDFium crashes.
type child struct{ host *host.Host }

// exitTrap is the exit status of a crash in PDFium that is not for want of memory.
const exitTrap = 98

// Handle implements [sandbox.Handler].
func (c child) Handle(ctx context.Context, req sandbox.Request) ([]byte, error) {
	defer func() {
		e := recover()
		if e == nil {
			return
		}
		trap, ok := e.(*pdfium.Trap)
		if !ok {
			panic(e)
		}
		// The function's name, not wazero's error: that prints a stack of thousands of lines where recursion was the trouble.
		fmt.Fprintf(os.Stderr, "pdfium trapped in %s, out of memory: %t\n", trap.Function, trap.Memory)
		if trap.Memory {
			os.Exit(sandbox.ExitMemory)
		}
		os.Exit(exitTrap)
	}()
	b, err := c.host.Handle(ctx, host.Request{Body: req.Body, Files: req.Files, Scratch: req.Scratch})
	if trap, ok := errors.AsType[*pdfium.Trap](err); ok {
		panic(trap)
	}
	return b, err
}
