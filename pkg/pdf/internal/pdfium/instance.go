package pdfium

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf16"
)

// scratchSize is the room for results and strings that functions write: names and titles are cut to it.
const scratchSize = 16 << 10

// Instance is one running copy of the module.
type Instance struct {
	runtime *Runtime
	engine  *engine
	stack   [16]uint64 // a call's arguments and its result
	scratch uint64
	trap    *Trap // that ended it; nil while it runs
}

// Trap is what an Instance panics with when the module trapped: a crash in PDFium, contained.
type Trap struct {
	// Function is the PDFium function that was called.
	Function string
	// Memory says that the module had asked for more memory than its limit.
	Memory bool
	Err    error
}

// Error says where it trapped.
func (t *Trap) Error() string { return fmt.Sprintf("pdfium trapped in %s: %v", t.Function, t.Err) }

// Unwrap returns how it trapped.
func (t *Trap) Unwrap() error { return t.Err }

// Close drops the instance and its memory, or brings it back to what it was at first and keeps it for the next
// document.
func (in *Instance) Close() {
	if in.runtime.spare == nil && in.engine.restoreState() {
		in.runtime.spare = in
		return
	}
	in.engine.release()
}

// MemoryBytes is the present size of the linear memory. It never shrinks while a document is open.
func (in *Instance) MemoryBytes() int64 { return int64(len(in.engine.linearMemory())) }

func (in *Instance) callFunction(f function, args ...uint64) uint64 {
	if in.trap != nil {
		panic(in.trap) // of what is closed on the way out of a trap
	}
	copy(in.stack[:], args)
	if err := in.engine.callExport(f, &in.stack); err != nil {
		in.trap = &Trap{Function: functionNames[f], Memory: in.engine.hasBeenDenied(), Err: err}
		panic(in.trap)
	}
	return in.stack[0]
}

func (in *Instance) callInt(f function, args ...uint64) int {
	return int(int32(in.callFunction(f, args...)))
}

func (in *Instance) callBool(f function, args ...uint64) bool {
	return uint32(in.callFunction(f, args...)) != 0
}

func (in *Instance) allocate(n int) uint64 {
	return uint64(uint32(in.callFunction(fnMalloc, uint64(n))))
}

func (in *Instance) freeMemory(p uint64) { in.callFunction(fnFree, p) }

// memoryView is a view of the module's memory, valid until the next call.
func (in *Instance) memoryView(p uint64, n int) []byte {
	all := in.engine.linearMemory()
	if n < 0 || p > uint64(len(all)) || uint64(n) > uint64(len(all))-p {
		panic(&Trap{Function: "memory", Err: errOutOfRange})
	}
	return all[p:][:n:n]
}

var errOutOfRange = errors.New("address outside the module's memory")

// readFloats reads results out of the scratch area.
func (in *Instance) readFloats(out []float64) {
	b := in.memoryView(in.scratch, 4*len(out))
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
}

func (in *Instance) readUint32(offset int) uint32 {
	return binary.LittleEndian.Uint32(in.memoryView(in.scratch+uint64(offset), 4))
}

func (in *Instance) writeUint32(offset int, v uint32) {
	binary.LittleEndian.PutUint32(in.memoryView(in.scratch+uint64(offset), 4), v)
}

// allocateCString allocates a zero-terminated copy of s; the caller frees it.
func (in *Instance) allocateCString(s string) uint64 {
	p := in.allocate(len(s) + 1)
	b := in.memoryView(p, len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

// The module writes strings to the upper part of the scratch area, so that the lower part can pass short arguments.
const stringOffset = 512

func (in *Instance) stringBuffer() (p, size uint64) {
	return in.scratch + stringOffset, scratchSize - stringOffset
}

// readWideString reads a UTF-16LE string of n bytes, terminator included, as the FPDF functions return it. A longer
// string than fits was not written at all, and reads as empty.
func (in *Instance) readWideString(n uint64) string {
	if n < 2 || n > scratchSize-stringOffset {
		return ""
	}
	b := in.memoryView(in.scratch+stringOffset, int(n)&^1)
	u := make([]uint16, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 {
		c := binary.LittleEndian.Uint16(b[i:])
		if c == 0 {
			break
		}
		u = append(u, c)
	}
	return string(utf16.Decode(u))
}

// readByteString reads a byte string of n bytes, terminator included.
func (in *Instance) readByteString(n uint64) string {
	if n < 1 || n > scratchSize-stringOffset {
		return ""
	}
	b := in.memoryView(in.scratch+stringOffset, int(n))
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return string(b)
}
