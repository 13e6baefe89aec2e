package pdf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"inkstream.dev/pkg/pdf/internal/host"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/sandbox"
)

const programName = "pdf"

// Program is what the children of an Engine run. A process that makes an Engine must list it in [sandbox.Main].
func Program() sandbox.Program {
	return sandbox.Program{Name: programName, Setup: setupChild}
}

// childConfig travels to the child as its one argument.
type childConfig struct {
	MemoryLimit int64    `json:"memoryLimit"`
	FontDirs    []string `json:"fontDirs"`
}

func (c childConfig) encodeArgs() ([]string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode child configuration: %w", err)
	}
	return []string{string(b)}, nil
}

// setupChild starts PDFium while the child may still look what fonts there are.
func setupChild(_ context.Context, args []string) (sandbox.Handler, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("pdf child: %d arguments, want 1", len(args))
	}
	var cfg childConfig
	if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	h, err := host.New(pdfium.Config{MemoryLimit: cfg.MemoryLimit, FontDirs: cfg.FontDirs})
	if err != nil {
		return nil, err
	}
	return hostHandler{h}, nil
}

// hostHandler ends its process when PDFium crashes.
type hostHandler struct{ host *host.Host }

// exitPDFiumTrap is the exit status of a crash in PDFium that is not for want of memory.
const exitPDFiumTrap = 98

// Handle implements [sandbox.Handler].
func (c hostHandler) Handle(ctx context.Context, req sandbox.Request) ([]byte, error) {
	defer func() {
		e := recover()
		if e == nil {
			return
		}
		trap, ok := e.(*pdfium.Trap)
		if !ok {
			panic(e)
		}
		fmt.Fprintln(os.Stderr, trap)
		if trap.Memory {
			os.Exit(sandbox.ExitMemory)
		}
		os.Exit(exitPDFiumTrap)
	}()
	b, err := c.host.HandleRequest(ctx, host.Request{Body: req.Body, Files: req.Files, Scratch: req.Scratch})
	if trap, ok := errors.AsType[*pdfium.Trap](err); ok {
		panic(trap)
	}
	return b, err
}
