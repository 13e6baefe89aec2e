package pdfium

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wazero reads the machine code of its cache into memory of the process's own, 19 MB for each child. shareCode puts a
// mapping of a file with the same bytes in its place, so that all children share one copy, which the kernel can drop.

const (
	// codeFolder holds the files that are mapped, beside wazero's own folders.
	codeFolder = "code"
	// minSharedCode is the size from which code is worth a file.
	minSharedCode = 1 << 20
)

// cacheMagic begins each file of wazero's cache.
var cacheMagic = []byte("WAZEVO")

var (
	// errNoCode says that a file of the cache has no code to share.
	errNoCode = errors.New("no code that could be shared")
	// errBadSize says that a file of code was not written whole, as by a machine that lost power.
	errBadSize = errors.New("want whole pages")
	// errCodeLost says that this process has lost code that it runs: it must end.
	errCodeLost = errors.New("compiled code is not mapped any more")
)

// shareCode replaces the process's copies of cached code by mappings of files. Where that cannot be done, the copies
// stay as they are; the error says why.
func shareCode(cacheDir string) error {
	cached, err := filepath.Glob(filepath.Join(cacheDir, "wazero-*", "*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range cached {
		if strings.HasSuffix(path, ".tmp") {
			continue
		}
		switch err := shareCodeOf(cacheDir, path); {
		case errors.Is(err, errNoCode):
		case err != nil:
			errs = append(errs, fmt.Errorf("share compiled code: %w", err))
		}
	}
	return errors.Join(errs...)
}

func shareCodeOf(cacheDir, cached string) error {
	// The name tells processor and wazero's version, as those of the cache do.
	plain := filepath.Join(cacheDir, codeFolder, filepath.Base(filepath.Dir(cached))+"-"+filepath.Base(cached))
	code, err := mapCode(plain)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, errBadSize) {
		if err = extractCode(cached, plain); err == nil {
			code, err = mapCode(plain)
		}
	}
	if err != nil {
		return err
	}
	target := findCopy(code)
	if target == nil {
		return unix.Munmap(code)
	}
	return replaceCopy(code, target, moveMapping)
}

// replaceCopy moves the mapping of a file of code to where its copy is. The error wraps errCodeLost if the copy is gone
// and nothing has taken its place.
func replaceCopy(code, target []byte, move func(code, target []byte) error) error {
	// From here on the addresses of the copy are those of the file's mapping.
	err := move(code, target)
	if err == nil {
		// To compare has touched every page. Those that are run come back, from the page cache.
		return os.NewSyscallError("madvise", unix.Madvise(target, unix.MADV_DONTNEED))
	}
	// The kernel makes room at the target before it moves, and may fail after that.
	if !isMapped(target) || !bytes.Equal(target, code) {
		return errors.Join(errCodeLost, err)
	}
	return errors.Join(err, unix.Munmap(code))
}

func moveMapping(code, target []byte) error {
	_, _, errno := unix.Syscall6(unix.SYS_MREMAP, uintptr(unsafe.Pointer(&code[0])), uintptr(len(code)),
		uintptr(len(code)), unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, uintptr(unsafe.Pointer(&target[0])), 0)
	if errno != 0 {
		return os.NewSyscallError("mremap", errno)
	}
	return nil
}

// isMapped reports whether all pages of b are mapped.
func isMapped(b []byte) bool {
	page := os.Getpagesize()
	resident := make([]byte, (len(b)+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		uintptr(unsafe.Pointer(&resident[0])))
	return errno == 0
}

// mapCode maps a file of code as a whole.
func mapCode(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 || info.Size()%int64(os.Getpagesize()) != 0 {
		return nil, fmt.Errorf("%s has %d bytes: %w", path, info.Size(), errBadSize)
	}
	code, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	return code, os.NewSyscallError("mmap", err)
}

// extractCode writes the code of a file of wazero's cache to a file of its own, filled up with zeros to a whole page.
// It appears whole, by rename.
func extractCode(cached, plain string) (err error) {
	f, err := os.Open(cached)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	size, err := skipToCode(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(plain), 0o700); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(plain), "*.tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err = io.CopyN(out, r, size); err == nil {
		page := int64(os.Getpagesize())
		err = out.Truncate((size + page - 1) / page * page)
	}
	if err == nil {
		err = out.Sync() // or the name might outlive a power cut, and the code not
	}
	if err == nil {
		err = os.Rename(out.Name(), plain)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// skipToCode reads a file of wazero's cache up to the code, and returns the size of that.
func skipToCode(r *bufio.Reader) (int64, error) {
	head := make([]byte, len(cacheMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil || !bytes.HasPrefix(head, cacheMagic) {
		return 0, errNoCode
	}
	if _, err := r.Discard(int(head[len(cacheMagic)])); err != nil { // wazero's version
		return 0, errNoCode
	}
	var functions uint32
	if err := binary.Read(r, binary.LittleEndian, &functions); err != nil {
		return 0, errNoCode
	}
	const offsetSize = 8
	if _, err := r.Discard(offsetSize * int(functions)); err != nil {
		return 0, errNoCode
	}
	var size uint64
	if err := binary.Read(r, binary.LittleEndian, &size); err != nil || size < minSharedCode || size > 1<<30 {
		return 0, errNoCode
	}
	return int64(size), nil
}

// findCopy returns the place in this process's executable memory of its own that has the same bytes, nil if there is
// none. wazero maps code at the beginning of a page, and the rest of its last page is zeros.
func findCopy(code []byte) []byte {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer maps.Close()
	page := uintptr(os.Getpagesize())
	size := uintptr(len(code))
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var begin, end uintptr
		var mode, offset, device string
		var inode uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %d", &begin, &end, &mode, &offset, &device, &inode); n != 6 ||
			inode != 0 || !strings.HasPrefix(mode, "r-x") {
			continue
		}
		for at := begin; at+size <= end; at += page {
			// The kernel says that this is mapped, and nothing else of this process changes mappings of code.
			copied := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), len(code))
			if bytes.Equal(copied[:page], code[:page]) && bytes.Equal(copied, code) {
				return copied
			}
		}
	}
	return nil
}

// dropModule gives the pages of the module's bytes back, which are read once, to be decoded. They are those of the
// program's file, never written to.
func dropModule(wasm []byte) {
	page := uintptr(os.Getpagesize())
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(wasm)))
	skip := (begin+page-1)/page*page - begin
	if whole := (uintptr(len(wasm)) - min(skip, uintptr(len(wasm)))) / page * page; whole > 0 {
		_ = unix.Madvise(wasm[skip:skip+whole], unix.MADV_DONTNEED) // without it they stay, which is no harm
	}
}
