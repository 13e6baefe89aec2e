package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// readHeaderTimeout and idleTimeout bound what a connection may do without a request. There is no timeout for whole
	// requests, because uploads and watches may last; the stall guards bound those.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// newHTTPServer returns the REST server. It calls the gRPC server through conn.
func (s *Service) newHTTPServer(base context.Context, conn *grpc.ClientConn) (*http.Server, error) {
	calls, err := s.newCallMux(base, conn)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	s.registerRoute(mux, "/v1/jobs", map[string]http.HandlerFunc{http.MethodGet: calls.ServeHTTP,
		http.MethodPost: func(w http.ResponseWriter, r *http.Request) {
			if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == jsonType {
				s.handleCreateJob(w, r)
				return
			}
			s.handleUpload(w, r)
		}})
	mux.Handle("/v1/jobs/{id}", s.serveJobStatus(calls))
	s.registerRoute(mux, "/v1/jobs/{id}/watch",
		map[string]http.HandlerFunc{http.MethodGet: s.allowParameters(s.handleWatch, lastEventParameter)})
	s.registerRoute(mux, "/v1/jobs/{id}/artifacts/{name...}",
		map[string]http.HandlerFunc{http.MethodGet: s.allowParameters(s.handleDownload)})
	s.registerRoute(mux, "/v1/jobs/{id}/artifacts.zip",
		map[string]http.HandlerFunc{http.MethodGet: s.allowParameters(s.handleArchive)})
	s.registerRoute(mux, "/v1/jobs/{id}/pages/{number}",
		map[string]http.HandlerFunc{http.MethodGet: withConditionalGet(calls).ServeHTTP})
	s.registerRoute(mux, "/v1/jobs/{id}/pages/{number}/image",
		map[string]http.HandlerFunc{http.MethodGet: s.limitImageAnswers(withConditionalGet(calls)).ServeHTTP})
	s.registerRoute(mux, "/healthz", map[string]http.HandlerFunc{http.MethodGet: healthz})
	s.registerRoute(mux, "/readyz", map[string]http.HandlerFunc{http.MethodGet: s.status.ServeHTTP})
	s.registerRoute(mux, "/metrics", map[string]http.HandlerFunc{http.MethodGet: s.deps.Tel.MetricsHandler().ServeHTTP})
	s.registerTus(mux)
	s.registerCompat(mux)
	if err := s.registerDocs(mux); err != nil {
		return nil, err
	}
	mux.Handle("/v1/", calls)
	mux.Handle("/v1/jobs/{id}/artifacts", calls) // else the address would be sent on to the one with a slash at its end
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeError(w, r, "route", fault.New(notFound, "there is nothing at this address"))
	})
	return &http.Server{
		Handler:           s.wrapRequest(withCompression(mux)),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
	}, nil
}

// registerRoute serves a path by method. HEAD is a GET whose body net/http drops.
func (s *Service) registerRoute(mux *http.ServeMux, pattern string, methods map[string]http.HandlerFunc) {
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
			s.writeError(w, r, "route", fault.New(methodNotAllowed, "this address does not take %s", r.Method))
			return
		}
		h(w, r)
	})
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A probe that hung up has no use for the answer.
	_, _ = io.WriteString(w, "ok\n")
}

// newCallMux returns the REST side of the unary calls.
func (s *Service) newCallMux(ctx context.Context, conn *grpc.ClientConn) (http.Handler, error) {
	calls, err := listRESTCalls()
	if err != nil {
		return nil, err
	}
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &marshaler{}),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithWriteContentLength(),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
		// Nothing of the headers goes through but Authorization, which grpc-gateway always passes on, and what is named here.
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithMetadata(func(ctx context.Context, _ *http.Request) metadata.MD {
			trail := propagation.MapCarrier{}
			s.deps.Tel.Propagator.Inject(ctx, trail)
			md := metadata.New(trail)
			md.Set(requestIDKey, requestIDFromContext(ctx))
			return md
		}),
		runtime.WithMiddlewares(s.checkCallRequests(calls)),
		runtime.WithErrorHandler(writeCallError),
		runtime.WithRoutingErrorHandler(writeRoutingError),
	)
	if err := inkstreamv1.RegisterInkstreamServiceHandler(ctx, mux, conn); err != nil {
		return nil, fmt.Errorf("register REST handlers: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			get := *r
			get.Method = http.MethodGet
			r = &get
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// writeCallError answers a call that failed. The interceptor has logged it.
func writeCallError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter,
	r *http.Request, err error) {
	st := statusFromError(err)
	if len(st.Details()) == 0 && st.Code() == codes.InvalidArgument {
		// It comes from grpc-gateway, and tells of Go. What checked lets through should lead to none.
		st = statusFromError(fault.New(fault.InvalidArgument, "the address or the body is not valid"))
	}
	writeStatus(w, r, st)
}

// writeRoutingError answers what grpc-gateway has no call for.
func writeRoutingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter,
	r *http.Request, code int) {
	f := fault.New(notFound, "there is nothing at this address")
	switch code {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", allowedMethods(r.URL.Path))
		f = fault.New(methodNotAllowed, "this address does not take %s", r.Method)
	case http.StatusBadRequest:
		f = fault.New(fault.InvalidArgument, "the address is not valid")
	}
	writeStatus(w, r, statusFromError(f))
}

