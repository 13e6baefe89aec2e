package pdf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/sandbox"
)

// idleTimeout is how long a child stays without a document. Another takes 0.1 s of CPU to start.
const idleTimeout = 20 * time.Second

// yieldAfter is the CPU time that reading or drawing a page may take before others on the machine go first. Of the
// corpus's pages few take a tenth of it.
const yieldAfter = time.Second

// Engine opens documents. It is safe for concurrent use.
type Engine struct {
	cfg  Config
	pool *sandbox.Pool
	log  *slog.Logger

	documentCache *documentCache
}

// New returns an Engine. It starts no process yet; children start when they are first needed.
func New(cfg Config, log *slog.Logger) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.NumCPU()
	}
	fonts := existingDirs(cfg.FontDirs)
	args, err := childConfig{MemoryLimit: cfg.MemoryLimit / 4 * 3, FontDirs: fonts}.encodeArgs()
	if err != nil {
		return nil, err
	}
	pool, err := sandbox.NewPool(sandbox.Config{
		Program:      programName,
		Args:         args,
		Size:         cfg.Workers,
		IdleTimeout:  idleTimeout,
		MemoryLimit:  cfg.MemoryLimit,
		ReadOnly:     fonts,
		ScratchBytes: int64(cfg.MaxRasterPixels),
		YieldAfter:   yieldAfter,
		RecycleAfter: cfg.RecycleAfter,
		RecycleBytes: cfg.MemoryLimit / 2,
		Observe:      cfg.Observe,
		RequireWalls: cfg.RequireWalls,
		ObserveWalls: cfg.ObserveWalls,
	}, log)
	if err != nil {
		return nil, fmt.Errorf("start pdf children: %w", err)
	}
	return &Engine{cfg: cfg, pool: pool, log: log, documentCache: &documentCache{maxChildren: cfg.Workers}}, nil
}

func existingDirs(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			out = append(out, d)
		}
	}
	return out
}

// OpenDocument opens a document in a child, which it waits for. The file is read as pages need it and must stay open
// until the Document is closed; Open does not close it.
//
// Errors are *fault.Error: EMPTY_FILE, NOT_A_PDF, ENCRYPTED, DAMAGED, NO_PAGES for what is wrong with the document,
// ENGINE_CRASHED, ENGINE_MEMORY or PAGE_TIMEOUT if the child died over it. If ctx ends, its error is in the chain.
func (e *Engine) OpenDocument(ctx context.Context, f *os.File, password string) (*Document, error) {
	return e.openInChild(ctx, &Document{engine: e, file: f, password: password})
}

// OpenPages is OpenDocument for a caller that only reads pages: its Info holds the number of pages alone. On a manual
// with a long outline that saves 70 ms.
func (e *Engine) OpenPages(ctx context.Context, f *os.File, password string) (*Document, error) {
	return e.openInChild(ctx, &Document{engine: e, file: f, password: password, pagesOnly: true})
}

func (e *Engine) openInChild(ctx context.Context, d *Document) (*Document, error) {
	id, known := fileIDOf(d.file)
	if !known || !d.pagesOnly || d.password != "" || sandbox.IsSlowWork(ctx) {
		id = fileID{} // of no file: such a document is neither taken from the cache nor put there
	}
	d.id = id
	if c := e.documentCache.takeOrReserve(id); c != nil {
		d.child, d.opened, d.pages, d.info = c.child, true, c.pagesRead, Info{PageCount: c.pageCount}
		d.child.BeginUse(ctx)
		return d, nil
	}
	err := d.reopenFile(ctx, 0)
	e.documentCache.finishLease(err == nil)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// StartChildren starts up to n children, so that the first documents do not wait for them.
func (e *Engine) StartChildren(ctx context.Context, n int) error {
	if err := e.pool.StartChildren(ctx, min(n, e.cfg.Workers)); err != nil {
		return fmt.Errorf("warm up pdf children: %w", err)
	}
	return nil
}

// PageTimeout returns how long a page may take.
func (e *Engine) PageTimeout() time.Duration { return e.cfg.PageTimeout }

// FirstTry returns how long a first try at a document or a page may take, under a context of sandbox.WithFirstTry.
func (e *Engine) FirstTry() time.Duration { return e.cfg.FirstTry }

// Stats tells what became of the children so far.
func (e *Engine) Stats() sandbox.Stats { return e.pool.Stats() }

// Close ends all children. Calls that are running return an error.
func (e *Engine) Close() error {
	e.documentCache.closeEntries()
	if err := e.pool.Close(); err != nil {
		return fmt.Errorf("stop pdf children: %w", err)
	}
	return nil
}

// classifyCallError turns what a call to a child returned into a fault. page is the page in question, 0 for the
// document as a whole.
func classifyCallError(ctx context.Context, err error, page int, doing string) error {
	if err == nil {
		return nil
	}
	death, ok := errors.AsType[*sandbox.ExitError](err)
	if !ok {
		if ctx.Err() != nil || errors.Is(err, sandbox.ErrClosed) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		return &fault.Error{Kind: fault.Transient, Code: fault.Internal, Page: page, Message: "the engine could not answer",
			Err: fmt.Errorf("%s: %w", doing, err)}
	}
	code := fault.EngineCrashed
	switch death.Reason {
	case sandbox.Timeout, sandbox.CPU:
		code = fault.PageTimeout
		if page == 0 {
			code = fault.OpenTimeout
		}
	case sandbox.Memory:
		code = fault.EngineMemory
	case sandbox.Cancelled:
		return fmt.Errorf("%s: %w", doing, err)
	}
	out := fault.New(code, "%s", code.DescribeCode())
	out.Page, out.Err = page, fmt.Errorf("%s: %w", doing, death)
	return out
}
