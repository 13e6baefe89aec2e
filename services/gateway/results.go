package gateway

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

const (
	zipType = "application/zip"
	// minGzip is the size from which on an answer is worth compressing. What fits into a packet or two, as most jobs do, arrives no sooner for it,
	// and would cost both sides more than all the rest of the request.
	minGzip = 2 << 10
)

// conditional serves what next answers with an entity tag, so that who has it already is told so, and in parts to who asks for a part. What next
// answers is held in memory.
func conditional(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := &held{header: w.Header(), status: http.StatusOK}
		next.ServeHTTP(got, r)
		if got.status != http.StatusOK {
			w.WriteHeader(got.status)
			_, _ = w.Write(got.body.Bytes()) // a client that hung up has no use for it
			return
		}
		sum := sha256.Sum256(got.body.Bytes())
		h := w.Header()
		h.Set("Etag", `"`+hex.EncodeToString(sum[:12])+`"`)
		h.Set("Cache-Control", "private, no-cache")
		h.Del("Content-Length")
		serveContent(w, r, time.Time{}, bytes.NewReader(got.body.Bytes()))
	})
}

// rangeWrong is the answer where a part is asked for that the content does not have.
const rangeWrong fault.Code = "RANGE_NOT_SATISFIABLE"

// serveContent is http.ServeContent with the API's error where there is no such part.
func serveContent(w http.ResponseWriter, r *http.Request, changed time.Time, content io.ReadSeeker) {
	http.ServeContent(&partResponse{ResponseWriter: w, request: r}, r, "", changed, content)
}

// partResponse puts the API's error in the place of net/http's, which is text.
type partResponse struct {
	http.ResponseWriter
	request *http.Request
	refused bool
}

// WriteHeader passes the status on, with an error where the part is refused.
func (p *partResponse) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	p.refused = true
	p.Header().Del("Content-Disposition")
	writeStatus(p.ResponseWriter, p.request, statusOf(fault.New(rangeWrong, "the range is malformed, or begins behind the end")))
}

// Write passes bytes on, but the text of an error.
func (p *partResponse) Write(data []byte) (int, error) {
	if p.refused {
		return len(data), nil
	}
	return p.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (p *partResponse) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// held keeps an answer.
type held struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the answer's header.
func (a *held) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *held) WriteHeader(status int) { a.status = status }

// Write keeps the bytes.
func (a *held) Write(p []byte) (int, error) { return a.body.Write(p) }

// gzipWriters are used again: each holds more than a megabyte. They are quick rather than tight, for most answers are short.
var gzipWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // a level that there is
	return z
}}

// compressed serves what next answers with gzip where the client takes it and it is worth it: text and JSON of some length that is no part of a
// longer whole. Streams of events pass as they are.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z := &gzipResponse{ResponseWriter: w, takes: r.Method == http.MethodGet && r.Header.Get("Range") == "" && takesGzip(r)}
		defer z.close()
		next.ServeHTTP(z, r)
	})
}

// takesGzip reports whether the client takes gzip.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); name != "*" && !strings.EqualFold(name, "gzip") {
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
	takes   bool // the client takes gzip, of the whole answer
	decided bool
	zip     *gzip.Writer // nil where the answer passes as it is
}

// WriteHeader decides, and passes the status on.
func (z *gzipResponse) WriteHeader(status int) {
	if !z.decided && status >= http.StatusOK {
		z.decided = true
		z.decide(status)
	}
	z.ResponseWriter.WriteHeader(status)
}

func (z *gzipResponse) decide(status int) {
	h := z.Header()
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if !compressible(media) && status != http.StatusNotModified { // which no longer says of what type it would be
		return
	}
	h.Add("Vary", "Accept-Encoding") // on the plain form too, or a cache gives that to all
	length, err := strconv.Atoi(h.Get("Content-Length"))
	if !z.takes || status != http.StatusOK || h.Get("Content-Encoding") != "" || err == nil && length < minGzip {
		return
	}
	h.Set("Content-Encoding", "gzip")
	h.Del("Content-Length")
	h.Del("Accept-Ranges")
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("Etag", "W/"+tag) // other bytes, the same content
	}
	z.zip, _ = gzipWriters.Get().(*gzip.Writer)
	z.zip.Reset(z.ResponseWriter)
}

