package tesseract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

const (
	defaultTimeout = 2 * time.Minute
	// recycleAfter is the number of pages after which a child is replaced, against what no measurement has shown so
	// far: a child grew to 216 MiB over its first 75 pages, and to 225 over the next 100. A start takes 0.1 s of CPU.
	recycleAfter = 500
	// recycleBytes is the size beyond which a free child is replaced.
	recycleBytes = 512 << 20
	// idleTimeout is how long a child stays without a page: a page takes ten times what a start does.
	idleTimeout = 20 * time.Second
	// maxAnswer bounds what a child may answer, since a page in memory takes several times as much. A newspaper page
	// takes 0.7 MB.
	maxAnswer = 8 << 20
)

// Engine recognises pages in child processes. It is safe for concurrent use.
type Engine struct {
	datapath string
	pool     *sandbox.Pool
	log      *slog.Logger

	mu    sync.Mutex // guards known
	known []string
}

// New returns an engine that has not yet started a child. A missing model folder or language is a permanent fault.
func New(cfg Config, log *slog.Logger) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	e, preload, err := findModels(cfg, log)
	if err != nil {
		return nil, err
	}
	pool, err := sandbox.NewPool(sandbox.Config{
		Program: cfg.programOrDefault(), Args: []string{e.datapath, preload},
		Size: cfg.workerCount(), MemoryLimit: cfg.MemoryLimit, OneTenant: true,
		ReadOnly:    []string{e.datapath},
		ReadWrite:   []string{os.DevNull}, // where Tesseract's chat goes
		IdleTimeout: idleTimeout, RecycleAfter: recycleAfter, RecycleBytes: recycleBytes,
		Env:     []string{"OMP_THREAD_LIMIT=1", oneArena},
		Observe: cfg.Observe, RequireWalls: cfg.RequireWalls, ObserveWalls: cfg.ObserveWalls,
	}, log)
	if err != nil {
		return nil, fmt.Errorf("prepare tesseract: %w", err)
	}
	e.pool = pool
	return e, nil
}

// findModels finds the models and checks the languages to preload.
func findModels(cfg Config, log *slog.Logger) (*Engine, string, error) {
	path := cfg.DataPath
	if path == "" {
		path = DefaultDataPath()
	}
	if path == "" {
		return nil, "", fault.New(fault.InvalidOption,
			"no folder with Tesseract's models is found; name one, or set TESSDATA_PREFIX")
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, "", fmt.Errorf("find models: %w", err)
	}
	e := &Engine{datapath: path, log: log}
	if e.known, err = listLanguages(path); err != nil {
		return nil, "", err
	}
	if len(e.known) == 0 {
		return nil, "", fault.New(fault.InvalidOption, "no language is installed in %s", path)
	}
	preload := cfg.Languages
	if preload == "" || preload == recognise.Auto {
		preload = e.known[0]
		if slices.Contains(e.known, "eng") {
			preload = "eng"
		}
	}
	preload, err = normaliseLanguages(preload, e.known)
	return e, preload, err
}

// Languages returns the installed languages, sorted.
func (e *Engine) Languages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.known)
}

// CheckLanguages returns the languages without repeats, or the fault INVALID_OPTION where one is not installed. The
// folder is looked at again before that is said, so that a language may be added to a running service.
//
// Auto is good wherever any language is installed.
func (e *Engine) CheckLanguages(languages string) (string, error) {
	if languages == recognise.Auto {
		return languages, nil
	}
	good, err := normaliseLanguages(languages, e.Languages())
	if err == nil {
		return good, nil
	}
	now, listErr := listLanguages(e.datapath)
	if listErr != nil {
		return "", listErr
	}
	e.mu.Lock()
	e.known = now
	e.mu.Unlock()
	return normaliseLanguages(languages, now)
}

// StartChildren starts every child, so that the first pages need not wait for one.
func (e *Engine) StartChildren(ctx context.Context, workers int) error {
	return e.pool.StartChildren(ctx, workers)
}

// Stats tells how many children there are, and how many died of what.
func (e *Engine) Stats() sandbox.Stats { return e.pool.Stats() }

// Close kills the children. Pages in hand end with an error.
func (e *Engine) Close() error { return e.pool.Close() }

// RecognisePage reads the words on a raster, as the interface of package ocr promises.
func (e *Engine) RecognisePage(ctx context.Context, img recognise.Image,
	opts recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	languages, err := e.CheckLanguages(opts.Languages)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(request{Languages: languages, MayBeOther: opts.MayBeOther, DPI: img.DPI, Deskew: opts.Deskew,
		Rotate: opts.Rotate})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	c, err := e.pool.LeaseChild(ctx)
	if err != nil {
		return nil, e.leaseFault(ctx, err)
	}
	defer c.Release()
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	answer, err := c.Call(ctx, timeout, body, img.File)
	if err != nil {
		return nil, callFault(ctx, err)
	}
	page, err := decodeAnswer(answer)
	if err != nil {
		return nil, err
	}
	page = recognise.Sanitize(page, size, img.DPI)
	page.Engine = Version()
	return page, nil
}

// decodeAnswer reads a child's answer, which may be anything.
func decodeAnswer(answer []byte) (*inkstreamv1.Page, error) {
	if len(answer) == 0 {
		return nil, fault.New(fault.EngineCrashed, "empty answer")
	}
	if len(answer) > maxAnswer {
		return nil, fault.New(fault.EngineCrashed, "answer of %d bytes, want at most %d", len(answer), maxAnswer)
	}
	switch rest := answer[1:]; answer[0] {
	case isPage:
		var page inkstreamv1.Page
		// Bad UTF-8 in a string fails here. A sound child never sends it: this one has been taken over.
		if err := proto.Unmarshal(rest, &page); err != nil {
			return nil, fault.New(fault.EngineCrashed, "damaged answer")
		}
		return &page, nil
	case isFault:
		code, _, _ := bytes.Cut(rest, []byte("\n"))
		switch c := fault.Code(code); c {
		case fault.PageDamaged, fault.EngineCrashed:
			return nil, fault.New(c, "%s", c.DescribeCode())
		default:
			return nil, fault.New(fault.Internal, "the engine refused the request")
		}
	default:
		return nil, fault.New(fault.EngineCrashed, "damaged answer")
	}
}

// leaseFault says why no child could be had.
func (e *Engine) leaseFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for tesseract: %w", ctx.Err())
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("start tesseract: %w", err))
}

// callFault says what the end of a call means for the page.
func callFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("recognise: %w", ctx.Err())
	}
	death, ok := errors.AsType[*sandbox.ExitError](err)
	if !ok {
		return fault.Wrap(fault.EngineCrash, fault.EngineCrashed, err)
	}
	switch death.Reason {
	case sandbox.Timeout, sandbox.CPU:
		return fault.Wrap(fault.EngineCrash, fault.PageTimeout, err)
	case sandbox.Memory:
		return fault.Wrap(fault.EngineCrash, fault.EngineMemory, err)
	case sandbox.Cancelled: // by the pool's end, as the context goes on
		return fault.Wrap(fault.Busy, fault.Unavailable, err)
	default:
		return fault.Wrap(fault.EngineCrash, fault.EngineCrashed, err)
	}
}
