package pdfium

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// memoryLimiter gives the module its linear memory: one reservation of address space, opened as the module grows, of
// which only touched pages are resident. Growing is free (no copy), the Go collector never sees it, and a refusal is
// remembered, since a trap after a refusal means that memory was what ran out.
type memoryLimiter struct {
	limit       uint64
	buf         []byte
	accessible  uint64 // bytes of buf that may be touched
	denied      bool
	hasSnapshot bool // thaw can bring back what freeze has seen
}

// Allocate implements [experimental.MemoryAllocator]. It reserves the limit, or nothing if the system has no such
// address space.
func (l *memoryLimiter) Allocate(_, _ uint64) experimental.LinearMemory {
	buf, err := unix.Mmap(-1, 0, int(l.limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err == nil {
		l.buf = buf
	}
	return l
}

// Reallocate implements [experimental.LinearMemory]; nil is a refusal, which the module sees as malloc returning null.
func (l *memoryLimiter) Reallocate(size uint64) []byte {
	if size > uint64(len(l.buf)) {
		l.denied = true
		return nil
	}
	if size > l.accessible {
		if err := unix.Mprotect(l.buf[:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			l.denied = true
			return nil
		}
		l.accessible = size
	}
	return l.buf[:size:size]
}

// saveSnapshot keeps the memory's present contents in a file without a name, and lays that file under the memory,
// privately: what is written from now on goes to copies of its pages, which thaw drops. What is all zeros behind the
// last page that is not (most of it) needs no file.
func (l *memoryLimiter) saveSnapshot() error {
	fd, err := unix.MemfdCreate("pdfium", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("keep the module's memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "pdfium")
	defer file.Close() // the mapping keeps its contents
	page := os.Getpagesize()
	now := l.buf[:l.accessible]
	for zeros := make([]byte, page); len(now) > page && bytes.Equal(now[len(now)-page:], zeros); {
		now = now[:len(now)-page]
	}
	if _, err := file.WriteAt(now, 0); err != nil {
		return fmt.Errorf("keep the module's memory: %w", err)
	}
	_, err = unix.MmapPtr(fd, 0, unsafe.Pointer(&now[0]), uintptr(len(now)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("keep the module's memory: %w", err)
	}
	l.hasSnapshot = true
	return nil
}

// restoreSnapshot brings back what freeze has seen, zeros where the module has grown since, and gives the pages that
// were written to back.
func (l *memoryLimiter) restoreSnapshot() error {
	if err := unix.Madvise(l.buf[:l.accessible], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("bring the module's memory back: %w", err)
	}
	l.denied = false
	return nil
}

// Free implements [experimental.LinearMemory].
func (l *memoryLimiter) Free() {
	if l.buf != nil {
		// Unmapping what was mapped here cannot fail in a way that could be handled.
		_ = unix.Munmap(l.buf)
		l.buf = nil
	}
}
