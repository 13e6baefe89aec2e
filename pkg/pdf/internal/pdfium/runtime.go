package pdfium

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Config says how to run the module.
type Config struct {
	// CacheDir keeps the compiled machine code between processes (19 MB; 0.1 s to start instead of 3). Processes share
	// it safely: a file in it appears whole, by rename. Empty means no cache.
	CacheDir string
	// MemoryLimit bounds the module's linear memory in bytes.
	MemoryLimit int64
	// FontDirs are mounted read-only at the same path: all that the module can see of the file system.
	FontDirs []string
}

// Runtime is the compiled module. It makes Instances, one after the other.
type Runtime struct {
	cfg      Config
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	chars    wazero.CompiledModule // see buildCharModule

	// The module's callbacks land in the host module, which all instances share; these are what the running instance reads
	// and writes.
	source  io.ReaderAt
	sink    io.Writer
	sinkErr error // the first error of sink; PDFium itself does not stop for one

	// shareError says why this process has a copy of the code of its own; nil if it shares one.
	shareError error

	spare *Instance // closed, and as fresh as a new one; nil for none
}

// DefaultCacheDir is below the user's cache folder, or, for a user without a home as services have, below the
// temporary one, in a folder of that user alone: with one name for all users, any user could take it first.
func DefaultCacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("inkstream-%d", os.Geteuid()), "pdfium")
	}
	return filepath.Join(cache, "inkstream", "pdfium")
}

// NumModules is how many modules a Runtime compiles: PDFium and the loop over characters.
const NumModules = 2

// CountCachedModules returns how many modules' code a cache folder holds; 0 where it is not there.
func CountCachedModules(dir string) int {
	// A folder for each version of wazero, architecture and system holds a file for each module and kind of processor.
	// Files that are still being written end in .tmp.
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if dir == "" || err != nil {
		return 0
	}
	n := 0
	for _, f := range files {
		if !strings.HasSuffix(f, ".tmp") {
			n++
		}
	}
	return n
}

// NewRuntime compiles the module, or loads its machine code from the cache.
func NewRuntime(ctx context.Context, cfg Config) (*Runtime, error) {
	rc := wazero.NewRuntimeConfigCompiler()
	r := &Runtime{cfg: cfg}
	if cfg.CacheDir != "" {
		if err := os.MkdirAll(cfg.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("create compile cache: %w", err)
		}
		cache, err := wazero.NewCompilationCacheWithDir(cfg.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("open compile cache: %w", err)
		}
		r.cache = cache
		rc = rc.WithCompilationCache(cache)
	}
	r.runtime = wazero.NewRuntimeWithConfig(ctx, rc)
	if err := r.compileModule(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

func (r *Runtime) compileModule(ctx context.Context) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r.runtime); err != nil {
		return fmt.Errorf("instantiate wasi: %w", err)
	}
	var err error
	if r.compiled, err = r.runtime.CompileModule(ctx, pdfiumWasm); err != nil {
		return fmt.Errorf("compile pdfium: %w", err)
	}
	dropModule(pdfiumWasm)
	if r.cfg.CacheDir != "" {
		if r.shareError = shareCode(r.cfg.CacheDir); errors.Is(r.shareError, errCodeLost) {
			return r.shareError
		}
	}
	if r.chars, err = r.runtime.CompileModule(ctx, buildCharModule()); err != nil {
		return fmt.Errorf("compile the loop over characters: %w", err)
	}
	return r.instantiateEnv(ctx)
}

// instantiateEnv provides what the module imports besides WASI: Emscripten's own functions, the two callbacks that
// documents are read and written through, and for every other callback (form filling, progressive loading) one that
// does nothing, since no such feature is switched on.
func (r *Runtime) instantiateEnv(ctx context.Context) error {
	env := r.runtime.NewHostModuleBuilder("env")
	exporter, err := emscripten.NewFunctionExporterForModule(r.compiled)
	if err != nil {
		return fmt.Errorf("find emscripten imports: %w", err)
	}
	exporter.ExportFunctions(env)
	for _, fn := range r.compiled.ImportedFunctions() {
		module, name, _ := fn.Import()
		if module != "env" {
			continue
		}
		var f api.GoModuleFunc
		switch {
		case name == "FPDF_FILEACCESS_CB":
			f = r.readBlock
		case name == "FPDF_FILEWRITE_CB":
			f = r.writeBlock
		case isEmscripten(name):
			continue
		default:
			f = returnZero
		}
		env.NewFunctionBuilder().WithGoModuleFunction(f, fn.ParamTypes(), fn.ResultTypes()).Export(name)
	}
	if _, err := env.Instantiate(ctx); err != nil {
		return fmt.Errorf("instantiate env: %w", err)
	}
	return nil
}

