package ocr

import (
	"context"
	"fmt"
	"log/slog"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/internal/tesseract"
	"inkstream.dev/services/ocr/internal/vision"
)

// This file makes the engine that pages are recognised with; what else knows its name, ARCHITECTURE.md says ("How to add").
// Another one takes its place here, with a Config that has Workers, Languages and Observe, Register and Validate, and a constructor.

const (
	// EngineName is the engine's name in the metrics.
	EngineName = job.EngineTesseract
	// EngineTitle is its name for people.
	EngineTitle = "Tesseract"
	// EngineRemedy says what to do where the engine does not work.
	EngineRemedy = "install Tesseract 5 and a model (Debian: apt-get install tesseract-ocr-eng tesseract-ocr-osd), or point --tesseract.data at the folder of the models"
)

// ProcessEngine is an Engine that runs in child processes. Close it when no more pages come.
type ProcessEngine = tesseract.Engine

// EngineConfig says how many children there are and what they may use.
type EngineConfig = tesseract.Config

// VisionConfig says which vision models are asked.
type VisionConfig = vision.Config

// DefaultVisionConfig returns a configuration that asks none.
func DefaultVisionConfig() VisionConfig { return vision.DefaultConfig() }

// DefaultEngineConfig returns the configuration of a production service.
func DefaultEngineConfig() EngineConfig { return tesseract.DefaultConfig() }

// NewEngine returns an engine that has not yet started a child. It fails if no language is installed.
func NewEngine(cfg EngineConfig, log *slog.Logger) (*ProcessEngine, error) {
	return tesseract.New(cfg, log)
}

// Programs returns what a process that runs this service must list in sandbox.Main.
func Programs() []sandbox.Program {
	return []sandbox.Program{tesseract.Program()}
}

// Comparison is what holding a text against a page tells.
type Comparison = vision.Comparison

// Comparer holds texts against a page.
type Comparer = vision.Comparer

// NewComparer returns a Comparer that holds texts against what an engine read on a page and against its ink, as the engine
// of vision models holds what they write.
func NewComparer(ctx context.Context, engine Engine, img Image, page *inkstreamv1.Page, opts RecogniseOptions) (*Comparer, error) {
	return vision.NewComparer(ctx, engine, img, page, opts)
}

// OpenEngine returns an engine for a service of that configuration, whose children the metrics count, and which is
// closed when the service has stopped.
func OpenEngine(rt *service.Runtime, cfg EngineConfig, of Config) (Engine, error) {
	cfg.Languages = of.Languages
	if cfg.Workers == 0 {
		cfg.Workers = of.Workers
	}
	if err := service.RequireWalls(rt); err != nil {
		return nil, fmt.Errorf("ocr engine: %w", err)
	}
	cfg.RequireWalls, cfg.ObserveWalls = !rt.BestEffort, service.ObserveWalls(rt, EngineName)
	cfg.Observe = service.ObserveChildren(rt.Deps.Tel, EngineName)
	engine, err := NewEngine(cfg, rt.Deps.Log)
	if err != nil {
		return nil, fmt.Errorf("ocr engine: %w", err)
	}
	rt.Close("ocr engine", engine.Close)
	if of.Engine == "" || of.Engine == EngineName {
		return engine, nil
	}
	of.Vision.Observe = rt.Deps.Tel.Metrics.CountVisionTokens
	models, err := vision.New(of.Vision, engine, of.Engine == job.EngineVision, rt.Deps.Log)
	if err != nil {
		return nil, fmt.Errorf("vision models: %w", err)
	}
	rt.Status.AddCheck("vision", models.CheckReady)
	rt.Status.AddOptionalCheck("vision endpoints", models.CheckEndpoints)
	return models, nil
}
