// Package telemetry sets up what a process says about itself: logs (log/slog), traces and metrics (OpenTelemetry).
//
// Setup is called once by main. Services get the Telemetry passed in; several services in one process share it, and
// tell themselves apart by the stage attribute. Nothing here is global, and nothing starts a goroutine or dials
// unless traces and metrics are exported, which OTEL_EXPORTER_OTLP_ENDPOINT turns on.
//
// Spans, metrics and logs carry ids, stages, counts and durations, never text or names from a document, and no
// secrets. W3C baggage is not propagated, because it would carry whatever a client sends through every queue.
package telemetry
