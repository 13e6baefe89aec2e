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
	// minGzipBytes is the size from which on an answer is worth compressing. What fits into a packet or two, as most
	// jobs do, arrives no sooner for it, and would cost both sides more than all the rest of the request.
	minGzipBytes = 2 << 10
)

// withConditionalGet serves what next answers with an entity tag, so that who has it already is told so, and in parts
// to who asks for a part. What next answers is held in memory.
func withConditionalGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := &bufferedResponse{header: w.Header(), status: http.StatusOK}
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

// rangeNotSatisfiable is the answer where a part is asked for that the content does not have.
const rangeNotSatisfiable fault.Code = "RANGE_NOT_SATISFIABLE"

// serveContent is http.ServeContent with the API's error where there is no such part.
func serveContent(w http.ResponseWriter, r *http.Request, changed time.Time, content io.ReadSeeker) {
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
	writeStatus(p.ResponseWriter, p.request,
		statusFromError(fault.New(rangeNotSatisfiable, "the range is malformed, or begins behind the end")))
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

// gzipWriters are used again: each holds more than a megabyte. They are quick rather than tight, for most answers are
// short.
var gzipWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // a level that there is
	return z
}}

// withCompression serves what next answers with gzip where the client takes it and it is worth it: text and
// JSON of some length that is no part of a longer whole. Streams of events pass as they are.
func withCompression(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z := &gzipResponse{ResponseWriter: w, accepted: r.Method == http.MethodGet && r.Header.Get("Range") == "" &&
			acceptsGzip(r)}
		defer z.closeCompressor()
		next.ServeHTTP(z, r)
	})
}

// acceptsGzip reports whether the client takes gzip.
func acceptsGzip(r *http.Request) bool {
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
	accepted   bool // the client takes gzip, of the whole answer
	decided    bool
	compressor *gzip.Writer // nil where the answer passes as it is
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
	h.Add("Vary", "Accept-Encoding") // on the plain form too, or a cache gives that to all
	length, err := strconv.Atoi(h.Get("Content-Length"))
	if !z.accepted || status != http.StatusOK || h.Get("Content-Encoding") != "" || err == nil && length < minGzipBytes {
		return
	}
	h.Set("Content-Encoding", "gzip")
	h.Del("Content-Length")
	h.Del("Accept-Ranges")
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("Etag", "W/"+tag) // other bytes, the same content
	}
	z.compressor, _ = gzipWriters.Get().(*gzip.Writer)
	z.compressor.Reset(z.ResponseWriter)
}

// isCompressible reports whether answers of that type shrink. Event streams are none: each event goes out at once.
func isCompressible(media string) bool {
	switch media {
	case jsonType, "application/xml", "image/svg+xml", "application/javascript", "application/x-jsonlines",
		"application/jsonl":
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
	if z.compressor != nil {
		return z.compressor.Write(p)
	}
	return z.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (z *gzipResponse) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func (z *gzipResponse) closeCompressor() {
	if z.compressor == nil {
		return
	}
	// A client that hung up has no use for the rest.
	_ = z.compressor.Close()
	z.compressor.Reset(io.Discard)
	gzipWriters.Put(z.compressor)
}

// handleArchive is GET /v1/jobs/{id}/artifacts.zip: every artifact of the job, as the archive is written.
func (s *Service) handleArchive(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	all, err := readWithRecord(ctx, s, r.PathValue("id"),
		func(rec *job.Record) (archiveContents, error) { return s.listArchiveContents(ctx, rec) })
	if err != nil {
		s.writeError(w, r, "GET archive", err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", zipType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": string(all.id) + ".zip"}))
	h.Set("Cache-Control", "private, no-cache")
	if r.Method == http.MethodHead {
		return // no client would read the archive
	}
	archive := zip.NewWriter(w)
	for _, key := range all.keys {
		err := s.addToArchive(r, archive, key, strings.TrimPrefix(key, all.folder))
		if err == nil {
			continue
		}
		if !errors.Is(err, blob.ErrNotFound) { // else the job was removed since, or run again
			s.reportError(ctx, "GET archive", err)
		}
		panic(http.ErrAbortHandler) // the client must see that the archive is not whole
	}
	// A client that hung up has no use for the rest.
	_ = archive.Close()
}

// archiveContents is what an archive holds.
type archiveContents struct {
	id     job.ID
	folder string
	keys   []string
}

// listArchiveContents lists a job's artifacts, all of them before anything is answered: a list that breaks off looks
// like one that is short.
func (s *Service) listArchiveContents(ctx context.Context, rec *job.Record) (archiveContents, error) {
	all := archiveContents{id: rec.ID, folder: job.ArtifactFolder(rec.Tenant, rec.ID, rec.ArtifactsRun())}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return all, fault.New(fault.NotReady, "the job is %s; its artifacts come when it has ended", rec.State)
	}
	for entry, err := range s.deps.Blobs.ListBlobs(ctx, all.folder) {
		if err != nil {
			return all, err
		}
		all.keys = append(all.keys, entry.Key)
	}
	if len(all.keys) == 0 && !hasResults(rec.State) && rec.ResultRun == 0 {
		return all, errNoResult(rec)
	}
	return all, checkArtifactCount(rec, len(all.keys))
}

func (s *Service) addToArchive(r *http.Request, archive *zip.Writer, key, name string) error {
	attrs, err := s.deps.Blobs.ReadAttributes(r.Context(), key)
	var from io.ReadCloser
	if err == nil {
		from, err = s.deps.Blobs.Get(r.Context(), key)
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
