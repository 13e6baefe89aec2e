// Package ui serves the web pages: a client of the public API that runs in the browser. The pages hold no data; what
// they show, they fetch from /v1 with the credentials of the person who looks at them.
package ui

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// Path is where the pages are served.
const Path = "/ui/"

// policy lets a page load nothing but its own files and talk to nothing but its own server. Text can become markup in
// no way: Trusted Types are required, and none can be made.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed dist
var dist embed.FS

// Handler serves the pages below Path. Every address without a file of its own answers the one page, whose script
// reads the address.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this address takes GET", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		name := strings.TrimPrefix(r.URL.Path, Path)
		data, err := fs.ReadFile(dist, path.Join("dist", path.Clean("/"+name)))
		if err != nil || name == "" {
			name = "index.html"
			data, err = fs.ReadFile(dist, "dist/index.html")
		}
		if err != nil {
			http.Error(w, "the pages are not in this program", http.StatusNotFound)
			return
		}
		h.Set("Cache-Control", "no-cache")
		if strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css") {
			h.Set("Cache-Control", "public, max-age=31536000, immutable") // the name has the content's hash
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}

// RedirectBrowsers sends those who open / in a browser to the pages; next serves all else, programs at / among it. A
// browser asks for HTML by name, while programs accept anything, or JSON.
func RedirectBrowsers(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && r.URL.Path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, Path, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	}
}
