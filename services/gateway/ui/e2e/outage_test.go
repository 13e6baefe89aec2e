package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// openFront starts a server before the shared one, which handle passes requests on to, or not. It returns its address.
func openFront(t *testing.T, handle func(proxy http.Handler, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	target, err := url.Parse(shared.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1 // streams come through as they are
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(proxy, w, r) }))
	t.Cleanup(func() { // behind the tab
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL
}

// sendPart passes the beginning of a request's body on.
func sendPart(proxy http.Handler, r *http.Request, size int64) {
	r.Body = io.NopCloser(io.LimitReader(r.Body, size))
	r.ContentLength = size
	proxy.ServeHTTP(httptest.NewRecorder(), r)
}

// uploaded is an expression for whether a row of the uploads has a name and has succeeded.
func uploaded(name string) string {
	return "[...document.querySelectorAll('.uploads li')].some((e) => e.textContent.includes(" + quote(name) +
		") && e.querySelector('.pill.succeeded'))"
}

// Uploads share one connection for what becomes of them: a browser has six to a server, and needs some to send.
func TestManyUploadsShareOneConnection(t *testing.T) {
	t.Parallel()
	var streams, most, single atomic.Int32
	front := openFront(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/jobs:watch"):
			n := streams.Add(1)
			defer streams.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
		case strings.HasSuffix(r.URL.Path, "/watch"):
			single.Add(1)
		}
		proxy.ServeHTTP(w, r)
	})
	const count = 9
	files := make([]string, count)
	for i := range files {
		files[i] = writeFile(t, fmt.Sprintf("crowd-%d.pdf", i), makePDF(fmt.Sprintf("One of a crowd, the number %d.", i)))
	}
	b := openTab(t, front)
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), files)))
	b.wait(fmt.Sprintf("document.querySelectorAll('.uploads li .pill.succeeded').length === %d", count))
	if most.Load() != 1 || single.Load() != 0 {
		t.Errorf("%d streams of changes at once and %d of single documents, want 1 and none", most.Load(), single.Load())
	}
}

// A server that asks for patience, or is away for a moment, is asked again; what it refuses then is no loss.
func TestUploadWaitsForTheServer(t *testing.T) {
	t.Parallel()
	var creates, patches atomic.Int32
	front := openFront(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/v1/uploads" && creates.Add(1) == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.Method == http.MethodPatch && patches.Add(1) == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			proxy.ServeHTTP(w, r)
		}
	})
	b := openTab(t, front)
	b.allow("429")
	b.allow("503")
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	patient := writeFile(t, "patient.pdf", makePDF("A document that waits for its turn."))
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{patient})))
	b.waitText(".uploads .phase", "next try is in 1 s")
	b.wait(uploaded("patient.pdf"))
}

// A page that is loaded again in the middle of an upload goes on where it stood, once it is given the file again.
func TestUploadResumesAfterReload(t *testing.T) {
	t.Parallel()
	const part = 10_000
	var patches atomic.Int32
	var last atomic.Value
	var away atomic.Bool
	front := openFront(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			if patches.Add(1) == 1 {
				sendPart(proxy, r, part)
				away.Store(true)
			}
			last.Store(r.Header.Get("Upload-Offset"))
		}
		if away.Load() && !strings.HasPrefix(r.URL.Path, "/ui/") {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	})
	b := openTab(t, front)
	b.allow("net::ERR_")
	b.allow("beforeunload") // the page asks whether to leave, which the browser asks only who has touched it
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	document, err := os.ReadFile(corpusPath("tables/camelot-column_span_2.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "resumed.pdf", document)
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path})))
	b.waitText(".uploads .phase", "broke off")
	b.open("/ui/?again")
	away.Store(false) // only now, so that it is this page that goes on
	b.waitText(".sender", "Drop PDFs")
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path})))
	b.wait(uploaded("resumed.pdf"))
	if got := last.Load(); got != "10000" {
		t.Errorf("after the reload it began at %v, want 10000", got)
	}
}

// Two files that the browser cannot tell apart are two documents all the same.
func TestFilesOfOneNameAreTwoDocuments(t *testing.T) {
	t.Parallel()
	when := time.Now().Truncate(time.Second)
	var files []string
	for _, text := range []string{"The form of Anna, 1.", "The form of Otto, 2."} {
		path := writeFile(t, "form.pdf", makePDF(text))
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), files)))
	b.wait("document.querySelectorAll('.uploads li .pill.succeeded').length === 2")
	digests := eval[[]string](b, `Promise.all([...document.querySelectorAll('.uploads li a')].map((a) =>
		fetch('/v1' + new URL(a.href).pathname.slice(3)).then((r) => r.json()).then((j) => j.sha256)))`)
	if len(digests) != 2 || digests[0] == digests[1] {
		t.Errorf("the two files %s came as %v", filepath.Base(files[0]), digests)
	}
}

// Pages that are opened while the server is away say so, and are there as soon as it is back.
func TestPagesComeBackWithTheServer(t *testing.T) {
	t.Parallel()
	for path, shows := range map[string]string{
		"/ui/":                                ".sender",
		"/ui/jobs/" + shared.jobs["scan.pdf"]: ".journey",
		"/ui/jobs/" + shared.jobs["scan.pdf"] + "/pages/1": ".text",
		"/ui/deadletters": ".empty",
		"/ui/system":      ".findings",
	} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			t.Parallel()
			var away atomic.Bool
			away.Store(true)
			front := openFront(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
				if away.Load() && !strings.HasPrefix(r.URL.Path, "/ui/") {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				proxy.ServeHTTP(w, r)
			})
			b := openTab(t, front)
			b.allow("503")
			b.open(path)
			b.wait("document.querySelector('main [role=alert]')")
			away.Store(false)
			b.wait("document.querySelector(" + quote(shows) + ") && !document.querySelector('main [role=alert]')")
		})
	}
}

// A file that is dropped where none is taken does not take the browser away from the page.
func TestDropElsewhereIsIgnored(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/queues")
	b.waitText("h1", "Queues")
	if !eval[bool](b, `(() => {
		const data = new DataTransfer();
		data.items.add(new File(['x'], 'x.pdf', { type: 'application/pdf' }));
		const drop = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
		document.querySelector('main').dispatchEvent(drop);
		return drop.defaultPrevented;
	})()`) {
		t.Error("the browser leaves the page for the file")
	}
}
