package pdfium

// The module is linked in, as C code: PDFium compiled to WebAssembly, which wasm2c has translated, with a runtime of
// our own (module/). pkg/tools/pdfium.sh makes the library, whose name has the hash of all that it is made of.

/*
#cgo LDFLAGS: ${SRCDIR}/../../../../.bin/libpdfium-8a12a836ebe6.a
#cgo LDFLAGS: -lm
#cgo noescape engine_call
#include <stdlib.h>
#include "module/engine.h"
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync"
	"unsafe"

	// Its version is that of the module, and is in go.mod and in the program's build information by this.
	_ "github.com/klippa-app/go-pdfium/errors"
)

// statusErrors say how the module trapped.
var statusErrors = map[C.enum_engine_status]error{
	C.ENGINE_OUT_OF_BOUNDS:      errors.New("access outside the module's memory"),
	C.ENGINE_INTEGER_OVERFLOW:   errors.New("integer overflow"),
	C.ENGINE_DIVISION_BY_ZERO:   errors.New("division by zero"),
	C.ENGINE_INVALID_CONVERSION: errors.New("conversion of NaN to an integer"),
	C.ENGINE_UNREACHABLE:        errors.New("the module gave up"),
	C.ENGINE_INDIRECT_CALL:      errors.New("call of a function that is not there"),
	C.ENGINE_UNCAUGHT_EXCEPTION: errors.New("longjmp without setjmp"),
	C.ENGINE_STACK_EXHAUSTED:    errors.New("stack exhausted"),
}

// engine is one running copy of the module.
type engine struct {
	c      *C.engine
	memory *C.wasm_rt_memory_t
	handle cgo.Handle // of the Runtime, for the callbacks
}

// functionNumbers are the module's numbers of our functions, once findFunctions has looked them up by their names.
var functionNumbers [numFunctions]C.int

var findFunctions = sync.OnceValue(func() error {
	for f, name := range functionNames {
		s := C.CString(name)
		functionNumbers[f] = C.engine_find(s)
		C.free(unsafe.Pointer(s))
		if functionNumbers[f] < 0 {
			return errors.New("pdfium has no function " + name)
		}
	}
	return nil
})

// newEngine makes a copy of the module and has it initialise itself.
func newEngine(r *Runtime) (*engine, error) {
	e := &engine{handle: cgo.NewHandle(r)}
	if e.c = C.engine_new(C.uint64_t(r.cfg.MemoryLimit), C.uintptr_t(e.handle)); e.c == nil {
		e.handle.Delete()
		return nil, errors.New("no address space for pdfium")
	}
	for _, dir := range r.cfg.FontDirs {
		s := C.CString(dir)
		C.engine_mount(e.c, s) // without one that is not there it has fewer fonts
		C.free(unsafe.Pointer(s))
	}
	e.memory = C.engine_memory(e.c)
	if status := C.engine_start(e.c); status != C.ENGINE_OK {
		e.release()
		return nil, statusErrors[status]
	}
	return e, nil
}

// release gives up the engine and its memory.
func (e *engine) release() {
	C.engine_free(e.c)
	e.handle.Delete()
}

// callExport calls a function with the arguments in values, which has room for all of them, and leaves the result in
// the first. The error says how the module trapped.
func (e *engine) callExport(f function, values *[16]uint64) error {
	if status := C.engine_call(e.c, functionNumbers[f], (*C.uint64_t)(&values[0])); status != C.ENGINE_OK {
		return statusErrors[status]
	}
	return nil
}

// linearMemory is a view of the whole memory as it is now.
func (e *engine) linearMemory() []byte {
	return unsafe.Slice((*byte)(e.memory.data), int(e.memory.size))
}

// hasBeenDenied reports whether the module has asked for more memory than its limit.
func (e *engine) hasBeenDenied() bool { return C.engine_denied(e.c) != 0 }

// saveState keeps the engine as it is now, for restoreState to bring back. It reports false where the system has no
// such files, or the walls are up already.
func (e *engine) saveState() bool { return C.engine_save(e.c) == 0 }

// restoreState reports false where the state was not kept, or the module has trapped.
func (e *engine) restoreState() bool { return C.engine_restore(e.c) == 0 }
