package pdfium

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"inkstream.dev/pkg/pdftest"
)

// trapOf calls f, which must trap.
func trapOf(t *testing.T, f func()) (trap *Trap) {
	t.Helper()
	defer func() {
		var ok bool
		if trap, ok = recover().(*Trap); !ok {
			t.Fatal("no trap")
		}
	}()
	f()
	return nil
}

// What a crash of the module's is ends the instance alone, whichever it is, and leaves others as they are.
func TestTrapsAreContained(t *testing.T) {
	other := newInstance(t, 256<<20)
	for name, tt := range map[string]struct {
		provoke func(in *Instance)
		want    string
	}{
		"an address far behind the memory": {func(in *Instance) { in.callFunction(fnClosePage, math.MaxUint32-64) }, "access outside"},
		"an address right behind the memory": {func(in *Instance) {
			in.callFunction(fnTextCountChars, uint64(in.MemoryBytes())) // where memory may grow to
		}, "access outside"},
		"records behind the memory": {func(in *Instance) {
			d := openFile(t, in, pdftest.BornDigital(1))
			p, _ := d.LoadPage(0)
			page := in.callFunction(fnTextLoadPage, p.handle) & math.MaxUint32
			in.callFunction(fnReadChars, page, 0, 100, uint64(in.MemoryBytes())-50)
		}, "access outside"},
		"a stack without end": {func(in *Instance) { in.callFunction(fnExhaustStack, 0) }, "stack exhausted"},
		"a function that is not there": {func(in *Instance) {
			// The callback of a document that is read, as its number in the module's table.
			access := in.callFunction(fnFileAccessCreate, 1000, in.scratch) & math.MaxUint32
			binary.LittleEndian.PutUint32(in.memoryView(access+4, 4), 1<<20)
			in.callFunction(fnLoadCustomDocument, access, 0)
		}, "not there"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInstance(t, 256<<20)
			trap := trapOf(t, func() { tt.provoke(in) })
			if trap.Memory || !strings.Contains(trap.Err.Error(), tt.want) {
				t.Errorf("got %v, for want of memory: %t, want %q", trap, trap.Memory, tt.want)
			}
			if again := trapOf(t, func() { in.allocate(1) }); again != trap {
				t.Errorf("a call after it: got %v, want the first trap", again)
			}
			in.Close()
			if in.runtime.spare != nil {
				t.Error("an instance that has trapped is used again")
			}
			openFile(t, other, pdftest.BornDigital(1)).Close()
		})
	}
}

// A fault in C code that is not the module's ends the process, as a crash.
func TestOtherFaultsEndTheProcess(t *testing.T) {
	t.Parallel()
	const provoke = "PDFIUM_TEST_FAULT"
	if os.Getenv(provoke) != "" {
		in := newInstance(t, 256<<20)
		*(*uintptr)(unsafe.Pointer(&in.engine.c)) = 8 // an engine where there is nothing
		in.allocate(1)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), provoke+"=1")
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("got %v, want a crash", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGSEGV {
		t.Errorf("got %v, want an end by SIGSEGV", exit)
	}
}

// More memory than the limit is refused, and the next document begins without that.
func TestMemoryLimitIsTheModules(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 64<<20)
	if p := in.allocate(64 << 20); p != 0 || !in.engine.hasBeenDenied() {
		t.Errorf("as much as the limit: got address %d, denied %t", p, in.engine.hasBeenDenied())
	}
	in.Close()
	again, err := in.runtime.NewInstance()
	if err != nil || again != in || in.engine.hasBeenDenied() {
		t.Errorf("the next document: %v, the same instance %t, denied %t", err, again == in, in.engine.hasBeenDenied())
	}
}
