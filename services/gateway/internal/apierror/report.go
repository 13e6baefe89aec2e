package apierror

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"

	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/reqctx"
)

// Reporter answers errors, and logs those that the server is to blame for.
type Reporter struct{ log *slog.Logger }

// NewReporter returns a Reporter that logs to log.
func NewReporter(log *slog.Logger) *Reporter { return &Reporter{log: log} }

// ReportError returns the status of err and logs it, once, where the server is to blame. An error that is a status
// already was logged where it became one.
func (r *Reporter) ReportError(ctx context.Context, operation string, err error) *status.Status {
	st := StatusOf(err)
	if _, done := err.(interface{ GRPCStatus() *status.Status }); done || !isServerFault(st) || ctx.Err() != nil ||
		ReasonOf(st) == ShuttingDown {
		return st
	}
	r.log.ErrorContext(ctx, "request failed", "request", reqctx.RequestIDFrom(ctx), "operation", operation, "code",
		ReasonOf(st), "error", err)
	return st
}

// LogWarning logs an error of which the client is told in another way.
func (r *Reporter) LogWarning(ctx context.Context, operation string, err error) {
	r.log.WarnContext(ctx, "request failed", "request", reqctx.RequestIDFrom(ctx), "operation", operation, "error", err)
}

// WriteError answers a REST request with err.
func (r *Reporter) WriteError(w http.ResponseWriter, req *http.Request, operation string, err error) {
	WriteStatus(w, req, r.ReportError(req.Context(), operation, err))
}

// ReportPanic logs a panic with its stack and returns what the client gets to see of it: a status, so that it is not
// logged again.
func (r *Reporter) ReportPanic(ctx context.Context, v any) error {
	r.log.ErrorContext(ctx, "handler panicked", "request", reqctx.RequestIDFrom(ctx), "panic", v, "stack",
		string(debug.Stack()))
	return StatusOf(fault.New(fault.Internal, "panic")).Err()
}
