package tesseract

import (
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"
)

// replaced are the functions of shared libraries that serial.c and lineimage.c take the place of.
var replaced = []string{
	"GOMP_parallel", "GOMP_parallel_sections", "GOMP_sections_next", "GOMP_sections_end_nowait", "omp_get_num_threads",
	"omp_get_thread_num", "pixWriteMem",
}

// The loader binds a shared libtesseract to these only if the executable exports them, which is up to the linker. Where libtesseract is linked
// in, the linker has bound it, and nothing may be left to the loader.
func TestReplacementsAreExported(t *testing.T) {
	t.Parallel()
	exe, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatalf("open this executable: %v", err)
	}
	defer exe.Close()
	libraries, err := exe.ImportedLibraries()
	if err != nil {
		t.Fatalf("read libraries: %v", err)
	}
	if !slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(l, "libtesseract") }) {
		if slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(l, "libgomp") }) {
			t.Errorf("libraries: got %q, want no runtime of OpenMP", libraries)
		}
		return
	}
	symbols, err := exe.DynamicSymbols()
	if err != nil {
		t.Fatalf("read symbols: %v", err)
	}
	for _, name := range replaced {
		if !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF }) {
			t.Errorf("%s is not exported: libtesseract goes on calling the library's", name)
		}
	}
}

// A libtesseract that calls more of the OpenMP runtime would mix libgomp's state with that of serial.c.
func TestSerialRuntimeIsComplete(t *testing.T) {
	t.Parallel()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatalf("read maps: %v", err)
	}
	at := strings.Index(string(maps), "libtesseract.so")
	if at < 0 {
		t.Skip("libtesseract is linked in statically")
	}
	line := string(maps[:at])
	start := strings.LastIndexByte(line, ' ') + 1
	path, _, _ := strings.Cut(string(maps[start:]), "\n")
	lib, err := elf.Open(path)
	if err != nil {
		t.Fatalf("open libtesseract: %v", err)
	}
	defer lib.Close()
	imports, err := lib.ImportedSymbols()
	if err != nil {
		t.Fatalf("read imports: %v", err)
	}
	for _, s := range imports {
		if (strings.HasPrefix(s.Name, "GOMP_") || strings.HasPrefix(s.Name, "omp_")) && !slices.Contains(replaced, s.Name) {
			t.Errorf("libtesseract calls %s, which serial.c lacks", s.Name)
		}
	}
}
