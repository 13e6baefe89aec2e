package standalone_test

import (
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/pdftest"
)

// unreliableProxy stands before an S3 server and spoils one answer of each n, in one of five ways.
type unreliableProxy struct {
	proxy  *httputil.ReverseProxy
	every  int
	mended atomic.Bool

	mu     sync.Mutex // guards random
	random *rand.Rand
	halved sync.Once
	counts [5]atomic.Int64
}

func newUnreliableProxy(server *url.URL, every int) *unreliableProxy {
	p := &unreliableProxy{every: every, random: rand.New(rand.NewPCG(19, 7))}
	p.proxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		r.Out.Host = r.In.Host // it is signed
	}}
	p.proxy.ModifyResponse, p.proxy.ErrorLog = p.spoil, log.New(io.Discard, "", 0)
	return p
}

// ServeHTTP implements http.Handler.
func (p *unreliableProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.proxy.ServeHTTP(w, r) }

// halfBody is the first half of a body; then the connection breaks, or it ends as if that were all.
type halfBody struct {
	io.Reader
	io.Closer
	broken bool
}

// Read implements io.Reader.
func (h halfBody) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if errors.Is(err, io.EOF) && h.broken {
		err = errors.New("the connection breaks")
	}
	return n, err
}

func (p *unreliableProxy) spoil(res *http.Response) error {
	p.mu.Lock()
	spoiled, way := p.random.IntN(p.every) == 0, p.random.IntN(4)
	p.mu.Unlock()
	if strings.HasSuffix(res.Request.URL.Path, "/source.pdf") && res.Request.Method == http.MethodGet {
		p.halved.Do(func() { spoiled, way = true, 4 })
	}
	if !spoiled || p.mended.Load() {
		return nil
	}
	switch way {
	case 0, 1:
		code, name := http.StatusInternalServerError, "InternalError"
		if way == 1 {
			code, name = http.StatusServiceUnavailable, "SlowDown"
		}
		body := "<Error><Code>" + name + "</Code></Error>"
		_ = res.Body.Close() // nothing is read of it
		res.StatusCode, res.Status = code, http.StatusText(code)
		res.Header = http.Header{"Content-Type": {"application/xml"}, "Content-Length": {strconv.Itoa(len(body))}}
		res.ContentLength, res.Body = int64(len(body)), io.NopCloser(strings.NewReader(body))
	case 2:
		<-time.After(300 * time.Millisecond)
	case 3:
		if res.Header.Get("ETag") != "" {
			res.Header.Set("ETag", `"0123456789abcdef0123456789abcdef"`)
		}
		if res.Request.Method == http.MethodGet && res.ContentLength > 1 {
			res.Body = halfBody{io.LimitReader(res.Body, res.ContentLength/2), res.Body, true}
		}
	case 4: // a part of the document passes for the whole
		res.ContentLength /= 2
		res.Header.Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
		res.Body = halfBody{io.LimitReader(res.Body, res.ContentLength), res.Body, false}
	}
	p.counts[way].Add(1)
	return nil
}

// An S3 server that answers with errors, late, with half a body, with half a document as if it were the whole, or with
// a wrong ETag costs time, and no page.
func TestUnreliableS3(t *testing.T) {
	t.Parallel()
	bucket, err := url.Parse(blobtest.NewS3Server(t).NewBucket(t))
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(bucket.Query().Get("endpoint"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := newUnreliableProxy(server, 6)
	front := httptest.NewServer(proxy)
	defer front.Close()
	cfg := testConfig(t.TempDir())
	bucket.RawQuery = url.Values{"endpoint": {front.URL}}.Encode()
	cfg.Blobs = bucket.String()
	p, _ := startIn(t, cfg)
	for _, f := range []pdftest.File{pdftest.BornDigital(24), smallMixed()} {
		proxy.mended.Store(false)
		j := p.run(t, f)
		proxy.mended.Store(true) // a client that reads a result is told to try again, and this one does not
		p.checkWhole(t, f, j)
	}
	for way := range proxy.counts {
		if n := proxy.counts[way].Load(); n == 0 {
			t.Errorf("no answer was spoiled in way %d", way)
		}
	}
}
