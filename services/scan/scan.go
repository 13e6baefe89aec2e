// Package scan is the second stage: it looks for what is dangerous in a document, under a policy, and cuts the
// document into chunks.
package scan

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
	"inkstream.dev/services/scan/clamd"
)

// Config says how documents are examined.
type Config struct {
	// Workers is how many documents are examined at once.
	Workers int
	// Clamd is the address of a ClamAV daemon (host:port or unix:///path); empty means no malware scan.
	Clamd string
	// Policy says what each kind of finding leads to.
	Policy Policy
	// Window is how many chunks of a job are in flight at once.
	Window int
	// DrainTimeout is how long documents in hand may go on when the service stops.
	DrainTimeout time.Duration
}

// DefaultConfig returns the defaults: everything is flagged, bombs are rejected.
func DefaultConfig() Config {
	return Config{Workers: 2, Policy: DefaultPolicy(), Window: Window, DrainTimeout: 20 * time.Second}
}

// Window is the default number of chunks of a job in flight: enough to keep a stage busy while another works on the
// next chunk, few enough that a huge job neither fills the queues nor keeps more than 64 rasters.
const Window = 4

// ChunkPages is the number of pages of a chunk.
const ChunkPages = 16

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "scan.workers", c.Workers, "documents examined at once")
	fs.StringVar(&c.Clamd, "scan.clamd", c.Clamd,
		"address of a ClamAV daemon, host:port or unix:///path; empty for no malware scan")
	fs.StringVar(&c.Clamd, "clamd", c.Clamd, "same as scan.clamd")
	fs.Var(&c.Policy, "scan.policy", "what findings lead to, e.g. javascript=reject,uri_action=allow")
	fs.DurationVar(&c.DrainTimeout, "scan.drain-timeout", c.DrainTimeout, "how long documents in hand may go on at a stop")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("scan.workers: %d, want at least 1", c.Workers))
	}
	if c.Window < 1 {
		errs = append(errs, fmt.Errorf("window: %d, want at least 1", c.Window))
	}
	return errors.Join(errs...)
}

// Service is the scan stage.
type Service struct {
	cfg    Config
	deps   stage.Deps
	engine *pdf.Engine
	clamd  *clamd.Client // nil without a malware scan
}

// New returns a Service that is not yet running. The engine stays the caller's.
func New(cfg Config, deps stage.Deps, engine *pdf.Engine) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("stage", string(bus.Scan))
	s := &Service{cfg: cfg, deps: deps, engine: engine}
	if cfg.Clamd != "" {
		client, err := clamd.New(cfg.Clamd)
		if err != nil {
			return nil, fmt.Errorf("scan.clamd: %w", err)
		}
		s.clamd = client
	}
	return s, nil
}

// Units returns what a process consists of that runs the service. The engine stays the caller's.
func Units(rt *service.Runtime, cfg Config, engine *pdf.Engine) ([]lifecycle.Unit, error) {
	s, err := New(cfg, rt.Deps, engine)
	if err != nil {
		return nil, err
	}
	if cfg.Clamd != "" {
		rt.Status.AddCheck("clamd", s.Check)
	}
	return []lifecycle.Unit{{Name: "scan", Run: s.Run}}, nil
}

// scanDeadline bounds the work on one document: sending 500 MB to clamd and walking every object.
const scanDeadline = 10 * time.Minute

// Run examines documents until ctx is done, then finishes those in hand. It calls ready once it accepts work. A nil
// error means a clean stop.
func (s *Service) Run(ctx context.Context, ready func()) error {
	cfg := bus.ConsumerConfig{Workers: s.cfg.Workers, Deadline: scanDeadline, DrainTimeout: s.cfg.DrainTimeout}
	return stage.Run(ctx, s.deps, bus.Scan, cfg, &steps{s}, ready)
}

// Check reports whether clamd answers; it is a readiness check where a malware scan is configured.
func (s *Service) Check(ctx context.Context) error {
	if s.clamd == nil {
		return nil
	}
	return s.clamd.Ping(ctx)
}
