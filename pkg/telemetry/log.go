package telemetry

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// newHandler returns the log handler that cfg asks for.
func newHandler(cfg Config, w io.Writer) slog.Handler {
	opts := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == FormatJSON {
		return newTraceHandler(slog.NewJSONHandler(w, opts))
	}
	return newTraceHandler(slog.NewTextHandler(w, opts))
}

// traceHandler adds trace_id and span_id of the context's span to every record, outside any group.
type traceHandler struct {
	// next has every attribute and group.
	next slog.Handler
	// root has what came before the first group, and inGroups does the rest to it again: the ids must go in between.
	root     slog.Handler
	inGroups []func(slog.Handler) slog.Handler
}

func newTraceHandler(next slog.Handler) *traceHandler { return &traceHandler{next: next, root: next} }

// Enabled implements slog.Handler.
func (h *traceHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *traceHandler) Handle(ctx context.Context, r slog.Record) error {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return h.next.Handle(ctx, r)
	}
	ids := []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
	if len(h.inGroups) == 0 {
		r = r.Clone() // the caller's record must not change
		r.AddAttrs(ids...)
		return h.next.Handle(ctx, r)
	}
	next := h.root.WithAttrs(ids)
	for _, do := range h.inGroups {
		next = do(next)
	}
	return next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(h.inGroups) == 0 {
		return newTraceHandler(h.next.WithAttrs(attrs))
	}
	return h.withinGroup(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *traceHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.withinGroup(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *traceHandler) withinGroup(do func(slog.Handler) slog.Handler) slog.Handler {
	return &traceHandler{next: do(h.next), root: h.root, inGroups: append(slices.Clip(h.inGroups), do)}
}
