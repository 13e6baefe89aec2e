package pdfium

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
)

// scratchSize is the room for results and strings that functions write: names and titles are cut to it.
const scratchSize = 16 << 10

// Instance is one running copy of the module.
type Instance struct {
	ctx               context.Context //nolint:containedctx // of the module's life; wazero wants one with every call
	runtime           *Runtime
	mod               api.Module
	mem               api.Memory
	charLoop          api.Module   // the loop over characters, see buildCharModule
	readCharsFunction api.Function // its function
	limit             *memoryLimiter
	fn                [numFunctions]api.Function
	stack             [16]uint64
	scratch           uint64
	// stackTop is where the module's own stack begins: the one thing that documents change and that is not in its memory.
	stackTop uint64
	uses     int
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

// Unwrap returns wazero's error.
func (t *Trap) Unwrap() error { return t.Err }

// maxUses bounds how many documents an instance is used for: files that PDFium might fail to close would be kept open.
const maxUses = 1000

// Close drops the instance and its memory, or gives it back the memory that it had at first and keeps it for the next
// document.
func (in *Instance) Close() error {
	in.uses++
	if in.limit.hasSnapshot && in.uses < maxUses && in.runtime.spare == nil &&
		in.callFunction(fnStackTop) == in.stackTop && in.limit.restoreSnapshot() == nil {
		in.runtime.spare = in
		return nil
	}
	return errors.Join(in.charLoop.Close(in.ctx), in.mod.Close(in.ctx))
}

// MemoryBytes is the present size of the linear memory. It never shrinks.
func (in *Instance) MemoryBytes() int64 { return int64(in.mem.Size()) }

func (in *Instance) callFunction(f function, args ...uint64) uint64 {
	copy(in.stack[:], args)
	if err := in.fn[f].CallWithStack(in.ctx, in.stack[:]); err != nil {
		panic(&Trap{Function: functionNames[f], Memory: in.limit.denied, Err: err})
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
	if p > math.MaxUint32 || n < 0 || n > math.MaxUint32 {
		panic(&Trap{Function: "memory", Err: errOutOfRange})
	}
	b, ok := in.mem.Read(uint32(p), uint32(n))
	if !ok {
		panic(&Trap{Function: "memory", Err: errOutOfRange})
	}
	return b
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
