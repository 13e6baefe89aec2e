package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/reqctx"
)

// checkCallRequests lets a call through whose address, and body where it has one, say nothing that would go
// unnoticed, as grpc-gateway takes it.
func (s *Shell) checkCallRequests(calls map[string]*restCall) runtime.Middleware {
	return func(next runtime.HandlerFunc) runtime.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request, parts map[string]string) {
			pattern, _ := runtime.HTTPPattern(r.Context())
			c, ok := calls[r.Method+" "+strings.ReplaceAll(pattern.String(), "=*}", "}")]
			if !ok {
				s.errors.WriteError(w, r, r.Method, fmt.Errorf("there is no call for %s %s", r.Method, pattern))
				return
			}
			meant, err := c.translateRequest(w, r, parts)
			if err != nil {
				s.errors.WriteError(w, r, r.Method, err)
				return
			}
			next(w, meant, parts)
		}
	}
}

// NewCallMux returns the REST side of the unary calls; they go to the gRPC server through conn.
func (s *Shell) NewCallMux(ctx context.Context, conn *grpc.ClientConn) (http.Handler, error) {
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
			s.tel.Propagator.Inject(ctx, trail)
			md := metadata.New(trail)
			md.Set(reqctx.MetadataKey, reqctx.RequestIDFrom(ctx))
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
		w = &heldResponse{ResponseWriter: w, request: r, shell: s}
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
	st := apierror.StatusOf(err)
	if len(st.Details()) == 0 && st.Code() == codes.InvalidArgument {
		// It comes from grpc-gateway, and tells of Go. What checked lets through should lead to none.
		st = apierror.StatusOf(fault.New(fault.InvalidArgument, "the address or the body is not valid"))
	}
	apierror.WriteStatus(w, r, st)
}

// writeRoutingError answers what grpc-gateway has no call for.
func writeRoutingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter,
	r *http.Request, code int) {
	f := fault.New(apierror.NotFound, "there is nothing at this address")
	switch code {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", allowedMethods(r.URL.Path))
		f = fault.New(apierror.MethodNotAllowed, "this address does not take %s", r.Method)
	case http.StatusBadRequest:
		f = fault.New(fault.InvalidArgument, "the address is not valid")
	}
	apierror.WriteStatus(w, r, apierror.StatusOf(f))
}

// postVerbs end the addresses of calls that change something.
var postVerbs = []string{"cancel", "retry", "delete", "drop", "rotate", "redeliver"}

// allowedMethods returns the methods of an address that grpc-gateway serves.
func allowedMethods(path string) string {
	_, verb, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case slices.Contains(postVerbs, verb):
		return http.MethodPost
	case len(parts) == 3 && (parts[1] == "jobs" || parts[1] == "deadletters"):
		return "GET, HEAD, DELETE"
	default:
		return "GET, HEAD"
	}
}
