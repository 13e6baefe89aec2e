package tesseract

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
)

// lineWriter is the function of Leptonica's that lineimage.c takes the place of.
const lineWriter = "pixWriteMem"

// Whichever way libtesseract is linked, its calls must reach the functions of serial.c and lineimage.c. One that is
// linked in was bound to them by the linker, and leaves nothing to the loader; the loader binds a shared one to what
// the executable exports. A libtesseract that called more of OpenMP than serial.c has would mix libgomp's state with
// that of serial.c.
func TestReplacementsAreInForce(t *testing.T) {
	t.Parallel()
	exe, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatalf("open this executable: %v", err)
	}
	defer exe.Close()
	symbols, err := exe.DynamicSymbols()
	if err != nil {
		t.Fatalf("read symbols: %v", err)
	}
	own := map[string]bool{}
	calls := sharedTesseract(t)
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			calls = append(calls, s.Name)
		} else {
			own[s.Name] = true
		}
	}
	if !own[lineWriter] { // Leptonica is shared either way, so the linker exports what is defined here too
		t.Errorf("%s: got Leptonica's, want the one of lineimage.c", lineWriter)
	}
	for _, name := range calls {
		if (strings.HasPrefix(name, "GOMP_") || strings.HasPrefix(name, "omp_")) && !own[name] {
			t.Errorf("%s: got libgomp's, want one of serial.c", name)
		}
	}
}

// sharedTesseract names the functions that a shared libtesseract calls elsewhere; none where it is linked in.
func sharedTesseract(t *testing.T) []string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatalf("read maps: %v", err)
	}
	at := strings.Index(string(maps), "libtesseract.so")
	if at < 0 {
		return nil
	}
	path, _, _ := strings.Cut(string(maps[strings.LastIndexByte(string(maps[:at]), ' ')+1:]), "\n")
	lib, err := elf.Open(path)
	if err != nil {
		t.Fatalf("open libtesseract: %v", err)
	}
	defer lib.Close()
	imports, err := lib.ImportedSymbols()
	if err != nil {
		t.Fatalf("read imports: %v", err)
	}
	var names []string
	for _, s := range imports {
		names = append(names, s.Name)
	}
	return names
}
