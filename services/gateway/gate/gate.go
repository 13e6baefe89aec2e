// Package gate lets requests in, over REST and gRPC alike: it finds out who sends them and whether that may do it, and
// counts them against the caller's rate.
package gate

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
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/ui"
)

const (
	authorizationKey = "authorization"
	bearer           = "Bearer "
	// inProcessNetwork is the network of the in-process connection, by which the REST side calls; it has counted the
	// request already.
	inProcessNetwork = "bufconn"
)

// isPublicPath reports whether a path is served without credentials: probes, what the API looks like, and the web
// pages, which hold no data and ask for credentials themselves.
func isPublicPath(path string) bool {
	switch path {
	case "/", "/healthz", "/readyz", "/openapi.json", "/docs", "/ui", "/health", SessionPath, SignInPath, CallbackPath:
		return true
	}
	return strings.HasPrefix(path, "/docs/") || strings.HasPrefix(path, ui.Path)
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
	case hasAnyPrefix(name, "Get", "List", "Count", "Watch", "Download", "Search"):
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

// Gate lets requests in.
type Gate struct {
	auth      *access.Authenticator // nil where requests need no credentials
	localOnly bool                  // the server is meant for this machine alone
	readOnly  bool
	rates     *limits.Rates
}

// New returns a Gate. The Authenticator is nil where requests need no credentials; localOnly refuses names by which
// pages of other origins may reach a server on this machine; readOnly refuses all that changes anything.
func New(auth *access.Authenticator, localOnly, readOnly bool, rates *limits.Rates) *Gate {
	return &Gate{auth: auth, localOnly: localOnly, readOnly: readOnly, rates: rates}
}

// authorizeCaller finds out who a request comes from and whether that may do it.
func (g *Gate) authorizeCaller(ctx context.Context, authorization string,
	need access.Scope) (*access.Identity, error) {
	id, err := g.identifyCaller(ctx, authorization)
	switch {
	case err != nil:
		return nil, err
	case g.readOnly && need != access.Read:
		return nil, fault.New(apierror.PermissionDenied, "the server was started to be read only")
	case !id.HasScope(need):
		return nil, fault.New(apierror.PermissionDenied, "the API key or token lacks the scope %s", need)
	}
	return id, nil
}

// identifyCaller finds out who a request comes from.
func (g *Gate) identifyCaller(ctx context.Context, authorization string) (*access.Identity, error) {
	if g.auth == nil {
		return access.OpenIdentity(), nil
	}
	if sealed, ok := strings.CutPrefix(authorization, sessionScheme); ok && isFromCookie(ctx) {
		id, err := g.auth.AuthenticateSession(sealed)
		if err != nil {
			return nil, fault.New(apierror.Unauthenticated, "the session has ended; sign in again")
		}
		return id, nil
	}
	credentials := ""
	if len(authorization) > len(bearer) && strings.EqualFold(authorization[:len(bearer)], bearer) {
		credentials = strings.TrimSpace(authorization[len(bearer):])
	}
	id, err := g.auth.Authenticate(ctx, credentials)
	if errors.Is(err, access.ErrInvalidCredentials) {
		return nil, fault.New(apierror.Unauthenticated, "want a valid API key or token as Authorization: Bearer …")
	}
	return id, err
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

// AdmitRequest lets a REST request in: it finds out who sends it, and counts it against the caller's rate.
func (g *Gate) AdmitRequest(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if isPublicPath(r.URL.Path) {
		return r, nil
	}
	if g.auth == nil && crossOrigin.Check(r) != nil {
		return nil, fault.New(apierror.PermissionDenied, "a page of another origin sent the request")
	}
	if g.localOnly && !isRebindingSafe(r.Host) {
		return nil, fault.New(apierror.PermissionDenied,
			"the server is localhost, and not called as %q; behind a proxy that passes that on, start it with --auth=none or --auth=keys", apierror.ClipText(r.Host))
	}
	r, err := g.takeSession(r)
	if err != nil {
		return nil, err
	}
	id, err := g.authorizeCaller(r.Context(), r.Header.Get("Authorization"), scopeOfRequest(r))
	if err != nil {
		if fault.CodeOf(err) == apierror.Unauthenticated {
			w.Header().Set("WWW-Authenticate", `Bearer realm="inkstream"`)
		}
		return nil, err
	}
	var v limits.Decision
	if isUploadRequest(r) {
		v = g.rates.AllowUpload(id, time.Now())
	} else {
		v = g.rates.AllowRead(id, time.Now())
	}
	for name, value := range rateLimitHeaders(v) {
		w.Header().Set(name, value)
	}
	if !v.OK {
		return nil, apierror.NewRetryError(apierror.RateLimited, v.RetryAfter, "the caller sends more requests than it may")
	}
	return r.WithContext(access.WithIdentity(r.Context(), id)), nil
}

// rateLimitHeaders returns what a caller with a rate is told of it, as headers of HTTP and, in lower case, of gRPC.
func rateLimitHeaders(v limits.Decision) map[string]string {
	if v.Limit == 0 {
		return nil
	}
	return map[string]string{
		"RateLimit-Limit": strconv.Itoa(v.Limit), "RateLimit-Remaining": strconv.Itoa(v.Remaining),
		"RateLimit-Reset": strconv.Itoa(apierror.CeilSeconds(v.Reset)),
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

// AdmitRPCCall lets a gRPC call in. Calls of the REST side were counted there.
func (g *Gate) AdmitRPCCall(ctx context.Context, method string) (context.Context, error) {
	if strings.HasPrefix(method, "/grpc.health.") {
		return ctx, nil
	}
	given := ""
	if v := metadata.ValueFromIncomingContext(ctx, authorizationKey); len(v) == 1 {
		given = v[0]
	}
	inProcess := IsInProcess(ctx)
	if inProcess {
		ctx = withCookie(ctx) // the REST side has put nothing there that a client sent as such
	}
	id, err := g.authorizeCaller(ctx, given, scopeOfCall(method))
	if err != nil {
		return ctx, err
	}
	if !inProcess {
		ask := g.rates.AllowRead
		if strings.HasSuffix(method, "/UploadDocument") || strings.HasSuffix(method, "/CreateJob") {
			ask = g.rates.AllowUpload
		}
		v := ask(id, time.Now())
		_ = grpc.SetHeader(ctx, metadata.New(rateLimitHeaders(v))) // a call that is over already needs no headers
		if !v.OK {
			return ctx, apierror.NewRetryError(apierror.RateLimited, v.RetryAfter, "the caller sends more requests than it may")
		}
	}
	return access.WithIdentity(ctx, id), nil
}

// IsInProcess reports whether a call comes from the REST side, on which the caller was let in.
func IsInProcess(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.Addr.Network() == inProcessNetwork
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
