package pdf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdftest"
)

func TestPrepareCache(t *testing.T) {
	t.Parallel()
	// mkdir makes a folder with exactly that mode.
	mkdir := func(t *testing.T, path string, mode os.FileMode) string {
		t.Helper()
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name  string
		above os.FileMode
		cache os.FileMode // 0: missing
		owner int         // of the folder above; 0: this user
		// sticky says that the folder above lies in one that all may add to.
		sticky bool
		ok     bool
	}{
		{name: "made anew", above: 0o755, ok: true},
		{name: "there already", above: 0o755, cache: 0o700, ok: true},
		{name: "readable by all", above: 0o755, cache: 0o755, ok: true},
		{name: "below a sticky folder", above: 0o777 | os.ModeSticky, cache: 0o700, ok: true},
		{name: "writable by the group", above: 0o755, cache: 0o770},
		{name: "writable by all", above: 0o755, cache: 0o777},
		{name: "sticky itself", above: 0o755, cache: 0o777 | os.ModeSticky},
		{name: "below a folder that others may write to", above: 0o777, cache: 0o700},
		{name: "below another user's folder", above: 0o755, cache: 0o700, owner: 12345, ok: true},
		{name: "below another user's folder in a sticky one", above: 0o755, cache: 0o700, owner: 12345, sticky: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if tt.sticky {
				root = mkdir(t, filepath.Join(root, "sticky"), 0o777|os.ModeSticky)
			}
			above := mkdir(t, filepath.Join(root, "above"), tt.above)
			cache := filepath.Join(above, "cache")
			if tt.cache != 0 {
				mkdir(t, cache, tt.cache)
			}
			if tt.owner != 0 {
				if err := os.Chown(above, tt.owner, -1); err != nil {
					t.Skipf("only root can give a folder away: %v", err)
				}
			}
			if err := prepareCache(cache); (err == nil) != tt.ok {
				t.Errorf("prepareCache = %v, want an error: %t", err, !tt.ok)
			}
		})
	}
}

// childrenPeak returns the largest peak of resident memory, in bytes, of this process's children that use the cache
// folder.
func childrenPeak(t *testing.T, dir string) (children int, peak int64) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		args, err := os.ReadFile(line)
		if err != nil || !strings.Contains(string(args), dir) {
			continue // it has ended, or is another's
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(line), "status"))
		if err != nil {
			continue
		}
		children++
		for field := range strings.Lines(string(status)) {
			var kilobytes int64
			if n, _ := fmt.Sscanf(field, "VmHWM: %d kB", &kilobytes); n == 1 {
				peak = max(peak, kilobytes<<10)
			}
		}
	}
	return children, peak
}

// openPageOf opens a document with a new engine over the cache, and returns the peak memory of its child.
func openPageOf(t *testing.T, dir string) int64 {
	t.Helper()
	cfg := testConfig()
	cfg.CacheDir, cfg.Workers = dir, 1
	e, err := New(cfg, discardLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d := openDocument(t, e, pdftest.BornDigital(1))
	defer d.Close()
	children, peak := childrenPeak(t, dir)
	if children == 0 || peak == 0 {
		t.Fatal("no child was found")
	}
	return peak
}

func TestChildKeepsNoMemoryOfTheCompiler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openPageOf(t, dir)
	second := openPageOf(t, dir)
	t.Logf("peak memory of a child: %d MB where it compiled, %d MB where it found the code", first>>20, second>>20)
	if first > second+second/4 {
		t.Errorf("a child that compiled PDFium: got %d MB, want about the %d MB of one that found the code", first>>20,
			second>>20)
	}
}

func TestReadOnlyCacheOfAnotherProcessor(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "image")
	t.Setenv("XDG_CACHE_HOME", home)
	// The cache of an image: its folders are there, and they are read-only.
	if err := os.MkdirAll(filepath.Join(dir, "wazero-v0.0.0-none-none"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	openPageOf(t, dir)
	if got := pdfium.CountCachedModules(filepath.Join(home, "inkstream", "pdfium")); got == 0 {
		t.Error("no code in the user's own cache, want it compiled there")
	}
	if got := pdfium.CountCachedModules(dir); got != 0 {
		t.Errorf("%d files in the read-only cache, want none", got)
	}
}
