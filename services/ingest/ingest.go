// Package ingest is the first stage: it makes sure that the stored bytes are what was uploaded, opens the document in
// the sandboxed PDF engine, notes its facts, and refuses what can never be processed, each with its code.
package ingest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
)

// Config says how documents are taken in.
type Config struct {
	// Workers is how many documents are opened at once.
	Workers int
	// MaxPages refuses longer documents.
	MaxPages int
	// DrainTimeout is how long documents in hand may go on when the service stops.
	DrainTimeout time.Duration
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Workers: 2, MaxPages: 3000, DrainTimeout: 20 * time.Second}
}

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "ingest.workers", c.Workers, "documents opened at once")
	fs.IntVar(&c.MaxPages, "ingest.max-pages", c.MaxPages, "refuse documents with more pages")
	fs.DurationVar(&c.DrainTimeout, "ingest.drain-timeout", c.DrainTimeout,
		"how long documents in hand may go on at a stop")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("ingest.workers: %d, want at least 1", c.Workers))
	}
	if c.MaxPages < 1 || c.MaxPages > 100_000 {
		errs = append(errs, fmt.Errorf("ingest.max-pages: %d, want 1 to 100000", c.MaxPages))
	}
	return errors.Join(errs...)
}

// Service is the ingest stage.
type Service struct {
	cfg    Config
	deps   stage.Deps
	engine *pdf.Engine
}

// New returns a Service that is not yet running. The engine stays the caller's.
func New(cfg Config, deps stage.Deps, engine *pdf.Engine) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("stage", string(bus.Ingest))
	return &Service{cfg: cfg, deps: deps, engine: engine}, nil
}

// Units returns what a process consists of that runs the service. The engine stays the caller's.
func Units(rt *service.Runtime, cfg Config, engine *pdf.Engine) ([]lifecycle.Unit, error) {
	s, err := New(cfg, rt.Deps, engine)
	if err != nil {
		return nil, err
	}
	return []lifecycle.Unit{{Name: "ingest", Run: s.Run}}, nil
}

// openDeadline bounds the work on one document: hashing 500 MB from a slow store, and two tries to open it.
const openDeadline = 10 * time.Minute

// Run takes documents in until ctx is done, then finishes those in hand. It calls ready once it accepts work. A nil
// error means a clean stop.
func (s *Service) Run(ctx context.Context, ready func()) error {
	cfg := bus.ConsumerConfig{Workers: s.cfg.Workers, Deadline: openDeadline, DrainTimeout: s.cfg.DrainTimeout}
	return stage.Run(ctx, s.deps, bus.Ingest, cfg, &steps{s}, ready)
}
