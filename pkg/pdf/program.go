package pdf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/pdf/internal/host"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/sandbox"
)

const programName = "pdf"

// Program is what the children of an Engine run. A process that makes an Engine must list it in [sandbox.Main].
func Program() sandbox.Program {
	return sandbox.Program{Name: programName, Setup: setupChild}
}

// childConfig travels to the child as its one argument.
type childConfig struct {
	CacheDir string `json:"cacheDir"`
	// WritableCacheDir is used where CacheDir is read-only and lacks the code for this processor; empty for none.
	WritableCacheDir string   `json:"writableCacheDir,omitempty"`
	MemoryLimit      int64    `json:"memoryLimit"`
	FontDirs         []string `json:"fontDirs"`
}

func (c childConfig) encodeArgs() ([]string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode child configuration: %w", err)
	}
	return []string{string(b)}, nil
}

// setupChild compiles PDFium, or loads its code from the cache, while the child may still write to the cache.
func setupChild(ctx context.Context, args []string) (sandbox.Handler, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("pdf child: %d arguments, want 1", len(args))
	}
	var cfg childConfig
	if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	engine := pdfium.Config{CacheDir: cfg.CacheDir, MemoryLimit: cfg.MemoryLimit, FontDirs: cfg.FontDirs}
	if hasCode(cfg.WritableCacheDir) {
		engine.CacheDir = cfg.WritableCacheDir // a child before this one found that the other lacks the code
	}
	h, err := loadHost(ctx, engine)
	if err != nil && engine.CacheDir != cfg.WritableCacheDir && isReadOnly(cfg.CacheDir) {
		// What was compiled is lost with the error, so the first child compiles it twice.
		fmt.Fprintf(os.Stderr, "%s lacks the code for this processor: PDFium is compiled, and kept in %q: %v\n",
			cfg.CacheDir, cfg.WritableCacheDir, err)
		engine.CacheDir = cfg.WritableCacheDir
		h, err = loadHost(ctx, engine)
	}
	if err != nil {
		return nil, err
	}
	return hostHandler{h}, nil
}

// loadHost returns a host with PDFium's code from the cache. Where the cache lacks it, loadHost compiles it into the
// cache and replaces this process by a fresh one, which loads it: the compiler's memory, some 300 MB, would otherwise
// stay with the child for its whole life.
func loadHost(ctx context.Context, cfg pdfium.Config) (*host.Host, error) {
	unlock := lockCompiler(cfg.CacheDir)
	defer unlock()
	before := pdfium.CountCachedModules(cfg.CacheDir)
	h, err := host.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if pdfium.CountCachedModules(cfg.CacheDir) <= before {
		markLoaded(cfg.CacheDir)
		return h, nil
	}
	fmt.Fprintf(os.Stderr, "the compiler's memory stays with this child: %v\n", sandbox.Restart())
	return h, nil
}

// lockCompiler has the children that find nothing in the cache compile one after the other, which is once: the next
// finds the code of the first. Without a lock, as in a read-only cache, each compiles for itself.
func lockCompiler(dir string) (unlock func()) {
	if dir == "" || hasCode(dir) || os.MkdirAll(dir, 0o700) != nil {
		return func() {}
	}
	f, err := os.OpenFile(filepath.Join(dir, "compile.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	return func() { _ = f.Close() } // nothing is written to it
}

// loadedPrefix begins the name of the file by which a child says that it has found its code in a cache. The rest of the
// name is the program and the processor: after an update, or on another machine, the cache holds code that is of no
// use.
const loadedPrefix = "loaded-"

// loadedMark returns the path of that file.
func loadedMark(dir string) (string, error) {
	info, err := os.Stat(sandbox.ChildFile())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %+v %+v", info.Size(), info.ModTime().UnixNano(), runtime.GOARCH,
		cpu.X86, cpu.ARM64))
	return filepath.Join(dir, loadedPrefix+hex.EncodeToString(sum[:8])), nil
}

// hasCode reports whether a child of this program has found its code in a cache before.
func hasCode(dir string) bool {
	mark, err := loadedMark(dir)
	if dir == "" || err != nil {
		return false
	}
	_, err = os.Stat(mark)
	return err == nil && pdfium.CountCachedModules(dir) >= pdfium.NumModules
}

// markLoaded notes that the code was found, in the place of what other programs have noted. Without the mark, as in a
// read-only cache, children start one after the other.
func markLoaded(dir string) {
	mark, err := loadedMark(dir)
	if dir == "" || err != nil || hasCode(dir) {
		return
	}
	others, _ := filepath.Glob(filepath.Join(dir, loadedPrefix+"*"))
	for _, other := range others {
		_ = os.Remove(other) // one that stays does no harm
	}
	_ = os.WriteFile(mark, nil, 0o600)
}

// hostHandler ends its process when PDFium crashes.
type hostHandler struct{ host *host.Host }

// exitPDFiumTrap is the exit status of a crash in PDFium that is not for want of memory.
const exitPDFiumTrap = 98

// Handle implements [sandbox.Handler].
func (c hostHandler) Handle(ctx context.Context, req sandbox.Request) ([]byte, error) {
	defer func() {
		e := recover()
		if e == nil {
			return
		}
		trap, ok := e.(*pdfium.Trap)
		if !ok {
			panic(e)
		}
		// The function's name, not wazero's error: that prints a stack of thousands of lines where recursion was the trouble.
		fmt.Fprintf(os.Stderr, "pdfium trapped in %s, out of memory: %t\n", trap.Function, trap.Memory)
		if trap.Memory {
			os.Exit(sandbox.ExitMemory)
		}
		os.Exit(exitPDFiumTrap)
	}()
	b, err := c.host.HandleRequest(ctx, host.Request{Body: req.Body, Files: req.Files, Scratch: req.Scratch})
	if trap, ok := errors.AsType[*pdfium.Trap](err); ok {
		panic(trap)
	}
	return b, err
}
