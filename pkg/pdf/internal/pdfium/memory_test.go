package pdfium

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/pdftest"
)

// headBytes is the size of what lies before the memory: globals, and the engine's own state.
const headBytes = 64 << 10

// An instance that was used has the memory of a new one: nothing of a document is there for the next.
func TestUsedInstanceIsAsNew(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	state := func() []byte {
		return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(in.engine.c)), headBytes+in.MemoryBytes()))
	}
	first := state()
	for round := range 2 {
		d := openFile(t, in, pdftest.BornDigital(3))
		page, ok := d.LoadPage(0)
		if !ok || len(page.ReadText(1e6).Runs) == 0 {
			t.Fatal("no text was read")
		}
		page.Close()
		d.Close()
		// More than there is room for, so that the memory grows, written to its end, and not given back.
		const size = 40 << 20
		p := in.allocate(size)
		mark := in.memoryView(p, size)
		for i := range mark {
			mark[i] = 0xA5
		}
		in.Close()
		again, err := in.runtime.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		if again != in {
			t.Fatal("a used instance was not used again")
		}
		if now := state(); !bytes.Equal(now, first) {
			t.Fatalf("round %d: %d bytes of memory and globals are not the %d that they were at first", round, len(now), len(first))
		}
		// What the memory grew by is no memory any more, and all zeros when it grows again.
		q := in.allocate(size)
		for i, b := range in.memoryView(q, size) {
			if int64(q)+int64(i) >= int64(len(first)-headBytes) && b != 0 {
				t.Fatalf("round %d: byte %d behind the first memory: got %d, want 0", round, i, b)
			}
		}
		in.freeMemory(q)
	}
}

// To give an instance back touches the pages that a document has written to, not all of the memory, which costs thousands of
// page faults.
func TestUsedInstanceIsGivenBackInFewPageFaults(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	faults := func() int64 {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
			t.Fatal(err)
		}
		return usage.Minflt
	}
	const most = 500
	for document := range 4 { // what they write to is learnt from the first, the second and the fourth
		d := openFile(t, in, pdftest.BornDigital(1))
		d.Close()
		before := faults()
		in.Close()
		if n := faults() - before; n > most {
			t.Errorf("document %d: %d page faults, want at most %d of the %d pages", document+1, n, most,
				in.MemoryBytes()/int64(os.Getpagesize()))
		}
		if again, err := in.runtime.NewInstance(); err != nil || again != in {
			t.Fatalf("a used instance was not used again: %v", err)
		}
	}
}

// The document that warms an instance up is one that PDFium reads: it has its word in every font.
func TestFontProbeDocument(t *testing.T) {
	t.Parallel()
	d := openFile(t, newInstance(t, 256<<20), pdftest.File{Name: "warm.pdf", PDF: []byte(fontProbeDocument())})
	page, ok := d.LoadPage(0)
	if !ok {
		t.Fatal("the page was not loaded")
	}
	var word []rune
	for _, c := range page.ReadText(100).Chars {
		word = append(word, c.Rune)
	}
	if got, want := string(word), strings.Repeat("fonts", 13)+"φοντσ❆❏■▼▲"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
