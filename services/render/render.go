// Package render is the third stage: it reads a chunk of pages in the sandboxed PDF engine, page by page. A page with
// sound text is read from the document itself; a page that needs recognition becomes a grey raster in the blob store
// and a task of its own.
package render

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
)

// Config says how pages are read.
type Config struct {
	// Workers is how many chunks are read at once; each needs an engine child.
	Workers int
	// TimeSlice is how long a chunk keeps its worker: one that takes longer gives way at its next page, and goes on
	// behind the others that wait.
	TimeSlice time.Duration
	// DrainTimeout is how long chunks in hand may go on when the service stops.
	DrainTimeout time.Duration
}

// DefaultConfig returns one worker a core.
func DefaultConfig() Config {
	return Config{Workers: runtime.NumCPU(), TimeSlice: 30 * time.Second, DrainTimeout: 20 * time.Second}
}

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "render.workers", c.Workers, "chunks read at once")
	fs.DurationVar(&c.TimeSlice, "render.turn", c.TimeSlice,
		"how long a chunk is read before the rest of it waits behind others")
	fs.DurationVar(&c.DrainTimeout, "render.drain-timeout", c.DrainTimeout, "how long chunks in hand may go on at a stop")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("render.workers: %d, want at least 1", c.Workers))
	}
	if c.TimeSlice <= 0 {
		errs = append(errs, fmt.Errorf("render.turn: %s, want more than 0", c.TimeSlice))
	}
	return errors.Join(errs...)
}

// Service is the render stage.
type Service struct {
	cfg    Config
	deps   stage.Deps
	engine *pdf.Engine

	draws, slowDraws *fairshare.Slots // of page images
	hanging          hangingImages
}

// New returns a Service that is not yet running. The engine stays the caller's.
func New(cfg Config, deps stage.Deps, engine *pdf.Engine) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("stage", string(bus.Render))
	return &Service{cfg: cfg, deps: deps, engine: engine,
		draws: fairshare.NewSlots(imageWorkers, 1), slowDraws: fairshare.NewSlots(slowImageWorkers, 1)}, nil
}

// Units returns what a process consists of that runs the service. The engine stays the caller's.
func Units(rt *service.Runtime, cfg Config, engine *pdf.Engine) ([]lifecycle.Unit, error) {
	s, err := New(cfg, rt.Deps, engine)
	if err != nil {
		return nil, err
	}
	return []lifecycle.Unit{{Name: "render", Run: s.Run}}, nil
}

// chunkDeadline bounds the work on one task. As a rule it ends with its turn and the page at which that is over, but
// one that lost what the tasks before it had read reads all of that: each of 16 pages may use up its own deadline, 2
// min, and the minute to open the document again after it, twice where the engine crashes.
const chunkDeadline = 100 * time.Minute

// Run reads chunks until ctx is done, then finishes those in hand. It calls ready once it accepts work. A nil error
// means a clean stop.
func (s *Service) Run(ctx context.Context, ready func()) error {
	cfg := bus.ConsumerConfig{Workers: s.cfg.Workers, Deadline: chunkDeadline, DrainTimeout: s.cfg.DrainTimeout}
	images := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { images <- s.answerImages(ctx) }()
	err := stage.Run(ctx, s.deps, bus.Render, cfg, &steps{s}, ready)
	stop()
	return errors.Join(err, <-images)
}
