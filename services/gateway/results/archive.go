package results

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/rest"
)

const (
	zipType = "application/zip"
	// archivePiece is how much of an artifact is compressed at a time, and archiveMemory what an archive takes: the
	// compressor's tables, a frame of the blob, and a piece.
	archivePiece  = 256 << 10
	archiveMemory = 2 << 20
)

// HandleArchive is GET /v1/jobs/{id}/artifacts.zip: every artifact of the job, as the archive is written.
func (s *Service) HandleArchive(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	all, err := jobview.ReadWithRecord(ctx, s.jobs, r.PathValue("id"),
		func(rec *job.Record) (archiveContents, error) { return s.listArchiveContents(ctx, rec) })
	if err != nil {
		s.errors.WriteError(w, r, "GET archive", err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", zipType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": string(all.job.ID) + ".zip"}))
	h.Set("Cache-Control", "private, no-cache")
	if r.Method == http.MethodHead {
		return // no client would read the archive
	}
	if err := s.limits.HoldMemory(ctx, archiveMemory); err != nil {
		s.errors.WriteError(w, r, "GET archive", err)
		return
	}
	out := newArchiveSender(w)
	for _, name := range all.names {
		err := s.addToArchive(r, out, all.job, name)
		if err == nil {
			continue
		}
		if !errors.Is(err, blob.ErrNotFound) { // else the job was removed since, or run again
			s.errors.ReportError(ctx, "GET archive", err)
		}
		panic(http.ErrAbortHandler) // the client must see that the archive is not whole
	}
	// A client that hung up has no use for the rest.
	_ = out.zip.Close()
	_ = out.send()
}

// archiveSender compresses an archive into memory and sends it on, so that no processor is held while a client is slow.
type archiveSender struct {
	to     io.Writer
	packed bytes.Buffer // what is compressed and not sent
	zip    *zip.Writer
	piece  []byte // of an artifact
}

func newArchiveSender(to io.Writer) *archiveSender {
	out := &archiveSender{to: to, piece: make([]byte, archivePiece)}
	out.zip = zip.NewWriter(&out.packed)
	return out
}

func (a *archiveSender) send() error {
	_, err := a.packed.WriteTo(a.to)
	return err
}

// archiveContents is what an archive holds.
type archiveContents struct {
	job   *job.Record
	names []string // of artifacts
}

// listArchiveContents lists a job's artifacts, all of them before anything is answered: a list that breaks off looks
// like one that is short.
func (s *Service) listArchiveContents(ctx context.Context, rec *job.Record) (archiveContents, error) {
	all := archiveContents{job: rec}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return all, fault.New(fault.NotReady, "the job is %s; its artifacts come when it has ended", rec.State)
	}
	var err error
	if all.names, err = s.artifacts.listNames(ctx, rec); err != nil {
		return all, err
	}
	if len(all.names) == 0 && !jobview.HasResults(rec.State) && rec.ResultRun == 0 {
		return all, jobview.ErrNoResult(rec)
	}
	return all, checkArtifactCount(rec, len(all.names))
}

// addToArchive compresses an artifact by pieces, in turn with other tenants' work, and sends it.
func (s *Service) addToArchive(r *http.Request, out *archiveSender, rec *job.Record, name string) error {
	from, attrs, err := s.artifacts.readFromStart(r.Context(), rec, name)
	if err != nil {
		return err
	}
	defer from.Close()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: attrs.ModTime}
	media, _, _ := mime.ParseMediaType(attrs.ContentType)
	if media == rest.PDFType || strings.HasPrefix(media, "image/") && media != "image/svg+xml" {
		h.Method = zip.Store // compressed already
	}
	to, err := out.zip.CreateHeader(h)
	for more := true; more && err == nil; {
		var n int
		if n, err = io.ReadFull(from, out.piece); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			more, err = false, nil
		}
		if err == nil {
			err = packPiece(r.Context(), s.limits, to, out.piece[:n])
		}
		if err == nil {
			err = out.send()
		}
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// readFromStart reads an artifact from its beginning. The error wraps [blob.ErrNotFound] if there is none.
func (s *artifactStore) readFromStart(ctx context.Context, rec *job.Record, name string) (io.ReadCloser, blob.Attributes, error) {
	key := job.ArtifactKey(rec.Tenant, rec.ID, rec.ArtifactsRun(), name)
	attrs, err := s.blobs.ReadAttributes(ctx, key)
	if name == jsonName && errors.Is(err, blob.ErrNotFound) {
		r, attrs, err := s.openAssembledJSON(ctx, rec)
		if err == nil {
			err = s.limits.HoldMemory(ctx, r.memory())
		}
		return r, attrs, err
	}
	if err != nil {
		return nil, attrs, err
	}
	r, err := s.blobs.Get(ctx, key)
	return r, attrs, err
}

// packPiece compresses a piece of an artifact. It was read before, for the blob store may be slow too.
func packPiece(ctx context.Context, limit *limits.Service, to io.Writer, piece []byte) error {
	release, err := limit.AcquireProcessor(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, err = to.Write(piece)
	return err
}