func isEmscripten(name string) bool {
	return len(name) > 7 && name[:7] == "invoke_" || name == "_emscripten_throw_longjmp" ||
		name == "emscripten_notify_memory_growth"
}

// returnZero answers 0, which every callback takes for "no".
func returnZero(_ context.Context, _ api.Module, stack []uint64) {
	if len(stack) > 0 {
		stack[0] = 0
	}
}

// readBlock is FPDF_FILEACCESS.m_GetBlock(param, position, buffer, size): it fills the buffer wholly and answers
// non-zero, or 0.
func (r *Runtime) readBlock(_ context.Context, mod api.Module, stack []uint64) {
	position, pointer, size := uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	stack[0] = 0
	buf, ok := mod.Memory().Read(pointer, size)
	if !ok || r.source == nil {
		return
	}
	if n, _ := r.source.ReadAt(buf, int64(position)); n == len(buf) {
		stack[0] = 1
	}
}

// writeBlock is FPDF_FILEWRITE.WriteBlock(self, data, size).
func (r *Runtime) writeBlock(_ context.Context, mod api.Module, stack []uint64) {
	pointer, size := uint32(stack[1]), uint32(stack[2])
	stack[0] = 0
	data, ok := mod.Memory().Read(pointer, size)
	if !ok || r.sink == nil || r.sinkErr != nil {
		return
	}
	if _, r.sinkErr = r.sink.Write(data); r.sinkErr == nil {
		stack[0] = 1
	}
}

// NewInstance returns a copy of the module with the library initialised, and memory that no other document has
// touched. To make one takes a few milliseconds, so one that is closed gets its memory back as it was at first, and
// is the next.
func (r *Runtime) NewInstance(ctx context.Context) (*Instance, error) {
	if in := r.spare; in != nil {
		r.spare = nil
		return in, nil
	}
	in, err := r.instantiateModule(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.loadSystemFonts(); err != nil {
		return nil, err
	}
	in.stackTop = in.callFunction(fnStackTop)
	// Where the system has no such files, or the walls are up already, every document has an instance made for it.
	_ = in.limit.saveSnapshot()
	return in, nil
}

func (r *Runtime) instantiateModule(ctx context.Context) (_ *Instance, err error) {
	fs := wazero.NewFSConfig()
	for _, dir := range r.cfg.FontDirs {
		fs = fs.WithReadOnlyDirMount(dir, dir)
	}
	limit := &memoryLimiter{limit: uint64(r.cfg.MemoryLimit)}
	mod, err := r.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, limit), r.compiled, moduleConfig().
		WithStartFunctions("_initialize").WithFSConfig(fs))
	if err != nil {
		return nil, fmt.Errorf("instantiate pdfium: %w", err)
	}
	in := &Instance{ctx: ctx, runtime: r, mod: mod, mem: mod.Memory(), limit: limit}
	for f, name := range functionNames {
		if in.fn[f] = mod.ExportedFunction(name); in.fn[f] == nil {
			return nil, fmt.Errorf("pdfium has no function %s", name)
		}
	}
	if err := in.linkCharLoop(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if trap, ok := recover().(*Trap); ok {
			err = trap
		}
	}()
	in.callFunction(fnInitLibrary)
	if in.scratch = in.allocate(scratchSize); in.scratch == 0 {
		return nil, errors.New("pdfium has no memory to start with")
	}
	return in, nil
}

// moduleConfig is of a module without a name, a clock, randomness, environment and arguments: wazero's defaults are
// fixed values, so the same document reads the same.
func moduleConfig() wazero.ModuleConfig { return wazero.NewModuleConfig().WithName("") }

// Close frees everything, instances included.
func (r *Runtime) Close(ctx context.Context) error {
	err := r.runtime.Close(ctx)
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	return err
}