// compressible reports whether answers of that type shrink. Event streams are none: each event goes out at once.
func compressible(media string) bool {
	switch media {
	case jsonType, "application/xml", "image/svg+xml", "application/javascript", "application/x-jsonlines", "application/jsonl":
		return true
	case eventStreamType:
		return false
	}
	return strings.HasPrefix(media, "text/")
}

// Write compresses the bytes, or passes them on.
func (z *gzipResponse) Write(p []byte) (int, error) {
	if !z.decided {
		z.WriteHeader(http.StatusOK)
	}
	if z.zip != nil {
		return z.zip.Write(p)
	}
	return z.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (z *gzipResponse) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func (z *gzipResponse) close() {
	if z.zip == nil {
		return
	}
	// A client that hung up has no use for the rest.
	_ = z.zip.Close()
	z.zip.Reset(io.Discard)
	gzipWriters.Put(z.zip)
}

// restArchive is GET /v1/jobs/{id}/artifacts.zip: every artifact of the job, as the archive is written.
func (s *Service) restArchive(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	all, err := reading(ctx, s, r.PathValue("id"), func(rec *job.Record) (listed, error) { return s.toArchive(ctx, rec) })
	if err != nil {
		s.writeError(w, r, "GET archive", err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", zipType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": string(all.id) + ".zip"}))
	h.Set("Cache-Control", "private, no-cache")
	if r.Method == http.MethodHead {
		return // the archive would be made for nobody
	}
	archive := zip.NewWriter(w)
	for _, key := range all.keys {
		err := s.addToArchive(r, archive, key, strings.TrimPrefix(key, all.folder))
		if err == nil {
			continue
		}
		if !errors.Is(err, blob.ErrNotFound) { // else the job was removed meanwhile, or run again
			s.report(ctx, "GET archive", err)
		}
		panic(http.ErrAbortHandler) // the client must see that the archive is not whole
	}
	// A client that hung up has no use for the rest.
	_ = archive.Close()
}

// listed is what an archive holds.
type listed struct {
	id     job.ID
	folder string
	keys   []string
}

// toArchive lists a job's artifacts, all of them before anything is answered: a list that breaks off looks like one that is short.
func (s *Service) toArchive(ctx context.Context, rec *job.Record) (listed, error) {
	all := listed{id: rec.ID, folder: job.ArtifactFolder(rec.Tenant, rec.ID, rec.ArtifactsRun())}
	if !rec.State.Final() && rec.ResultRun == 0 {
		return all, fault.New(fault.NotReady, "the job is %s; its artifacts come when it has ended", rec.State)
	}
	for entry, err := range s.env.Blobs.List(ctx, all.folder) {
		if err != nil {
			return all, err
		}
		all.keys = append(all.keys, entry.Key)
	}
	if len(all.keys) == 0 && !yields(rec.State) && rec.ResultRun == 0 {
		return all, errNoResult(rec)
	}
	return all, whole(rec, len(all.keys))
}

func (s *Service) addToArchive(r *http.Request, archive *zip.Writer, key, name string) error {
	attrs, err := s.env.Blobs.Stat(r.Context(), key)
	var from io.ReadCloser
	if err == nil {
		from, err = s.env.Blobs.Get(r.Context(), key)
	}
	if err != nil {
		return err
	}
	defer from.Close()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: attrs.ModTime}
	media, _, _ := mime.ParseMediaType(attrs.ContentType)
	if media == pdfType || strings.HasPrefix(media, "image/") && media != "image/svg+xml" {
		h.Method = zip.Store // compressed already
	}
	to, err := archive.CreateHeader(h)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}
