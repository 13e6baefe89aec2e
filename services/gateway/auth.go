package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

// Codes of requests that are refused for who sends them.
const (
	unauthenticated  fault.Code = "UNAUTHENTICATED"
	permissionDenied fault.Code = "PERMISSION_DENIED"
	rateLimited      fault.Code = "RATE_LIMITED"
	quotaExceeded    fault.Code = "QUOTA_EXCEEDED"
)

const (
	authorizationKey = "authorization"
	bearer           = "Bearer "
	// inProcessNetwork is the network of the in-process connection, by which the REST side calls; it has counted the
	// request already.
	inProcessNetwork = "bufconn"
)

// isPublicPath reports whether a path is served without credentials: probes, and what the API looks like.
func isPublicPath(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/openapi.json", "/docs", "/health":
		return true
	}
	return strings.HasPrefix(path, "/docs/")
}

// scopeOfRequest returns what a REST request needs.
func scopeOfRequest(r *http.Request) access.Scope {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/keys"), strings.HasPrefix(r.URL.Path, "/v1/webhooks"):
		return access.Admin
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
		return access.Read
	default:
		return access.Write
	}
}

// scopeOfCall returns what a gRPC method needs. A method that is new here needs the most.
func scopeOfCall(method string) access.Scope {
	name := method[strings.LastIndexByte(method, '/')+1:]
	switch {
	case strings.HasPrefix(method, "/grpc.reflection."):
		return access.Read
	case strings.Contains(name, "Key"), strings.Contains(name, "Webhook"):
		return access.Admin
	case hasAnyPrefix(name, "Get", "List", "Watch", "Download", "Search"):
		return access.Read
	case hasAnyPrefix(name, "Upload", "Create", "Cancel", "Retry", "Delete", "Drop"):
		return access.Write
	default:
		return access.Admin
	}
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// authorizeCaller finds out who a request comes from and whether that may do it.
func (s *Service) authorizeCaller(ctx context.Context, authorization string,
	need access.Scope) (*access.Identity, error) {
	if s.auth == nil {
		return access.OpenIdentity(), nil
	}
	credentials := ""
	if len(authorization) > len(bearer) && strings.EqualFold(authorization[:len(bearer)], bearer) {
		credentials = strings.TrimSpace(authorization[len(bearer):])
	}
	id, err := s.auth.Authenticate(ctx, credentials)
	if errors.Is(err, access.ErrInvalidCredentials) {
		return nil, fault.New(unauthenticated, "want a valid API key or token as Authorization: Bearer …")
	}
	if err != nil {
		return nil, err
	}
	if !id.HasScope(need) {
		return nil, fault.New(permissionDenied, "the API key or token lacks the scope %s", need)
	}
	return id, nil
}

// crossOrigin knows requests that change something and come from a web page of another origin. Where no credentials
// are asked for, as on the loopback addresses, any page open in a browser on the same machine could otherwise upload,
// cancel and delete.
var crossOrigin http.CrossOriginProtection

// isRebindingSafe reports whether a request for that host is meant for a server on this machine. A page of any origin
// may have its own name resolve to a loopback address; then its requests are of the same origin as the server for all
// that browsers and crossOrigin know, but for the name.
func isRebindingSafe(host string) bool {
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name) != nil
}

// admitRequest lets a REST request in: it finds out who sends it, and counts it against the caller's rate.
func (s *Service) admitRequest(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if isPublicPath(r.URL.Path) {
		return r, nil
	}
	if s.auth == nil && crossOrigin.Check(r) != nil {
		return nil, fault.New(permissionDenied, "a page of another origin sent the request")
	}
	if s.cfg.Access.Auth == "" && !isRebindingSafe(r.Host) {
		return nil, fault.New(permissionDenied,
			"the server is localhost, and not called as %q; behind a proxy that passes that on, start it with --auth=none or --auth=keys", clipText(r.Host))
	}
	id, err := s.authorizeCaller(r.Context(), r.Header.Get("Authorization"), scopeOfRequest(r))
	if err != nil {
		if fault.CodeOf(err) == unauthenticated {
			w.Header().Set("WWW-Authenticate", `Bearer realm="inkstream"`)
		}
		return nil, err
	}
	var v access.Decision
	if isUploadRequest(r) {
		v = s.limits.AllowUpload(id, time.Now())
	} else {
		v = s.limits.AllowRead(id, time.Now())
	}
	for name, value := range rateLimitHeaders(v) {
		w.Header().Set(name, value)
	}
	if !v.OK {
		return nil, newRetryError(rateLimited, v.RetryAfter, "the caller sends more requests than it may")
	}
	return r.WithContext(access.WithIdentity(r.Context(), id)), nil
}

// rateLimitHeaders returns what a caller with a rate is told of it, as headers of HTTP and, in lower case, of gRPC.
func rateLimitHeaders(v access.Decision) map[string]string {
	if v.Limit == 0 {
		return nil
	}
	return map[string]string{
		"RateLimit-Limit": strconv.Itoa(v.Limit), "RateLimit-Remaining": strconv.Itoa(v.Remaining),
		"RateLimit-Reset": strconv.Itoa(ceilSeconds(v.Reset)),
	}
}

// isUploadRequest reports whether a request brings a document, or has one fetched.
func isUploadRequest(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	switch r.URL.Path {
	case "/v1/jobs", "/v1/uploads", "/process_pdf":
		return true
	}
	return false
}

// admitRPCCall lets a gRPC call in. Calls of the REST side were counted there.
func (s *Service) admitRPCCall(ctx context.Context, method string) (context.Context, error) {
	if strings.HasPrefix(method, "/grpc.health.") {
		return ctx, nil
	}
	given := ""
	if v := metadata.ValueFromIncomingContext(ctx, authorizationKey); len(v) == 1 {
		given = v[0]
	}
	id, err := s.authorizeCaller(ctx, given, scopeOfCall(method))
	if err != nil {
		return ctx, err
	}
	if p, ok := peer.FromContext(ctx); !ok || p.Addr.Network() != inProcessNetwork {
		ask := s.limits.AllowRead
		if strings.HasSuffix(method, "/UploadDocument") || strings.HasSuffix(method, "/CreateJob") {
			ask = s.limits.AllowUpload
		}
		v := ask(id, time.Now())
		_ = grpc.SetHeader(ctx, metadata.New(rateLimitHeaders(v))) // a call that is over already needs no headers
		if !v.OK {
			return ctx, newRetryError(rateLimited, v.RetryAfter, "the caller sends more requests than it may")
		}
	}
	return access.WithIdentity(ctx, id), nil
}

// ceilSeconds rounds up, so that no client comes back too early.
func ceilSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// retryError is a refusal that says when another try makes sense.
type retryError struct {
	after time.Duration
	err   *fault.Error
}

func (e *retryError) Error() string { return e.err.Error() }

func (e *retryError) Unwrap() error { return e.err }

func newRetryError(c fault.Code, after time.Duration, message string) error {
	return &retryError{after: max(after, time.Second), err: fault.New(c, "%s", message)}
}

// OnLoopback reports whether an address to listen on can be reached from this machine alone.
func OnLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
