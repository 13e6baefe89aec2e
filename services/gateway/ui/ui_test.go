package ui_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"inkstream.dev/services/gateway/ui"
)

func get(t *testing.T, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	ui.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Result()
}

func TestEveryAddressAnswersThePage(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/ui/", "/ui/jobs/x/pages/3", "/ui/../../etc/passwd", "/ui/index.html"} {
		r := get(t, path)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s answers %d with %q, want the page", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if got := r.Header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s: Cache-Control is %q, want no-cache", path, got)
		}
		if !strings.Contains(r.Header.Get("Content-Security-Policy"), "trusted-types 'none'") {
			t.Errorf("%s has no policy against scripts", path)
		}
	}
}

// The page names files that are there, and that may be kept for good.
func TestPageNamesItsFiles(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	ui.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, ui.Path, nil))
	names := regexp.MustCompile(`/ui/[a-z]+-[A-Z0-9]+\.(js|css)`).FindAllString(w.Body.String(), -1)
	if len(names) != 2 {
		t.Fatalf("the page names %q, want a script and a style", names)
	}
	for _, name := range names {
		r := get(t, name)
		if got := r.Header.Get("Content-Type"); strings.HasPrefix(got, "text/html") {
			t.Errorf("%s is not there", name)
		}
		if got := r.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control is %q, want immutable", name, got)
		}
	}
}

func TestOnlyBrowsersAreRedirected(t *testing.T) {
	t.Parallel()
	root := ui.RedirectBrowsers(http.NotFoundHandler())
	for _, tt := range []struct {
		path, accept string
		want         int
	}{
		{"/", "text/html,application/xhtml+xml,*/*;q=0.8", http.StatusFound},
		{"/", "*/*", http.StatusNotFound},
		{"/", "application/json", http.StatusNotFound},
		{"/elsewhere", "text/html", http.StatusNotFound},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		r.Header.Set("Accept", tt.accept)
		w := httptest.NewRecorder()
		root.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s with Accept %q answers %d, want %d", tt.path, tt.accept, w.Code, tt.want)
		}
	}
}
