package gate_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/access/oidctest"
	"inkstream.dev/services/gateway/gatewaytest"
)

// person is someone with a browser: it keeps cookies by name, and goes where it is sent only when told to.
type person struct {
	t       *testing.T
	base    string
	cookies map[string]*http.Cookie
}

func newPerson(t *testing.T, base string) *person {
	t.Helper()
	return &person{t: t, base: base, cookies: map[string]*http.Cookie{}}
}

// send sends a request with the browser's cookies, and returns the status, the headers and the body.
func (p *person) send(method, address string) (int, http.Header, string) {
	p.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.base + address
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range p.cookies {
		if strings.HasPrefix(address, p.base) && strings.HasPrefix(r.URL.Path, c.Path) {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range w.Cookies() {
		if p.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(p.cookies, c.Name)
		}
	}
	return w.StatusCode, w.Header, string(body)
}

// begin begins a sign-in, and returns the address at this server to which the issuer sends the browser back.
func (p *person) begin(next string) *url.URL {
	p.t.Helper()
	status, head, body := p.send(http.MethodGet, "/v1/session/begin?next="+url.QueryEscape(next))
	if status != http.StatusFound {
		p.t.Fatalf("begin: %d %s", status, body)
	}
	status, head, body = p.send(http.MethodGet, head.Get("Location"))
	if status != http.StatusFound {
		p.t.Fatalf("the issuer answers %d %s", status, body)
	}
	back, err := url.Parse(head.Get("Location"))
	if err != nil {
		p.t.Fatal(err)
	}
	return back
}

// end goes back from the issuer, and returns where the browser is sent then.
func (p *person) end(back *url.URL) string {
	p.t.Helper()
	status, head, body := p.send(http.MethodGet, back.String())
	if status != http.StatusSeeOther || head.Get("Cache-Control") != "no-store" {
		p.t.Fatalf("the callback answers %d %v %s", status, head, body)
	}
	return head.Get("Location")
}

func (p *person) status(path string) int {
	p.t.Helper()
	status, _, _ := p.send(http.MethodGet, path)
	return status
}

// startWithIssuer starts a gateway at whose issuer people can sign in.
func startWithIssuer(t *testing.T, change func(*gateway.Config)) (*gatewaytest.Gateway, *oidctest.Issuer, string) {
	t.Helper()
	issuer := oidctest.New(t)
	secretFile := filepath.Join(t.TempDir(), "client.secret")
	if err := os.WriteFile(secretFile, []byte(oidctest.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, admin := gatewaytest.StartWithKeys(t, func(c *gateway.Config) {
		c.Access.OIDC.Issuer, c.Access.OIDC.TenantClaim = issuer.URL, "tenant"
		c.Access.OIDC.SignIn.ClientID, c.Access.OIDC.SignIn.ClientSecretFile = oidctest.ClientID, secretFile
		if change != nil {
			change(c)
		}
	})
	issuer.RegisterRedirect(r.BaseURL + "/v1/session/callback")
	return r, issuer, admin
}

// A person signs in at the issuer, sees the page that was asked for, may do what the issuer says, and is signed out for
// good by itself, or by an administrator.
func TestSignInAtIssuer(t *testing.T) {
	t.Parallel()
	r, _, _ := startWithIssuer(t, func(c *gateway.Config) { c.Access.OIDC.SignIn.Name = "Acme" })
	ann := newPerson(t, r.BaseURL)
	if _, _, body := ann.send(http.MethodGet, "/v1/session"); strings.TrimSpace(body) != `{"issuer":"Acme"}` {
		t.Errorf("the page is told %s, want the issuer's name", body)
	}
	back := ann.begin("/ui/jobs/x?filter=a%26b")
	for name, c := range ann.cookies {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/v1/session/callback" || c.MaxAge < 0 ||
			time.Until(c.Expires) > 11*time.Minute || strings.Contains(c.Value, back.Query().Get("state")) {
			t.Errorf("the cookie %s of the sign-in is %+v", name, c)
		}
	}
	if next := ann.end(back); next != "/ui/jobs/x?filter=a%26b" {
		t.Errorf("after the sign-in the browser is sent to %s", next)
	}
	session := ann.cookies["inkstream_session"]
	if len(ann.cookies) != 1 || session == nil || !session.HttpOnly || session.SameSite != http.SameSiteStrictMode || session.Secure {
		t.Fatalf("the cookies are %v, want a session alone", ann.cookies)
	}
	var caller struct {
		Tenant, Name, Credential string
		Scopes                   []string
	}
	_, _, body := ann.send(http.MethodGet, "/v1/me")
	if err := json.Unmarshal([]byte(body), &caller); err != nil || caller.Tenant != "acme" || caller.Name != "sub:ann" ||
		caller.Credential != "session" || strings.Join(caller.Scopes, " ") != "read write" {
		t.Errorf("the caller is %s, want ann of acme, who may write", body)
	}
	if status := ann.status("/v1/keys"); status != http.StatusForbidden {
		t.Errorf("keys: got %d, want 403", status)
	}
	if next := ann.end(back); next != "/ui/#signin=expired" {
		t.Errorf("the same answer again leads to %s", next)
	}
	// Signed out, the cookie is worth nothing, also to whom has stolen it.
	if status, _, _ := ann.send(http.MethodDelete, "/v1/session"); status != http.StatusNoContent || len(ann.cookies) != 0 {
		t.Errorf("sign out: got %d with the cookies %v", status, ann.cookies)
	}
	ann.cookies[session.Name] = session
	if status := ann.status("/v1/me"); status != http.StatusUnauthorized {
		t.Errorf("with a session that was signed out: got %d, want 401", status)
	}
}

// An administrator of the tenant sees who is signed in, and ends a session; the secret of one is shown to no caller.
func TestSignedInPeopleAreSeenAndEnded(t *testing.T) {
	t.Parallel()
	r, issuer, admin := startWithIssuer(t, nil)
	_, admin = r.NewKey(admin, `{"tenant":"acme","scopes":["admin"]}`)
	issuer.ChangeAnswers(func(a *oidctest.Answer) { a.Claims["scope"] = []string{"read"} })
	ann := newPerson(t, r.BaseURL)
	list := func() (ids []string) {
		var v struct {
			Keys []struct{ ID, Subject, Name, Secret string }
		}
		_, _, body := r.RequestWithKey(http.MethodGet, "/v1/keys", admin, "", "")
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		for _, k := range v.Keys {
			if k.Subject == "" {
				continue
			}
			if ids = append(ids, k.ID); k.Subject != "ann" || k.Name != "ann@acme.example" || k.Secret != "" {
				t.Errorf("a session is shown as %+v", k)
			}
		}
		return ids
	}
	for range 21 {
		delete(ann.cookies, "inkstream_session")
		ann.end(ann.begin("/ui/"))
	}
	ids := list()
	if len(ids) != 20 {
		t.Fatalf("a person who signed in 21 times has %d sessions, want 20", len(ids))
	}
	newest := ids[len(ids)-1]
	if code, _, _ := r.RequestWithKey(http.MethodPost, "/v1/keys/"+newest+":rotate", admin, "", ""); code != http.StatusNotFound {
		t.Errorf("a session is given another secret: got %d, want 404", code)
	}
	if status := ann.status("/v1/jobs/x"); status != http.StatusNotFound {
		t.Errorf("signed in: got %d, want 404 for a job that is not there", status)
	}
	if code, _, _ := r.RequestWithKey(http.MethodDelete, "/v1/keys/"+newest, admin, "", ""); code != http.StatusOK {
		t.Fatalf("revoke: got %d", code)
	}
	if status := ann.status("/v1/jobs/x"); status != http.StatusUnauthorized {
		t.Errorf("after an administrator ended the session: got %d, want 401", status)
	}
}

// What is not the answer to a sign-in that this browser began, or is not what the issuer signed for it, begins no session.
func TestSignInIsRefused(t *testing.T) {
	t.Parallel()
	r, issuer, _ := startWithIssuer(t, nil)
	other := oidctest.New(t)
	claim := func(name string, value any) func(*oidctest.Answer) {
		return func(a *oidctest.Answer) { a.Claims[name] = value }
	}
	query := func(name, value string) func(*person, url.Values) {
		return func(_ *person, q url.Values) { q.Set(name, value) }
	}
	for _, tt := range []struct {
		name   string
		change func(*oidctest.Answer)
		forge  func(*person, url.Values)
		want   string // the failure; nothing where the sign-in succeeds
	}{
		{name: "sound"},
		{name: "another state", forge: query("state", "AAAAAAAAAAAAAAAAAAAAAAAAAA"), want: "expired"},
		{name: "no state", forge: query("state", ""), want: "expired"},
		{name: "in another browser", forge: func(p *person, _ url.Values) { clear(p.cookies) }, want: "expired"},
		{name: "a cookie of another sign-in", forge: func(p *person, _ url.Values) {
			first := slices.Collect(maps.Keys(p.cookies))[0]
			p.begin("/ui/")
			for name, c := range p.cookies {
				if name != first {
					p.cookies[first].Value = c.Value
				}
			}
		}, want: "expired"},
		{name: "a code of another's sign-in", forge: func(p *person, q url.Values) {
			q.Set("code", newPerson(p.t, p.base).begin("/ui/").Query().Get("code"))
		}, want: "denied"},
		{name: "no code", forge: query("code", ""), want: "denied"},
		{name: "the issuer says no", forge: query("error", "access_denied"), want: "denied"},
		{name: "another issuer answers", forge: query("iss", other.URL), want: "denied"},
		{name: "nonce of another", change: claim("nonce", "AAAAAAAAAAAAAAAAAAAAAAAAAA"), want: "denied"},
		{name: "no nonce", change: func(a *oidctest.Answer) { delete(a.Claims, "nonce") }, want: "denied"},
		{name: "for another client", change: claim("aud", "else"), want: "denied"},
		{name: "for several, issued to another", change: func(a *oidctest.Answer) {
			a.Claims["aud"], a.Claims["azp"] = []string{oidctest.ClientID, "else"}, "else"
		}, want: "denied"},
		{name: "of another issuer", change: claim("iss", other.URL), want: "denied"},
		{name: "expired", change: claim("exp", time.Now().Add(-time.Hour).Unix()), want: "denied"},
		{name: "beside another access token", change: claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), want: "denied"},
		{name: "signed by another", change: func(a *oidctest.Answer) { a.Sign = other.Sign }, want: "denied"},
		{name: "unsigned", change: func(a *oidctest.Answer) {
			a.Sign = func(map[string]any) string { return "eyJhbGciOiJub25lIn0.e30." }
		}, want: "denied"},
		{name: "the issuer is down", change: func(a *oidctest.Answer) { a.Status = http.StatusBadGateway }, want: "unavailable"},
		{name: "no scopes here", change: claim("scope", "openid"), want: "unknown"},
		{name: "no tenant", change: claim("tenant", "a.b.>"), want: "unknown"},
		{name: "scopes from UserInfo", change: func(a *oidctest.Answer) {
			delete(a.Claims, "scope")
			a.UserInfo = map[string]any{"sub": "ann", "scope": "read"}
		}},
		{name: "UserInfo of another person", change: func(a *oidctest.Answer) {
			delete(a.Claims, "scope")
			a.UserInfo = map[string]any{"sub": "bob", "scope": "read"}
		}, want: "denied"},
	} {
		t.Run(tt.name, func(t *testing.T) { // one after the other, for there is one issuer
			if tt.change == nil {
				tt.change = func(*oidctest.Answer) {}
			}
			issuer.ChangeAnswers(tt.change)
			p := newPerson(t, r.BaseURL)
			back := p.begin("/ui/")
			if tt.forge != nil {
				q := back.Query()
				tt.forge(p, q)
				back.RawQuery = q.Encode()
			}
			want, status := "/ui/", http.StatusOK
			if tt.want != "" {
				want, status = "/ui/#signin="+tt.want, http.StatusUnauthorized
			}
			if next := p.end(back); next != want {
				t.Errorf("the browser is sent to %s, want %s", next, want)
			}
			if got := p.status("/v1/me"); got != status || (p.cookies["inkstream_session"] != nil) != (tt.want == "") {
				t.Errorf("after that /v1/me answers %d with the cookies %v, want %d", got, p.cookies, status)
			}
		})
	}
}

// A sign-in leads to a page of this server alone, whatever it was begun with.
func TestSignInLeadsToOwnPagesAlone(t *testing.T) {
	t.Parallel()
	r, _, _ := startWithIssuer(t, nil)
	for asked, want := range map[string]string{
		"/ui/search?q=a+b":           "/ui/search?q=a+b",
		"/ui/":                       "/ui/",
		"":                           "/ui/",
		"https://evil.example/ui/":   "/ui/",
		"//evil.example/ui/":         "/ui/",
		"/ui/../../v1/session":       "/ui/",
		"/ui//evil.example":          "/ui/",
		`/ui/\evil.example`:          "/ui/",
		`\\evil.example/ui/`:         "/ui/",
		"javascript:alert(1)//ui/":   "/ui/",
		"/v1/keys":                   "/ui/",
		"/uix":                       "/ui/",
		"/ui/a\r\nSet-Cookie: x=y":   "/ui/",
		"/ui/?a=%0d%0aSet-Cookie: x": "/ui/?a=%0D%0ASet-Cookie%3A+x",
		"/ui/#signin=denied":         "/ui/",
		"http:/ui/":                  "/ui/",
		"user@evil.example:80/ui/":   "/ui/",
		"/ui/%2e%2e/%2e%2e/v1/keys":  "/ui/",
	} {
		p := newPerson(t, r.BaseURL)
		if next := p.end(p.begin(asked)); next != want {
			t.Errorf("%q leads to %q, want %q", asked, next, want)
		}
	}
}

// Without a client there is nothing to begin, and no token is taken for a session.
func TestNoSignInWithoutClient(t *testing.T) {
	t.Parallel()
	r, _ := gatewaytest.StartWithKeys(t, nil)
	p := newPerson(t, r.BaseURL)
	if _, _, body := p.send(http.MethodGet, "/v1/session"); strings.TrimSpace(body) != `{"issuer":""}` {
		t.Errorf("the page is told %s, want no issuer", body)
	}
	for _, path := range []string{"/v1/session/begin", "/v1/session/callback?code=x&state=y"} {
		if status := p.status(path); status != http.StatusNotFound {
			t.Errorf("%s answers %d, want 404", path, status)
		}
	}
}
