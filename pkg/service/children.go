package service

import (
	"context"
	"flag"
	"fmt"

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

// The values of the flag sandbox.
const (
	// SandboxRequired refuses to start engines that the kernel does not wall in.
	SandboxRequired = "required"
	// SandboxBestEffort starts them with the walls that there are.
	SandboxBestEffort = "best-effort"
)

// RegisterSandbox adds the flag sandbox.
func RegisterSandbox(fs *flag.FlagSet, value *string) {
	fs.StringVar(value, "sandbox", *value,
		"required: engines run only where the kernel walls them in (Landlock, seccomp); best-effort: with the walls there are")
}

// CheckSandbox returns what is wrong with a value of the flag sandbox.
func CheckSandbox(value string) error {
	if value != SandboxRequired && value != SandboxBestEffort {
		return fmt.Errorf("sandbox: %q, want %s or %s", value, SandboxRequired, SandboxBestEffort)
	}
	return nil
}

// RequireWalls refuses to go on where the runtime wants walls around engines and the kernel does not give them.
func RequireWalls(rt *Runtime) error {
	if rt.BestEffort {
		return nil
	}
	return sandbox.CheckWalls()
}

// ObserveWalls returns what says at /readyz, in the metrics and where the process tells of itself which walls the
// children of an engine have found around themselves. It is meant for the ObserveWalls field of an engine's configuration.
func ObserveWalls(rt *Runtime, engine string) func(sandbox.IsolationReport) {
	return func(walls sandbox.IsolationReport) {
		rt.Status.SetReportInfo(WallsInfo+engine, walls.String())
		rt.Deps.Bus.SetProcessWalls(engine, walls.String())
		recordWalls(context.Background(), rt.Deps.Tel, engine, walls)
	}
}

// WallsInfo begins the names of what /readyz tells of the walls around engines; the engine's name follows.
const WallsInfo = "walls/"

func recordWalls(ctx context.Context, tel *telemetry.Telemetry, engine string, walls sandbox.IsolationReport) {
	tel.Metrics.SandboxWall(ctx, engine, "landlock", walls.Landlock > 0)
	tel.Metrics.SandboxWall(ctx, engine, "seccomp", walls.Seccomp)
}

// ReportWalls says in the metrics, and where some are missing in the log, which walls this kernel gives to shut an
// engine's children in. A main that has children calls it once, at its start.
func ReportWalls(ctx context.Context, tel *telemetry.Telemetry) {
	walls := sandbox.Isolation()
	recordWalls(ctx, tel, "kernel", walls)
	if missing := walls.Warning(); missing != "" {
		tel.Log.WarnContext(ctx, "this kernel cannot shut engines in fully", "missing", missing)
	}
}
