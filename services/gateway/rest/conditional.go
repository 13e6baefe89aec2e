package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

// maxRanges bounds the parts that one answer has: each costs a header and a seek, and a request has room for
// hundreds of thousands. Readers of PDFs ask for a few.
const maxRanges = 32

// WithConditionalGet serves what next answers with an entity tag, so that who has it already is told so, and in parts
// to who asks for a part. What next answers is held in memory.
func WithConditionalGet(next http.Handler) http.Handler {
	return serveTagged(next, func(body []byte) (tag, cacheControl string) {
		sum := sha256.Sum256(body)
		return `"` + hex.EncodeToString(sum[:12]) + `"`, "private, no-cache"
	})
}

// WithEntityTag serves what next answers with an entity tag that was known before, and says how long it may be kept.
func WithEntityTag(next http.Handler, tag, cacheControl string) http.Handler {
	return serveTagged(next, func([]byte) (string, string) { return tag, cacheControl })
}

func serveTagged(next http.Handler, describe func(body []byte) (tag, cacheControl string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := &bufferedResponse{header: w.Header(), status: http.StatusOK}
		next.ServeHTTP(got, r)
		if got.status != http.StatusOK {
			w.WriteHeader(got.status)
			_, _ = w.Write(got.body.Bytes()) // a client that hung up has no use for it
			return
		}
		h := w.Header()
		tag, cacheControl := describe(got.body.Bytes())
		h.Set("Etag", tag)
		h.Set("Cache-Control", cacheControl)
		h.Del("Content-Length")
		ServeContent(w, r, time.Time{}, bytes.NewReader(got.body.Bytes()))
	})
}

// Digest is what an answer's header says of an answer that is not in memory.
type Digest struct {
	tag  string
	size int
}

// DigestAnswer digests what write writes.
func DigestAnswer(write func(io.Writer) error) (Digest, error) {
	sum := sha256.New()
	n := countingWriter{to: sum}
	if err := write(&n); err != nil {
		return Digest{}, err
	}
	return Digest{tag: `"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`, size: n.written}, nil
}

// ServeTagged answers what write writes, each time the same, with its entity tag. Only where a part is asked for, all of
// it is in memory.
func ServeTagged(w http.ResponseWriter, r *http.Request, d Digest, write func(io.Writer) error) error {
	h := w.Header()
	h.Set("Etag", d.tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Del("Content-Length")
	switch {
	case r.Header.Get("Range") != "" || r.Header.Get("If-Match") != "":
		all := bytes.NewBuffer(make([]byte, 0, d.size))
		if err := write(all); err != nil {
			return err
		}
		ServeContent(w, r, time.Time{}, bytes.NewReader(all.Bytes()))
		return nil
	case MatchesEntityTag(r.Header.Values("If-None-Match"), d.tag):
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.Itoa(d.size))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_ = write(w) // a client that hung up has no use for the rest
	}
	return nil
}

// countingWriter counts what it passes on.
type countingWriter struct {
	to      io.Writer
	written int
}

// Write passes bytes on.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.written += n
	return n, err
}

// MatchesEntityTag reports whether one of the tags of If-None-Match is this one (RFC 9110 §13.1.2).
func MatchesEntityTag(given []string, tag string) bool {
	for _, list := range given {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// ServeContent is http.ServeContent with the API's error where there is no such part.
func ServeContent(w http.ResponseWriter, r *http.Request, changed time.Time, content io.ReadSeeker) {
	if strings.Count(strings.Join(r.Header.Values("Range"), ","), ",") >= maxRanges {
		r = r.Clone(r.Context())
		r.Header.Del("Range") // all of it is an answer to any ranges (RFC 9110 §14.2)
	}
	http.ServeContent(&rangeResponse{ResponseWriter: w, request: r}, r, "", changed, content)
}

// rangeResponse puts the API's error in the place of net/http's, which is text.
type rangeResponse struct {
	http.ResponseWriter
	request *http.Request
	refused bool
}

// WriteHeader passes the status on, with an error where the part is refused.
func (p *rangeResponse) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.refused = true
	p.Header().Del("Content-Disposition")
	apierror.WriteStatus(p.ResponseWriter, p.request,
		apierror.StatusOf(fault.New(apierror.RangeNotSatisfiable, "the range is malformed, or begins behind the end")))
}

// Write passes bytes on, but the text of an error.
func (p *rangeResponse) Write(data []byte) (int, error) {
	if p.refused {
		return len(data), nil
	}
	return p.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (p *rangeResponse) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// bufferedResponse keeps an answer.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the answer's header.
func (a *bufferedResponse) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *bufferedResponse) WriteHeader(status int) { a.status = status }

// Write keeps the bytes.
func (a *bufferedResponse) Write(p []byte) (int, error) { return a.body.Write(p) }
