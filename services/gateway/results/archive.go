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
		map[string]string{"filename": string(all.id) + ".zip"}))
	h.Set("Cache-Control", "private, no-cache")
	if r.Method == http.MethodHead {
		return // no client would read the archive
	}
	if err := s.limits.HoldMemory(ctx, archiveMemory); err != nil {
		s.errors.WriteError(w, r, "GET archive", err)
		return
	}
	var packed bytes.Buffer // what is compressed and not sent
	archive := zip.NewWriter(&packed)
	for _, key := range all.keys {
		err := s.addToArchive(r, archive, key, strings.TrimPrefix(key, all.folder), func() error {
			_, err := packed.WriteTo(w)
			return err
		})
		if err == nil {
			continue
		}
		if !errors.Is(err, blob.ErrNotFound) { // else the job was removed since, or run again
			s.errors.ReportError(ctx, "GET archive", err)
		}
		panic(http.ErrAbortHandler) // the client must see that the archive is not whole
	}
	// A client that hung up has no use for the rest.
	_ = archive.Close()
	_, _ = packed.WriteTo(w)
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
	if len(all.keys) == 0 && !jobview.HasResults(rec.State) && rec.ResultRun == 0 {
		return all, jobview.ErrNoResult(rec)
	}
	return all, checkArtifactCount(rec, len(all.keys))
}

// addToArchive compresses an artifact by pieces, in turn with other tenants' work; send passes on what there is, while
// others have the processor.
func (s *Service) addToArchive(r *http.Request, archive *zip.Writer, key, name string, send func() error) error {
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
	if media == rest.PDFType || strings.HasPrefix(media, "image/") && media != "image/svg+xml" {
		h.Method = zip.Store // compressed already
	}
	to, err := archive.CreateHeader(h)
	for more := true; more && err == nil; {
		if more, err = packPiece(r.Context(), s.limits, to, from); err == nil {
			err = send()
		}
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// packPiece compresses the next piece of an artifact, and reports whether there may be more.
func packPiece(ctx context.Context, limit *limits.Service, to io.Writer, from io.Reader) (more bool, err error) {
	release, err := limit.AcquireProcessor(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	_, err = io.CopyN(to, from, archivePiece)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return true, err
}
