package results

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/rest"
)

const (
	// downloadChunk is the data of one message of a download.
	downloadChunk = 256 << 10
	// packedMemory is what a download takes of a blob that is unpacked for it, or packed, and plainMemory what any other
	// takes.
	packedMemory, plainMemory = 1 << 20, 128 << 10
	// maxArtifactName bounds the name that a client may ask for.
	maxArtifactName = 255
)

// ListArtifacts answers what the job has yielded. A job that has not ended has yielded nothing yet, but what an
// earlier run of it has.
func (s *Service) ListArtifacts(ctx context.Context,
	req *inkstreamv1.ListArtifactsRequest) (*inkstreamv1.ListArtifactsResponse, error) {
	return jobview.ReadWithRecord(ctx, s.jobs, req.GetId(),
		func(rec *job.Record) (*inkstreamv1.ListArtifactsResponse, error) { return s.listArtifacts(ctx, rec) })
}

func (s *Service) listArtifacts(ctx context.Context, rec *job.Record) (*inkstreamv1.ListArtifactsResponse, error) {
	res := &inkstreamv1.ListArtifactsResponse{}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return res, nil
	}
	names, err := s.artifacts.listNames(ctx, rec)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		attrs, err := s.artifacts.readAttributes(ctx, rec, name)
		if errors.Is(err, blob.ErrNotFound) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		res.Artifacts = append(res.Artifacts, &inkstreamv1.Artifact{
			Name: name, ContentType: attrs.ContentType,
			SizeBytes: uint32(min(attrs.Size, math.MaxUint32)), CreateTime: jobview.TimeToProto(attrs.ModTime),
		})
	}
	return res, checkArtifactCount(rec, len(res.GetArtifacts()))
}

// artifactStore reads the artifacts of jobs. It is safe for concurrent use.
type artifactStore struct {
	blobs  *blob.Store
	limits *limits.Service
}

// listNames returns the names of what the job has yielded, in their order.
func (s *artifactStore) listNames(ctx context.Context, rec *job.Record) (names []string, err error) {
	folder := job.ArtifactFolder(rec.Tenant, rec.ID, rec.ArtifactsRun())
	for entry, err := range s.blobs.ListBlobs(ctx, folder) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(entry.Key, folder))
	}
	at, found := slices.BinarySearch(names, jsonName)
	if found {
		return names, nil
	}
	_, err = s.blobs.ReadAttributes(ctx, job.JSONIndexKey(rec.Tenant, rec.ID, rec.ArtifactsRun()))
	if errors.Is(err, blob.ErrNotFound) {
		return names, nil
	}
	return slices.Insert(names, at, jsonName), err
}

// readAttributes describes an artifact.
func (s *artifactStore) readAttributes(ctx context.Context, rec *job.Record, name string) (blob.Attributes, error) {
	attrs, err := s.blobs.ReadAttributes(ctx, job.ArtifactKey(rec.Tenant, rec.ID, rec.ArtifactsRun(), name))
	if name == jsonName && errors.Is(err, blob.ErrNotFound) {
		_, attrs, err = s.openAssembledJSON(ctx, rec)
	}
	return attrs, err
}

// checkArtifactCount returns an error where the blob store has fewer artifacts of a job than it yielded: what is left
// must not pass for all.
func checkArtifactCount(rec *job.Record, there int) error {
	if there >= rec.Artifacts {
		return nil
	}
	return fault.New(fault.ArtifactNotFound,
		"the blob store has only %d of the job's %d artifacts; those can be had by their names, and a retry with all=true makes them anew",
		there, rec.Artifacts)
}

// artifact is an artifact that is open for reading.
type artifact struct {
	io.ReadSeekCloser
	blob.Attributes

	name   string
	etag   string
	zstd   io.ReadSeeker // the same bytes compressed, nil where they are not stored so
	memory int64         // how many bytes of it handing the artifact out takes
}

// openArtifact opens what the job has yielded under that name; the caller closes it.
func (s *Service) openArtifact(ctx context.Context, id, name string) (*artifact, error) {
	return jobview.ReadWithRecord(ctx, s.jobs, id, func(rec *job.Record) (*artifact, error) { return s.openArtifactOf(ctx, rec, name) })
}

func (s *Service) openArtifactOf(ctx context.Context, rec *job.Record, name string) (*artifact, error) {
	if !isArtifactName(name) {
		return nil, errNoArtifact()
	}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return nil, fault.New(fault.NotReady, "the job is %s; its artifacts come when it has ended", rec.State)
	}
	a, err := s.artifacts.openStored(ctx, rec, name)
	if name == jsonName && errors.Is(err, blob.ErrNotFound) {
		a, err = s.artifacts.openJSON(ctx, rec)
	}
	if errors.Is(err, blob.ErrNotFound) {
		return nil, missingArtifactError(rec, name)
	}
	if err != nil {
		return nil, fmt.Errorf("open artifact: %w", err)
	}
	return a, nil
}

