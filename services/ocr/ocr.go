// Package ocr is the fourth stage: it recognises the words on rastered pages, in warm engine children.
package ocr

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
)

// Config says how pages are recognised.
type Config struct {
	// Workers is how many pages are recognised at once; each needs an engine child and a core.
	Workers int
	// Engine is tesseract, or auto or vision where jobs may choose a vision model. With vision the service is not ready
	// while no model can be asked.
	Engine string
	// Vision says which models there are.
	Vision VisionConfig
	// Languages are the Tesseract language codes for jobs that name none.
	Languages string
	// PageTimeout bounds the recognition of one page.
	PageTimeout time.Duration
	// FirstTry bounds it in a first try: what takes longer is broken off, to be done behind others.
	FirstTry time.Duration
	// DrainTimeout is how long pages in hand may go on when the service stops.
	DrainTimeout time.Duration
}

// DefaultConfig returns one worker a core.
func DefaultConfig() Config {
	return Config{Workers: runtime.NumCPU(), Languages: "eng", Engine: EngineName, Vision: DefaultVisionConfig(), PageTimeout: 2 * time.Minute,
		FirstTry: 20 * time.Second, DrainTimeout: 20 * time.Second}
}

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "ocr.workers", c.Workers, "pages recognised at once")
	fs.StringVar(&c.Engine, "ocr.engine", c.Engine,
		"`engine` that jobs may choose: tesseract alone, or auto or vision for vision models too; vision also waits for them")
	c.Vision.Register(fs)
	fs.StringVar(&c.Languages, "ocr.languages", c.Languages, "languages that pages of jobs which name none are read in first, e.g. eng+deu")
	fs.DurationVar(&c.PageTimeout, "ocr.page-timeout", c.PageTimeout, "how long the recognition of a page may take")
	fs.DurationVar(&c.FirstTry, "ocr.first-try", c.FirstTry,
		"how long the recognition of a page may take before it is done behind what others wait for")
	fs.DurationVar(&c.DrainTimeout, "ocr.drain-timeout", c.DrainTimeout, "how long pages in hand may go on at a stop")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("ocr.workers: %d, want at least 1", c.Workers))
	}
	switch c.Engine {
	case "", EngineName:
	case job.EngineAuto, job.EngineVision:
		errs = append(errs, c.Vision.Validate())
	default:
		errs = append(errs, fmt.Errorf("ocr.engine: %q, want one of %s", c.Engine, strings.Join(job.AllEngines(), ", ")))
	}
	if c.Languages == "" {
		errs = append(errs, errors.New("ocr.languages: empty, want at least one language"))
	}
	if c.PageTimeout < time.Second {
		errs = append(errs, fmt.Errorf("ocr.page-timeout: %s, want at least 1s", c.PageTimeout))
	}
	if c.FirstTry <= 0 {
		errs = append(errs, fmt.Errorf("ocr.first-try: %s, want more than 0", c.FirstTry))
	}
	return errors.Join(errs...)
}

// Service is the ocr stage.
type Service struct {
	cfg    Config
	deps   stage.Deps
	engine Engine
}

// New returns a Service that is not yet running. The engine stays the caller's.
func New(cfg Config, deps stage.Deps, engine Engine) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("stage", string(bus.OCR))
	return &Service{cfg: cfg, deps: deps, engine: engine}, nil
}

// Units returns what a process consists of that runs the service. The engine stays the caller's.
func Units(rt *service.Runtime, cfg Config, engine Engine) ([]lifecycle.Unit, error) {
	s, err := New(cfg, rt.Deps, engine)
	if err != nil {
		return nil, err
	}
	units := []lifecycle.Unit{{Name: "ocr", Run: s.Run}}
	if models, runs := engine.(interface {
		Run(ctx context.Context, ready func()) error
	}); runs { // before the service, so that no page goes to an endpoint that was not tried
		units = slices.Insert(units, 0, lifecycle.Unit{Name: "vision endpoints", Run: models.Run})
	}
	return units, nil
}

// Run recognises pages until ctx is done, then finishes those in hand. It calls ready once it accepts work. A nil
// error means a clean stop.
func (s *Service) Run(ctx context.Context, ready func()) error {
	cfg := bus.ConsumerConfig{
		Workers: s.cfg.Workers, Deadline: fault.MaxCrashTries*sandbox.MaxTimeoutScale*s.cfg.PageTimeout + time.Minute,
		DrainTimeout: s.cfg.DrainTimeout,
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	telling, stop := context.WithCancel(ctx)
	defer stop()
	told := make(chan struct{})
	wg.Go(func() { s.announceLanguages(telling, sync.OnceFunc(func() { close(told) })) })
	<-told // before the service counts as ready, so that a service that starts after it knows
	return stage.Run(ctx, s.deps, bus.OCR, cfg, &steps{s}, ready)
}
