package e2e

import (
	"net/http"
	"net/http/httptest"
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
	defer s.stop()
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

// What administrators do: a key is made and its secret shown once; who signs in with it sees no more than it may; once
// it is revoked its session ends. A webhook shows how its calls went.
func TestKeysAndWebhooks(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer receiver.Close()
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "admin.key")
	s, err := startServer(t.Context(), filepath.Join(dir, "data"), "--auth", "keys", "--auth.admin-key-file", keyFile,
		"--webhook.allow-private")
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))

	admin := openTab(t, s.url)
	admin.allow("401")
	admin.open("/ui/webhooks")
	admin.fill("#key", s.key+"\r")
	admin.wait("document.querySelector('#webhook-url')")
	admin.fill("#webhook-url", receiver.URL+"/hook\r")
	admin.waitText(".secret", "whsec_")
	admin.click("button", "I have kept it")
	if _, err := s.send(t.Context(), "told.pdf", makePDF("Somebody waits for this."), ""); err != nil {
		t.Fatal(err)
	}
	admin.waitText("td", "418")
	checkAccessible(admin, string(axe), "/ui/webhooks")
	admin.click("nav a", "Keys")
	admin.waitText("td", "first admin key")
	admin.fill("#key-name", "a reader")
	eval[bool](admin, `(() => { const s = document.querySelector('main select'); s.value = 'read'; s.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`)
	admin.click("main button", "Make a key")
	admin.waitText(".secret pre", "ink_")
	secret := eval[string](admin, "document.querySelector('.secret pre').textContent")
	checkAccessible(admin, string(axe), "/ui/keys")

	// The reader has a store of cookies of its own.
	reader := openTab(t, s.url)
	reader.allow("401")
	reader.open("/ui/")
	reader.fill("#key", secret+"\r")
	reader.waitText("tr[data-job]", "told.pdf")
	if got := eval[string](reader, "document.querySelector('header').innerText + (document.querySelector('.sender')?.innerText ?? '')"); strings.Contains(got, "Keys") ||
		strings.Contains(got, "Choose files") {
		t.Errorf("a reader is offered %q", got)
	}
	reader.click("tr[data-job] a", "told.pdf")
	reader.waitText("h1", "told.pdf")
	if got := eval[string](reader, "document.querySelector('.document-head').innerText"); strings.Contains(got, "Delete") {
		t.Errorf("a reader is offered %q", got)
	}
	admin.click("button", "I have kept it")
	admin.click("tr:has(td:first-child) button.danger:last-child", "Revoke a reader")
	admin.waitText("dialog", "Revoke a reader?")
	admin.click("dialog button", "Revoke")
	reader.open("/ui/")
	reader.waitText("h1", "Sign in")
}

func TestPagesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.Context(), t.TempDir(), "--ui=false")
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
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
