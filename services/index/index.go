// Package index is the last stage: it puts the words of each page in reading order, stores and indexes the page,
// counts it once, releases the job's next chunk, and, when the last page is in, assembles the artifacts and ends the
// job.
package index

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// Config says how pages are indexed.
type Config struct {
	// Workers is how many units are indexed at once.
	Workers int
	// DrainTimeout is how long units in hand may go on when the service stops.
	DrainTimeout time.Duration
}

// DefaultConfig returns 24 workers a core: most of a unit's time is a wait for the stores, and what several wait for is
// written at once, up to three seconds after the last of it.
func DefaultConfig() Config {
	return Config{Workers: 24 * runtime.NumCPU(), DrainTimeout: 20 * time.Second}
}

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "index.workers", c.Workers, "units indexed at once")
	fs.DurationVar(&c.DrainTimeout, "index.drain-timeout", c.DrainTimeout, "how long units in hand may go on at a stop")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("index.workers: %d, want at least 1", c.Workers))
	}
	return errors.Join(errs...)
}

// Service is the index stage.
type Service struct {
	cfg   Config
	deps  stage.Deps
	store search.Store
	pdf   *pdf.Engine
	onEnd func() // called when a job has ended, and its record says so
}

// New returns a Service that is not yet running. The store and the engine stay the caller's.
func New(cfg Config, deps stage.Deps, store search.Store, engine *pdf.Engine) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("stage", string(bus.Index))
	return &Service{cfg: cfg, deps: deps, store: store, pdf: engine, onEnd: func() {}}, nil
}

// Units returns what a process consists of that runs the service: the stage, and what keeps the index database current.
// The store and the engine stay the caller's.
func Units(rt *service.Runtime, cfg Config, store search.Store, engine *pdf.Engine) ([]lifecycle.Unit, error) {
	s, err := New(cfg, rt.Deps, store, engine)
	if err != nil {
		return nil, err
	}
	rt.Status.AddCheck("index", s.Check)
	copier := projection.New(rt.Deps.Jobs, rt.Deps.Bus, store, rt.Deps.Log)
	s.onEnd = copier.CopySoon
	return []lifecycle.Unit{{Name: "index", Run: s.Run}, {Name: "projection", Run: copier.Run}}, nil
}

// unitDeadline bounds the work on one unit; assembling the artifacts of the longest document is the largest.
const unitDeadline = 10 * time.Minute

// Run indexes units until ctx is done, then finishes those in hand. It calls ready once it accepts work. A nil error
// means a clean stop.
func (s *Service) Run(ctx context.Context, ready func()) error {
	cfg := bus.ConsumerConfig{Workers: s.cfg.Workers, Deadline: unitDeadline, DrainTimeout: s.cfg.DrainTimeout}
	return stage.RunHandler(ctx, s.deps, bus.Index, cfg, s.newHandler(), ready)
}

// newHandler returns the handler of the stage's tasks, of which there are three kinds.
func (s *Service) newHandler() bus.Handler {
	shared := &steps{s}
	pages := stage.NewHandler(s.deps, bus.Index, &pageSteps{shared})
	finalise := stage.NewHandler(s.deps, bus.Index, &finaliseSteps{shared})
	remove := stage.NewHandler(s.deps, bus.Index, &removeSteps{shared})
	return stage.Kinds{Undecoded: pages, ForTask: func(t bus.Task) bus.Handler {
		switch t.(type) {
		case *busv1.FinaliseTask:
			return finalise
		case *busv1.RemoveTask:
			return remove
		default:
			return pages
		}
	}}
}

// Check reports whether the index database answers; it is a readiness check.
func (s *Service) Check(ctx context.Context) error { return s.store.Ping(ctx) }
