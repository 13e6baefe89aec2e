package gate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
)

const (
	// SessionPath is where browsers sign in and out.
	SessionPath = "/v1/session"
	// sessionCookie names the cookie that a signed-in browser has.
	sessionCookie = "inkstream_session"
	// sessionScheme begins the credentials of a session on their way to the gRPC side. No client can send it.
	sessionScheme = "Session "
	// maxSignInBytes bounds the body of a sign-in.
	maxSignInBytes = 4 << 10
)

type cookieContextKey struct{}

// withCookie returns ctx of a request whose credentials may be those of a cookie.
func withCookie(ctx context.Context) context.Context {
	return context.WithValue(ctx, cookieContextKey{}, true)
}

func isFromCookie(ctx context.Context) bool {
	from, _ := ctx.Value(cookieContextKey{}).(bool)
	return from
}

// takeSession puts the session of a request's cookie in the place of its credentials, where it has none. A browser sends
// cookies by itself, so the request must come from a page of this server. What a client sends as a session's credentials
// itself is dropped.
func (g *Gate) takeSession(r *http.Request) (*http.Request, error) {
	given := r.Header.Get("Authorization")
	if strings.HasPrefix(given, sessionScheme) {
		r.Header.Del("Authorization")
		given = ""
	}
	if g.auth == nil || given != "" {
		return r, nil
	}
	cookie, _ := r.Cookie(sessionCookie)
	if cookie == nil {
		return r, nil
	}
	if crossOrigin.Check(r) != nil {
		return nil, fault.New(apierror.PermissionDenied, "a page of another origin sent the request")
	}
	r.Header.Set("Authorization", sessionScheme+cookie.Value)
	return r.WithContext(withCookie(r.Context())), nil
}

// SignIn is POST /v1/session: it takes an API key, and gives the browser a cookie that no script can read.
func (g *Gate) SignIn(report *apierror.Reporter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := g.beginSession(w, r)
		if err != nil {
			report.WriteError(w, r, "POST session", err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (g *Gate) beginSession(w http.ResponseWriter, r *http.Request) error {
	if g.auth == nil {
		return fault.New(apierror.AuthOff, "the server asks for no credentials, so there is nothing to sign in to")
	}
	if crossOrigin.Check(r) != nil {
		return fault.New(apierror.PermissionDenied, "a page of another origin sent the request")
	}
	var body struct {
		Key string `json:"key"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSignInBytes)).Decode(&body); err != nil {
		return fault.New(fault.InvalidArgument, `want a body such as {"key": "ink_…"}`)
	}
	sealed, expire, err := g.auth.BeginSession(strings.TrimSpace(body.Key))
	if errors.Is(err, access.ErrInvalidCredentials) {
		return fault.New(apierror.Unauthenticated, "the server does not know this key, or it has been revoked")
	}
	if err != nil {
		return err
	}
	setSessionCookie(w, r, sealed, expire)
	return nil
}

// SignOut is DELETE /v1/session. The session ends for good, with every copy of its cookie.
func (g *Gate) SignOut(report *apierror.Reporter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if crossOrigin.Check(r) != nil {
			report.WriteError(w, r, "DELETE session", fault.New(apierror.PermissionDenied, "a page of another origin sent the request"))
			return
		}
		if cookie, err := r.Cookie(sessionCookie); err == nil && g.auth != nil {
			if err := g.auth.EndSession(r.Context(), cookie.Value); err != nil {
				report.WriteError(w, r, "DELETE session", err)
				return
			}
		}
		setSessionCookie(w, r, "", time.Unix(1, 0))
		w.WriteHeader(http.StatusNoContent)
	}
}

// setSessionCookie gives the browser its session.
func setSessionCookie(w http.ResponseWriter, r *http.Request, value string, expire time.Time) {
	cookie := &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/", Expires: expire.UTC(), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: isSecure(r),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, cookie)
}