// openStored opens an artifact that is a blob.
func (s *artifactStore) openStored(ctx context.Context, rec *job.Record, name string) (*artifact, error) {
	key := job.ArtifactKey(rec.Tenant, rec.ID, rec.ArtifactsRun(), name)
	attrs, err := s.blobs.ReadAttributes(ctx, key)
	if err != nil {
		return nil, err
	}
	r, err := s.blobs.OpenBlob(ctx, key)
	if err != nil {
		return nil, err
	}
	a := &artifact{ReadSeekCloser: r, Attributes: attrs, name: path.Base(name), etag: computeETag(key, attrs), memory: plainMemory}
	if zstd, compressed := r.Compressed(); compressed {
		a.zstd, a.memory = zstd, packedMemory
	}
	return a, nil
}

// openJSON opens document.json where an index of it is stored.
func (s *artifactStore) openJSON(ctx context.Context, rec *job.Record) (*artifact, error) {
	r, attrs, err := s.openAssembledJSON(ctx, rec)
	if err != nil {
		return nil, err
	}
	key := job.JSONIndexKey(rec.Tenant, rec.ID, rec.ArtifactsRun())
	return &artifact{ReadSeekCloser: r, Attributes: attrs, name: jsonName, etag: computeETag(key, attrs), memory: r.memory()}, nil
}

// missingArtifactError says what it means that a job which has ended has no artifact of some name. One that was cut
// short may have written others before.
func missingArtifactError(rec *job.Record, name string) error {
	if jobview.HasResults(rec.State) || rec.ResultRun > 0 ||
		!job.IsArtifactFile(name) {
		return errNoArtifact()
	}
	return jobview.ErrNoResult(rec)
}

func errNoArtifact() error {
	return fault.New(fault.ArtifactNotFound, "the job has no such artifact")
}

// isArtifactName accepts the names that the pipeline gives: they cannot lead out of the job's folder.
func isArtifactName(name string) bool {
	for i := range len(name) {
		b := name[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("._-/", b) >= 0) {
			return false
		}
	}
	return len(name) <= maxArtifactName && name != "." && fs.ValidPath(name)
}

// computeETag names the artifact's bytes. An artifact is written once, or again with the same content after a crash.
func computeETag(key string, a blob.Attributes) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", key, a.Size, a.ModTime.UnixNano()))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// DownloadArtifact streams an artifact.
func (s *Service) DownloadArtifact(req *inkstreamv1.DownloadArtifactRequest,
	stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	a, err := s.openArtifact(stream.Context(), req.GetId(), req.GetName())
	if err != nil {
		return err
	}
	defer a.Close()
	if err := s.limits.HoldMemory(stream.Context(), a.memory+downloadChunk); err != nil {
		return err
	}
	for first := true; ; first = false {
		buf := make([]byte, downloadChunk) // a new one each time: a stats handler may read a message after it was sent
		n, err := io.ReadFull(a, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("read artifact: %w", err))
		}
		if n > 0 || first { // an empty artifact is one empty message, which has the content type
			part := &httpbody.HttpBody{Data: buf[:n]}
			if first {
				part.ContentType = a.ContentType
			}
			if err := s.limits.SendWithTimeout(func() error { return stream.Send(part) }); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// HandleDownload is GET /v1/jobs/{id}/artifacts/{name}. Ranges and conditions are net/http's.
func (s *Service) HandleDownload(w http.ResponseWriter, r *http.Request) {
	if err := s.ServeArtifact(w, r, r.PathValue("name")); err != nil {
		s.errors.WriteError(w, r, "GET artifact", err)
	}
}

// encodeFor returns the artifact in the form in which the client gets it: as it is stored, if that is compressed and the
// client takes zstd, or as it was written. Parts are always of the latter.
func (a *artifact) encodeFor(r *http.Request, h http.Header) io.ReadSeeker {
	if a.zstd == nil || r.Header.Get("Range") != "" || !rest.AcceptsEncoding(r, "zstd") {
		return a
	}
	h.Set("Content-Encoding", "zstd")
	h.Set("Etag", "W/"+a.etag) // other bytes, the same content
	return a.zstd
}

// ServeArtifact answers an artifact of the job that the address names. An error means that nothing is answered yet.
func (s *Service) ServeArtifact(w http.ResponseWriter, r *http.Request, name string) error {
	a, err := s.openArtifact(r.Context(), r.PathValue("id"), name)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := s.limits.HoldMemory(r.Context(), a.memory); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", a.ContentType)
	// Never shown inline: what a document holds must not run in the API's origin.
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.name}))
	h.Set("Etag", a.etag)
	h.Set("Cache-Control", "private, no-cache")
	content := &checkedReader{ReadSeeker: a.encodeFor(r, h)}
	rest.ServeContent(w, r, a.ModTime, content)
	if content.err != nil {
		s.errors.ReportError(r.Context(), "GET artifact", content.err)
		panic(http.ErrAbortHandler) // the client must see that the artifact is not whole, compressed or not
	}
	return nil
}

// checkedReader keeps the error that ends a reading early.
type checkedReader struct {
	io.ReadSeeker

	err error
}

// Read passes bytes on.
func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