// allowedMethods returns the methods of an address that grpc-gateway serves.
func allowedMethods(path string) string {
	verb := strings.HasSuffix(path, ":cancel") || strings.HasSuffix(path, ":retry")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case verb:
		return http.MethodPost
	case len(parts) == 3 && (parts[1] == "jobs" || parts[1] == "deadletters"):
		return "GET, HEAD, DELETE"
	default:
		return "GET, HEAD"
	}
}

// wrapRequest is what every REST request passes: it sets the request id and the span, catches panics, and bounds how
// long a write may take.
func (s *Service) wrapRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(inner http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		ctx := withRequestID(r.Context(), r.Header.Get(requestIDHeader))
		ctx = withClientIP(ctx, r.RemoteAddr)
		ctx = s.deps.Tel.Propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
		ctx, span := s.deps.Tel.Tracer.Start(ctx, "HTTP "+r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		overrideMethod(r)
		w := &deadlineResponse{ResponseWriter: inner, control: http.NewResponseController(inner), timeout: s.cfg.StallTimeout}
		w.extendDeadline()
		if r.ContentLength != 0 {
			// The server reads what a handler leaves of a body; the deadline bounds that wait. Uploads move the deadline.
			_ = w.control.SetReadDeadline(time.Now().Add(s.cfg.StallTimeout))
		}
		inner.Header().Set(requestIDHeader, requestIDFromContext(ctx))
		s.setSecurityHeaders(inner.Header(), r.URL.Path)
		if isTusPath(r.URL.Path) {
			inner.Header().Set(tusResumableHeader, tusVersion) // refusals have it too
		}
		start := time.Now()
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
					panic(v) // net/http's own way to cut a response
				}
				err := s.reportPanic(ctx, v)
				if w.status != 0 {
					panic(http.ErrAbortHandler) // part of an answer is out; the client must see that it is broken
				}
				s.writeError(w, r, "panic", err)
			}
			span.SetName("HTTP " + r.Method + " " + r.Pattern)
			span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", r.Pattern),
				attribute.Int("http.response.status_code", w.status))
			s.log.DebugContext(ctx, "request", "request", requestIDFromContext(ctx), "method", r.Method, "route", r.Pattern,
				"status", w.status,
				"took", time.Since(start))
		}()
		admitted, err := s.admitRequest(w, r)
		if err != nil {
			s.writeError(w, r, "admit", err)
			return
		}
		r = admitted
		next.ServeHTTP(w, r)
	})
}

// setSecurityHeaders sets the headers that tell browsers what not to do with answers.
func (s *Service) setSecurityHeaders(h http.Header, path string) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	policy := "default-src 'none'; frame-ancestors 'none'"
	if strings.HasPrefix(path, "/docs") { // a page, which starts itself by a script within
		policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
			"object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	}
	h.Set("Content-Security-Policy", policy)
	if s.cfg.Access.TLSCert != "" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// deadlineResponse notes the status and makes every write end within the stall timeout: on a connection without a
// deadline, a write could block without end.
type deadlineResponse struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	status  int
}

// extendDeadline moves the deadline of writes. A connection that has none, as in some tests, goes without.
func (w *deadlineResponse) extendDeadline() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout))
}

// WriteHeader notes the status and passes it on.
func (w *deadlineResponse) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.extendDeadline()
	w.ResponseWriter.WriteHeader(status)
}

// Write moves the deadline and passes the bytes on.
func (w *deadlineResponse) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extendDeadline()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what is buffered; http.ResponseController calls it.
func (w *deadlineResponse) FlushError() error {
	w.extendDeadline()
	return w.control.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *deadlineResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// jsonOptions write fields that are zero, so that pagesDone: 0 shows; messages that are absent stay away.
var jsonOptions = protojson.MarshalOptions{EmitDefaultValues: true}

// encodeJSON returns m as JSON on one line.
func encodeJSON(m proto.Message) ([]byte, error) {
	data, err := jsonOptions.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	var b bytes.Buffer
	b.Grow(len(data))
	// protojson puts blanks in at random, so that no program relies on its bytes.
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("compact JSON: %w", err)
	}
	return b.Bytes(), nil
}

// encodeIndented returns m as JSON as people read it. What protojson puts in at random goes with the layout.
func encodeIndented(m proto.Message) ([]byte, error) {
	data, err := jsonOptions.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return indentJSON(data), nil
}

// indentJSON returns JSON as people read it, with a line feed at its end.
func indentJSON(data []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return data // no JSON: it is as readable as it gets
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// marshaler is how grpc-gateway writes answers: jobs and lists indented; pages on one line, because their boxes would
// fill screens.
type marshaler struct{ runtime.JSONPb }

// Marshal returns v as JSON.
func (*marshaler) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return json.Marshal(v)
	}
	if body, ok := m.(*httpbody.HttpBody); ok {
		return body.GetData(), nil
	}
	if _, isPage := m.(*inkstreamv1.Page); !isPage {
		return encodeIndented(m)
	}
	data, err := encodeJSON(m)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// ContentType returns the type of an answer: JSON, but for what is a file.
func (*marshaler) ContentType(v any) string {
	if body, ok := v.(*httpbody.HttpBody); ok {
		return body.GetContentType()
	}
	return jsonType
}
