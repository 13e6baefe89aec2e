package service

import (
	"context"

	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/telemetry"
)

// PDFium is the PDF engine's name in the metrics.
const PDFium = "pdfium"

// ObserveChildren returns what counts the children of an engine that were replaced, by why they died or as recycled.
// It is meant for the Observe field of an engine's configuration.
func ObserveChildren(tel *telemetry.Telemetry, engine string) func(sandbox.Event, sandbox.ExitReason) {
	return func(event sandbox.Event, reason sandbox.ExitReason) {
		// No request's context is known here, and none is needed to count.
		switch event {
		case sandbox.Died:
			tel.Metrics.CountChildRestart(context.Background(), engine, string(reason))
		case sandbox.Recycled:
			tel.Metrics.CountChildRestart(context.Background(), engine, string(sandbox.Recycled))
		}
	}
}

// ReportWalls says in the metrics, and where some are missing in the log, which walls this kernel gives to shut an
// engine's children in. A main that has children calls it once, at its start.
func ReportWalls(ctx context.Context, tel *telemetry.Telemetry) {
	walls := sandbox.Isolation()
	tel.Metrics.SandboxWall(ctx, "landlock", walls.Landlock > 0)
	tel.Metrics.SandboxWall(ctx, "seccomp", walls.Seccomp)
	if missing := walls.Warning(); missing != "" {
		tel.Log.WarnContext(ctx, "this kernel cannot shut engines in fully", "missing", missing)
	}
}
