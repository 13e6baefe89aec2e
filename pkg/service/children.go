package service

import (
	"context"
	"log/slog"

	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/telemetry"
)

// The engines as the metrics of their children name them.
const (
	PDFium    = "pdfium"
	Tesseract = "tesseract"
)

// ObserveChildren returns what counts the children of an engine that were replaced, by why they died or as recycled. It is meant for the
// Observe field of an engine's configuration.
func ObserveChildren(tel *telemetry.Telemetry, engine string) func(sandbox.Event, sandbox.Reason) {
	return func(event sandbox.Event, reason sandbox.Reason) {
		// No request's context is known here, and none is needed to count.
		switch event {
		case sandbox.Died:
			tel.Metrics.ChildRestart(context.Background(), engine, string(reason))
		case sandbox.Recycled:
			tel.Metrics.ChildRestart(context.Background(), engine, string(sandbox.Recycled))
		}
	}
}

// WarnOfWalls logs what this kernel lacks to shut an engine's children in. A main that has children calls it once, at its start.
func WarnOfWalls(ctx context.Context, log *slog.Logger) {
	if missing := sandbox.Walls().Warning(); missing != "" {
		log.WarnContext(ctx, "this kernel cannot shut engines in fully", "missing", missing)
	}
}
