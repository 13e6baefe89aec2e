package e2e

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// people is the provider's own store, but for the claim that says what its people may do at Inkstream.
type people struct{ *storage.Storage }

// SetUserinfoFromToken is what the provider's UserInfo endpoint answers.
func (p people) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if err := p.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin); err != nil {
		return err
	}
	info.AppendClaims("roles", []string{"inkstream:write"})
	return nil
}

const (
	clientID     = "inkstream"
	clientSecret = "what the provider and the server alone know" //nolint:gosec // the test's
)

// startProvider starts an OpenID provider, with a page on which its person signs in.
func startProvider(t *testing.T) *httptest.Server {
	t.Helper()
	var handler http.Handler
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	issuer := "http://" + strings.Replace(provider.Listener.Addr().String(), "127.0.0.1", "localhost", 1) + "/"
	handler = exampleop.SetupServer(issuer, people{storage.NewStorage(storage.NewUserStore(issuer))},
		slog.New(slog.NewTextHandler(io.Discard, nil)), false)
	provider.Start()
	provider.URL = issuer
	t.Cleanup(func() {
		provider.CloseClientConnections()
		provider.Close()
	})
	return provider
}

// A person presses "Sign in with …", signs in at a provider of the standard, sees the page that was asked for, and the
// documents; and is out after "Sign out", also with the cookie from before.
func TestSignInAtProvider(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	dir := t.TempDir()
	keyFile, secretFile := filepath.Join(dir, "admin.key"), filepath.Join(dir, "client.secret")
	if err := os.WriteFile(secretFile, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), filepath.Join(dir, "data"), "--auth", "keys", "--auth.admin-key-file", keyFile,
		"--oidc.issuer", provider.URL, "--oidc.client-id", clientID, "--oidc.client-secret-file", secretFile,
		"--oidc.scope-claim", "roles", "--oidc.name", "Example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	storage.RegisterClients(storage.WebClient(clientID, clientSecret, s.url+"/v1/session/callback"))
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))
	id, err := s.send(t.Context(), "signed.pdf", makePDF("Only who has signed in may read this."), "")
	if err != nil {
		t.Fatal(err)
	}

	b := openTab(t, s.url)
	b.allow("401")
	b.allow(provider.URL)
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b.open("/ui/jobs/" + id + "?from=link")
	b.waitText("a.primary", "Sign in with Example")
	checkAccessible(b, string(axe), "/ui/signin")
	b.click("a.primary", "Sign in with Example")
	b.fill("#username", "test-user@localhost")
	b.fill("#password", "verysecure\r")
	b.waitText("h1", "signed.pdf")
	if at := eval[string](b, "location.href"); at != s.url+"/ui/jobs/"+id+"?from=link" {
		t.Errorf("after the sign-in the browser is at %s", at)
	}
	if text := eval[string](b, "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)"); strings.Contains(text, "inkstream_") {
		t.Errorf("a script can read %s", text)
	}
	var me struct{ Name, Credential string }
	if me.Name = eval[string](b, "fetch('/v1/me').then((r) => r.json()).then((c) => c.name)"); !strings.HasPrefix(me.Name, "sub:") {
		t.Errorf("the caller is %q, want the provider's subject", me.Name)
	}
	b.click("nav a", "Documents")
	b.waitText("tr[data-job]", "signed.pdf")
	b.click("button", "Sign out")
	b.waitText("h1", "Sign in")
	if status := eval[int](b, "fetch('/v1/jobs').then((r) => r.status)"); status != http.StatusUnauthorized {
		t.Errorf("signed out, the documents answer %d, want 401", status)
	}
	// The provider's answer to a sign-in that another browser began is nothing here, and the page says so.
	eval[chromedp.Void](b, "location.href = '/v1/session/callback?"+url.Values{"code": {"x"}, "state": {"y"}}.Encode()+"'")
	b.waitText("[role=alert]", "begun in another browser")
}
