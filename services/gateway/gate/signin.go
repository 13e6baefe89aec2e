package gate

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/ui"
)

const (
	// SignInPath sends a browser to the issuer.
	SignInPath = SessionPath + "/begin"
	// CallbackPath is where the issuer sends it back to.
	CallbackPath = SessionPath + "/callback"
	// nextParameter of SignInPath says what the browser wants to see once it is signed in.
	nextParameter = "next"
	// signInCookie begins the names of the cookies of sign-ins that have not ended; each tab has its own.
	signInCookie = "inkstream_signin_"
	// stateTag is how much of a sign-in's state its cookie's name has.
	stateTag = 8
	// failureFragment begins what the page is told where a sign-in came to nothing.
	failureFragment = "signin="
)

// DescribeSignIn is GET /v1/session: what a browser can sign in with, which it may ask before it is signed in.
func (g *Gate) DescribeSignIn(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	name := ""
	if g.auth != nil {
		name = g.auth.SignInName()
	}
	// A client that hung up has no use for the answer.
	_ = json.NewEncoder(w).Encode(map[string]string{"issuer": name})
}

// BeginSignIn is GET /v1/session/begin: it sends a browser to the issuer.
func (g *Gate) BeginSignIn(report *apierror.Reporter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if g.auth == nil || g.auth.SignInName() == "" {
			report.WriteError(w, r, "begin sign-in", fault.New(apierror.NotFound, "the server knows no issuer to sign in at"))
			return
		}
		redirect := url.URL{Scheme: "http", Host: r.Host, Path: CallbackPath}
		if isSecure(r) {
			redirect.Scheme = "https"
		}
		begun, err := g.auth.BeginSignIn(redirect.String(), pageOf(r.URL.Query().Get(nextParameter)))
		if err != nil {
			report.WriteError(w, r, "begin sign-in", err)
			return
		}
		setSignInCookie(w, r, begun.State, begun.Sealed, begun.Expire)
		http.Redirect(w, r, begun.Address, http.StatusFound)
	}
}

// EndSignIn is GET /v1/session/callback: it takes the issuer's answer, signs in, and shows the page that was asked for.
// The answer counts only where this browser has begun the sign-in, which the cookie says.
func (g *Gate) EndSignIn(report *apierror.Reporter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if g.auth == nil || g.auth.SignInName() == "" {
			report.WriteError(w, r, "end sign-in", fault.New(apierror.NotFound, "the server knows no issuer to sign in at"))
			return
		}
		answer, sealed := r.URL.Query(), ""
		state := answer.Get("state")
		if cookie, err := r.Cookie(signInCookieName(state)); err == nil {
			sealed = cookie.Value
			setSignInCookie(w, r, state, "", time.Unix(1, 0))
		}
		ended, err := g.auth.EndSignIn(r.Context(), sealed, answer)
		next := pageOf(ended.Next)
		if err != nil {
			if !errors.Is(err, access.ErrSignInExpired) {
				report.LogWarning(r.Context(), "end sign-in", err) // the page says less, and the settings may be wrong
			}
			next += "#" + failureFragment + failureName(err)
		} else {
			setSessionCookie(w, r, ended.Session, ended.Expire)
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// failureName is what the page is told of a sign-in that came to nothing.
func failureName(err error) string {
	switch {
	case errors.Is(err, access.ErrSignInExpired):
		return "expired"
	case errors.Is(err, access.ErrSignInDenied):
		return "denied"
	case errors.Is(err, access.ErrSignInUnknown):
		return "unknown"
	default:
		return "unavailable"
	}
}

// pageOf returns the address of a page of this server: what was asked for where it is one, or else the first page.
func pageOf(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, ui.Path) ||
		strings.TrimSuffix(u.Path, "/") != strings.TrimSuffix(path.Clean(u.Path), "/") || strings.ContainsAny(u.Path, "\\") {
		return ui.Path
	}
	return (&url.URL{Path: u.Path, RawQuery: u.Query().Encode()}).String()
}

func signInCookieName(state string) string {
	tag := strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, state)
	return signInCookie + tag[:min(stateTag, len(tag))]
}

// setSignInCookie has the browser keep a sign-in until the issuer sends it back. That is a page of another site, so the
// cookie comes along with links from there.
func setSignInCookie(w http.ResponseWriter, r *http.Request, state, value string, expire time.Time) {
	cookie := &http.Cookie{
		Name: signInCookieName(state), Value: value, Path: CallbackPath, Expires: expire.UTC(), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: isSecure(r),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, cookie)
}

// isSecure reports whether the browser has asked over TLS. Behind a proxy that ends TLS, the proxy says so.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}
