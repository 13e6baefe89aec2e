package pdfium

import (
	"errors"
	"fmt"
	"io"
)

// Config says how to run the module.
type Config struct {
	// MemoryLimit bounds the module's linear memory in bytes.
	MemoryLimit int64
	// FontDirs are mounted read-only at the same path: all that the module can see of the file system.
	FontDirs []string
}

// Runtime makes Instances, one after the other.
type Runtime struct {
	cfg Config

	// What the running instance reads and writes by the module's callbacks.
	source  io.ReaderAt
	sink    io.Writer
	sinkErr error // the first error of sink; PDFium itself does not stop for one

	spare *Instance // closed, and as fresh as a new one; nil for none
}

// NewRuntime returns a Runtime that has made no instance yet.
func NewRuntime(cfg Config) (*Runtime, error) {
	if err := findFunctions(); err != nil {
		return nil, err
	}
	return &Runtime{cfg: cfg}, nil
}

// NewInstance returns a copy of the module with the library initialised, and memory that no other document has
// touched. To make one takes a few milliseconds, so one that is closed gets its memory back as it was at first, and
// is the next.
func (r *Runtime) NewInstance() (*Instance, error) {
	if in := r.spare; in != nil {
		r.spare = nil
		return in, nil
	}
	in, err := r.instantiateModule()
	if err != nil {
		return nil, fmt.Errorf("instantiate pdfium: %w", err)
	}
	if err := in.loadSystemFonts(); err != nil {
		return nil, err
	}
	// Where the state cannot be kept, every document has an instance made for it.
	_ = in.engine.saveState()
	return in, nil
}

func (r *Runtime) instantiateModule() (_ *Instance, err error) {
	e, err := newEngine(r)
	if err != nil {
		return nil, err
	}
	in := &Instance{runtime: r, engine: e}
	defer func() {
		if trap, ok := recover().(*Trap); ok {
			err = trap
		}
	}()
	in.callFunction(fnInitLibrary)
	if in.scratch = in.allocate(scratchSize); in.scratch == 0 {
		return nil, errors.New("pdfium has no memory to start with")
	}
	return in, nil
}
