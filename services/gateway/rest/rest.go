// Package rest is the shell of the REST side: what every request passes, how calls go to the gRPC server, what answers
// look like. The packages of the gateway register their own addresses.
package rest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/inbound"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/limits"
)

const (
	// readHeaderTimeout and idleTimeout bound what a connection may do without a request. There is no timeout for whole
	// requests, because uploads and watches may last; the stall guards bound those.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Config says how the REST server answers.
type Config struct {
	// StallTimeout ends a response of which no byte is taken for that long.
	StallTimeout time.Duration
	// TLS says that the server has a certificate.
	TLS bool
	// Limits share the work on answers among tenants.
	Limits *limits.Service
	// Prepare changes a request of a protocol over HTTP before all else looks at it, and heads its answer; it may be nil.
	Prepare func(h http.Header, r *http.Request)
	// Listener is told when the head of a request is complete.
	Listener *inbound.Listener
}

// Shell is what every REST request passes.
type Shell struct {
	cfg     Config
	gate    *gate.Gate
	errors  *apierror.Reporter
	tel     *telemetry.Telemetry
	log     *slog.Logger
	workers *sync.WaitGroup
}

// New returns a Shell whose handlers are counted among the workers.
func New(cfg Config, gate *gate.Gate, report *apierror.Reporter, tel *telemetry.Telemetry, log *slog.Logger,
	workers *sync.WaitGroup) *Shell {
	return &Shell{cfg: cfg, gate: gate, errors: report, tel: tel, log: log, workers: workers}
}

// NewServer returns a server of what next answers. Its requests have the base context.
func (s *Shell) NewServer(base context.Context, next http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.wrapRequest(s.withCompression(next)),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
	}
}

// ServeNotFound answers that there is nothing at an address.
func (s *Shell) ServeNotFound(w http.ResponseWriter, r *http.Request) {
	s.errors.WriteError(w, r, "route", fault.New(apierror.NotFound, "there is nothing at this address"))
}

// HandleMethods serves a path by method. HEAD is a GET whose body net/http drops.
func (s *Shell) HandleMethods(mux *http.ServeMux, pattern string, methods map[string]http.HandlerFunc) {
	var allowed []string
	for m := range methods {
		allowed = append(allowed, m)
		if m == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		m := r.Method
		if m == http.MethodHead {
			m = http.MethodGet
		}
		h, ok := methods[m]
		if !ok {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.errors.WriteError(w, r, "route", fault.New(apierror.MethodNotAllowed, "this address does not take %s", r.Method))
			return
		}
		h(w, r)
	})
}

// ServeHealth answers that the server is alive.
func ServeHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A probe that hung up has no use for the answer.
	_, _ = io.WriteString(w, "ok\n")
}

// wrapRequest is what every REST request passes: it sets the request id and the span, catches panics, and bounds how
// long a write may take.
func (s *Shell) wrapRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(inner http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		defer s.cfg.Listener.Find(r.RemoteAddr).BeginRequest()()
		ctx := reqctx.WithRequestID(r.Context(), r.Header.Get(reqctx.Header))
		ctx = reqctx.WithClientIP(ctx, r.RemoteAddr)
		ctx = s.tel.Propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
		ctx, span := s.tel.Tracer.Start(ctx, "HTTP "+r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		ctx, hold := limits.WithHold(ctx)
		defer hold.Release()
		r = r.WithContext(ctx)
		if s.cfg.Prepare != nil {
			s.cfg.Prepare(inner.Header(), r)
		}
		w := &deadlineResponse{ResponseWriter: inner, control: http.NewResponseController(inner), timeout: s.cfg.StallTimeout}
		w.extendDeadline()
		if r.ContentLength != 0 {
			// The server reads what a handler leaves of a body; the deadline bounds that wait. Uploads move the deadline.
			_ = w.control.SetReadDeadline(time.Now().Add(s.cfg.StallTimeout))
		}
		inner.Header().Set(reqctx.Header, reqctx.RequestIDFrom(ctx))
		s.setSecurityHeaders(inner.Header(), r.URL.Path)
		start := time.Now()
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
					panic(v) // net/http's own way to cut a response
				}
				err := s.errors.ReportPanic(ctx, v)
				if w.status != 0 {
					panic(http.ErrAbortHandler) // part of an answer is out; the client must see that it is broken
				}
				s.errors.WriteError(w, r, "panic", err)
			}
			span.SetName("HTTP " + r.Method + " " + r.Pattern)
			span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", r.Pattern),
				attribute.Int("http.response.status_code", w.status))
			s.log.DebugContext(ctx, "request", "request", reqctx.RequestIDFrom(ctx), "method", r.Method, "route", r.Pattern,
				"status", w.status,
				"took", time.Since(start))
		}()
		admitted, err := s.gate.AdmitRequest(w, r)
		if err != nil {
			s.errors.WriteError(w, r, "admit", err)
			return
		}
		r = admitted
		next.ServeHTTP(w, r)
	})
}

// setSecurityHeaders sets the headers that tell browsers what not to do with answers.
func (s *Shell) setSecurityHeaders(h http.Header, path string) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	policy := "default-src 'none'; frame-ancestors 'none'"
	if strings.HasPrefix(path, "/docs") { // a page, which starts itself by a script within
		policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	}
	h.Set("Content-Security-Policy", policy)
	if s.cfg.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
