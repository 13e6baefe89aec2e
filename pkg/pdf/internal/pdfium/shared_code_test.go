package pdfium

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCodeIsMappedFromAFile(t *testing.T) {
	dir := t.TempDir()
	source := DefaultCacheDir()
	cached, err := filepath.Glob(filepath.Join(source, "wazero-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range cached { // what other tests compiled is used, for it takes a minute
		to := filepath.Join(dir, strings.TrimPrefix(file, source))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 { // the first writes the file, the second finds it, the third finds what a power cut has left of it
		if i == 2 {
			emptyFiles(t, filepath.Join(dir, codeFolder))
		}
		r, err := NewRuntime(t.Context(), Config{CacheDir: dir, MemoryLimit: 256 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if r.shareError != nil {
			t.Error(r.shareError)
		}
		if n := mappedFrom(t, filepath.Join(dir, codeFolder)); n == 0 {
			t.Error("no executable memory is a file's, want PDFium's code")
		}
		in, err := r.NewInstance(t.Context()) // which runs the mapped code
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedCodeIsNotMapped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := NewRuntime(t.Context(), Config{CacheDir: DefaultCacheDir(), MemoryLimit: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	path := filepath.Join(dir, "code")
	if err := os.WriteFile(path, make([]byte, minSharedCode), 0o600); err != nil {
		t.Fatal(err)
	}
	code, err := mapCode(path)
	if err != nil {
		t.Fatal(err)
	}
	if findCopy(code) != nil {
		t.Error("zeros pass for the code of this process")
	}
	if _, err := mapCode(os.DevNull); err == nil {
		t.Error("an empty file is mapped, want an error")
	}
}

// emptyFiles leaves nothing in the files of a folder.
func emptyFiles(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of code (%v), want some", len(files), err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil { // the old one is mapped
			t.Fatal(err)
		}
	}
}

// A process that has lost the code that it runs says so, and one that has kept it goes on.
func TestLostCodeIsAnError(t *testing.T) {
	t.Parallel()
	newMapping := func() []byte {
		b, err := unix.Mmap(-1, 0, 4*os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	kept := newMapping()
	err := replaceCopy(newMapping(), kept, func(_, _ []byte) error { return unix.EINVAL })
	if err == nil || errors.Is(err, errCodeLost) {
		t.Errorf("a move that changes nothing: %v, want an error that the process can live with", err)
	}
	lost := newMapping()
	err = replaceCopy(newMapping(), lost, func(_, target []byte) error { return errors.Join(unix.ENOMEM, unix.Munmap(target)) })
	if !errors.Is(err, errCodeLost) {
		t.Errorf("a move that leaves a hole: %v, want errCodeLost", err)
	}
}

// mappedFrom counts the executable mappings of this process that are of files in a folder.
func mappedFrom(t *testing.T, dir string) int {
	t.Helper()
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.Contains(lines.Text(), " r-xp ") && strings.Contains(lines.Text(), dir) {
			n++
		}
	}
	return n
}
