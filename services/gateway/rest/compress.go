package rest

import (
	"bytes"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const (
	// minGzipBytes is the size from which on an answer is worth compressing. What fits into a packet or two, as most
	// jobs do, arrives no sooner for it, and would cost both sides more than all the rest of the request.
	minGzipBytes = 2 << 10
)

// gzipWriters are used again: each holds more than a megabyte. They are quick rather than tight, for most answers are
// short.
var gzipWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // a level that there is
	return z
}}

// withCompression serves what next answers with gzip where the client takes it and it is worth it: text and
// JSON of some length that is no part of a longer whole. Streams of events pass as they are.
func (s *Shell) withCompression(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z := &gzipResponse{ResponseWriter: w, accepted: r.Method == http.MethodGet && r.Header.Get("Range") == "" &&
			AcceptsEncoding(r, "gzip")}
		z.acquire = func() (func(), error) { return s.cfg.Limits.AcquireProcessor(r.Context()) }
		defer z.closeCompressor()
		next.ServeHTTP(z, r)
	})
}

// AcceptsEncoding reports whether the client takes a content coding. Any coding means gzip alone: not all clients that
// say so have thought of others.
func AcceptsEncoding(r *http.Request, encoding string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		if !strings.EqualFold(name, encoding) && (name != "*" || encoding != "gzip") {
			continue
		}
		q, found := strings.CutPrefix(strings.TrimSpace(params), "q=")
		if weight, err := strconv.ParseFloat(q, 64); found && err == nil && weight == 0 {
			return false
		}
		return true
	}
	return false
}

// gzipResponse decides by an answer's header whether to compress it.
type gzipResponse struct {
	http.ResponseWriter
	accepted   bool // the client takes gzip, of the whole answer
	decided    bool
	compressor *gzip.Writer // nil where the answer passes as it is
	packed     bytes.Buffer // what is compressed and not sent
	// acquire waits for a processor, which tenants share.
	acquire func() (release func(), err error)
}

// WriteHeader decides, and passes the status on.
func (z *gzipResponse) WriteHeader(status int) {
	if !z.decided && status >= http.StatusOK {
		z.decided = true
		z.decideCompression(status)
	}
	z.ResponseWriter.WriteHeader(status)
}

func (z *gzipResponse) decideCompression(status int) {
	h := z.Header()
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if !isCompressible(media) && status != http.StatusNotModified { // which no longer says of what type it would be
		return
	}
	h.Add("Vary", "Accept-Encoding")     // on the plain form too, or a cache gives that to all
	if h.Get("Content-Encoding") != "" { // it is compressed already, and parts are given out of the plain form
		h.Del("Accept-Ranges")
		return
	}
	length, err := strconv.Atoi(h.Get("Content-Length"))
	if !z.accepted || status != http.StatusOK || err == nil && length < minGzipBytes {
		return
	}
	h.Set("Content-Encoding", "gzip")
	h.Del("Content-Length")
	h.Del("Accept-Ranges")
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("Etag", "W/"+tag) // other bytes, the same content
	}
	z.compressor, _ = gzipWriters.Get().(*gzip.Writer)
	z.compressor.Reset(&z.packed)
}

// isCompressible reports whether answers of that type shrink. Event streams are none: each event goes out at once.
func isCompressible(media string) bool {
	switch media {
	case JSONType, "application/xml", "image/svg+xml", "application/javascript", "application/x-jsonlines",
		"application/jsonl":
		return true
	case EventStreamType:
		return false
	}
	return strings.HasPrefix(media, "text/")
}

// Write compresses the bytes, or passes them on.
func (z *gzipResponse) Write(p []byte) (int, error) {
	if !z.decided {
		z.WriteHeader(http.StatusOK)
	}
	if z.compressor == nil {
		return z.ResponseWriter.Write(p)
	}
	release, err := z.acquire()
	if err != nil {
		return 0, err
	}
	n, err := z.compressor.Write(p)
	release()
	if err == nil {
		_, err = z.packed.WriteTo(z.ResponseWriter) // without the processor, because a client may be slow
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (z *gzipResponse) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func (z *gzipResponse) closeCompressor() {
	if z.compressor == nil {
		return
	}
	// A client that hung up has no use for the rest.
	_ = z.compressor.Close()
	_, _ = z.packed.WriteTo(z.ResponseWriter)
	z.compressor.Reset(io.Discard)
	gzipWriters.Put(z.compressor)
}
