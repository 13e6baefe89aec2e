package pdfium

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	for range 2 { // the first writes the file, the second finds it
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
