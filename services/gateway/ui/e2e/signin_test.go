package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSignInWithKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "admin.key")
	s, err := startServer(t.Context(), filepath.Join(dir, "data"), "--auth", "keys", "--auth.admin-key-file", keyFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop) // behind the tab, which may still ask for something
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))
	id, err := s.send(t.Context(), "secret.pdf", makePDF("Only who has the key may read this."), "")
	if err != nil {
		t.Fatal(err)
	}

	b := openTab(t, s.url)
	b.allow("401")
	b.open("/ui/jobs/" + id + "/pages/1")
	b.waitText("h1", "Sign in")
	b.fill("#key", "ink_wrong\r")
	b.waitText("[role=alert]", "does not know this key")
	b.fill("#key", s.key+"\r")
	// The page that was asked for is there, with its image, which needs the key as well.
	b.waitText(".text", "Only who has the key")
	b.wait("document.querySelector('.sheet img')?.complete")
	for _, store := range []string{"localStorage", "sessionStorage"} {
		if n := eval[int](b, "Object.values("+store+").filter((v) => v.includes("+quote(s.key)+")).length"); n != 0 {
			t.Errorf("the key is in %s, where a script can read it", store)
		}
	}
	if strings.Contains(eval[string](b, "document.cookie + location.href"), "ink") &&
		strings.Contains(eval[string](b, "document.cookie + location.href"), s.key) || eval[string](b, "document.cookie") != "" {
		t.Error("the key or its session is where a script can read it")
	}
	// A reload stays signed in, and signing out does not.
	b.open("/ui/")
	b.waitText("tr[data-job]", "secret.pdf")
	b.click("button", "Sign out")
	b.waitText("h1", "Sign in")
	b.open("/ui/")
	b.waitText("h1", "Sign in")
}

// makeKey makes a key and returns its id and its secret.
func (s *server) makeKey(t *testing.T, body string) (id, secret string) {
	t.Helper()
	var key struct{ ID, Secret string }
	if err := s.call(t.Context(), http.MethodPost, "/v1/keys", "application/json", strings.NewReader(body), &key); err != nil {
		t.Fatal(err)
	}
	return key.ID, key.Secret
}

// A browser sees its own tenant alone, does not show what its key may not do, and is signed out when its key is revoked,
// while the page is open.
func TestTenantsAndRevokedKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "admin.key")
	s, err := startServer(t.Context(), filepath.Join(dir, "data"), "--auth", "keys", "--auth.admin-key-file", keyFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))
	ours, err := s.send(t.Context(), "ours.pdf", makePDF("What the default tenant knows: heliotrope."), "")
	if err != nil {
		t.Fatal(err)
	}
	_, acme := s.makeKey(t, `{"tenant": "acme", "scopes": ["admin"]}`)
	other := &server{url: s.url, key: acme}
	theirs, err := other.send(t.Context(), "theirs.pdf", makePDF("What acme knows: heliotrope."), "")
	if err != nil {
		t.Fatal(err)
	}
	id, reader := other.makeKey(t, `{"scopes": ["read"], "name": "reader"}`)

	b := openTab(t, s.url)
	b.allow("401")
	b.allow("403")
	b.allow("404")
	b.open("/ui/")
	b.fill("#key", reader+"\r")
	b.waitText("tr[data-job]", "theirs.pdf")
	if n := eval[int](b, "document.querySelectorAll('tr[data-job]').length"); n != 1 {
		t.Errorf("%d documents are listed, want the tenant's one", n)
	}
	if n := eval[int](b, "document.querySelectorAll('.sender, nav a[href=\"/ui/keys\"], nav a[href=\"/ui/webhooks\"]').length"); n != 0 {
		t.Error("a key that may only read is shown how to send or administer")
	}
	status := eval[int](b, "fetch('/v1/jobs/"+theirs+":cancel', { method: 'POST' }).then((r) => r.status)")
	if status != http.StatusForbidden {
		t.Errorf("a key that may only read cancels with %d, want 403", status)
	}
	b.open("/ui/search?q=heliotrope")
	b.waitText(".hits h2", "theirs.pdf")
	if text := eval[string](b, "document.querySelector('.hits').innerText"); strings.Contains(text, "ours.pdf") {
		t.Error("the search finds another tenant's document")
	}
	b.open("/ui/jobs/" + ours)
	b.wait("document.querySelector('[role=alert]')")
	b.open("/ui/jobs/" + theirs)
	b.waitText("h1", "theirs.pdf")
	if n := eval[int](b, "[...document.querySelectorAll('button')].filter((e) => /Delete|Process all again/.test(e.textContent)).length"); n != 0 {
		t.Error("a key that may only read is shown how to change a document")
	}
	b.open("/ui/")
	b.waitText("tr[data-job]", "theirs.pdf")
	if err := other.call(t.Context(), http.MethodDelete, "/v1/keys/"+id, "", nil, nil); err != nil {
		t.Fatal(err)
	}
	b.waitText("h1", "Sign in") // the stream of changes ends with the key, and no reload is needed
	if text := eval[string](b, "document.querySelector('main').innerText"); strings.Contains(text, "theirs.pdf") {
		t.Error("the documents are shown beside the sign-in")
	}
}

func TestPagesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.Context(), t.TempDir(), "--ui=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	if w := get(t, s.url+"/ui/"); w.StatusCode != http.StatusNotFound {
		t.Errorf("/ui/ answers %d, want 404", w.StatusCode)
	}
	if w := get(t, s.url+"/"); w.StatusCode != http.StatusNotFound {
		t.Errorf("/ answers %d, want 404", w.StatusCode)
	}
}

// The policy names no exception, and no file is from elsewhere.
func TestPolicyIsStrict(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/ui/", "/ui/jobs/x/pages/1", "/ui/icon.svg"} {
		policy := get(t, shared.url+path).Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "trusted-types 'none'",
			"require-trusted-types-for 'script'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy %q has an exception", path, policy)
		}
	}
}

// get asks as a browser does.
func get(t *testing.T, address string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*")
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}
