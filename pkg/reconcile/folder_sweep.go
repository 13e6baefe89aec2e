package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// maxManifestBytes bounds a manifest.
const maxManifestBytes = 1 << 20

// jobFolder is what a listing says of a job's blobs.
type jobFolder struct {
	ref        bus.JobRef
	newestTime time.Time
	// manifestTime is when the manifest was stored; zero where there is none.
	manifestTime time.Time
	// hasSource says that the document is there. Stores show it only when it is whole.
	hasSource bool
}

// folderSweep decides during one pass what becomes of the folders of jobs that it finds in the blob store.
type folderSweep struct {
	r      *Reconciler
	report *Report
}

// classifyFolders judges every folder whose keys begin with the prefix.
func (s *folderSweep) classifyFolders(ctx context.Context, prefix string) error {
	var errs []error
	var at jobFolder
	judge := func() {
		if at.ref.Job != "" {
			errs = append(errs, wrapJobError(at.ref, "look after blobs of", s.classifyFolder(ctx, at)))
		}
	}
	for e, err := range s.r.deps.Blobs.ListBlobs(ctx, prefix) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		ref, name, ok := splitBlobKey(e.Key)
		if !ok {
			continue // not a blob of a job
		}
		if ref != at.ref {
			judge()
			at = jobFolder{ref: ref}
		}
		if e.ModTime.After(at.newestTime) {
			at.newestTime = e.ModTime
		}
		switch name {
		case "manifest.json":
			at.manifestTime = e.ModTime
		case "source.pdf":
			at.hasSource = true
		}
	}
	judge()
	return errors.Join(errs...)
}

// splitBlobKey takes a blob's key apart: whose it is, and its name in the job's folder.
func splitBlobKey(key string) (ref bus.JobRef, name string, ok bool) {
	tenant, rest, ok := strings.Cut(key, "/")
	if !ok {
		return ref, "", false
	}
	id, name, ok := strings.Cut(rest, "/")
	if !ok {
		return ref, "", false
	}
	if parsed, err := job.ParseID(id); err != nil || string(parsed) != id {
		return ref, "", false
	}
	return bus.JobRef{Tenant: tenant, Job: id}, name, true
}

// classifyFolder decides about a job's folder: it stays where there is a record, becomes a job where there is a
// manifest, or a document that is older than the bucket of jobs, and goes otherwise.
func (s *folderSweep) classifyFolder(ctx context.Context, f jobFolder) error {
	s.r.uploads.tenants.addName(f.ref.Tenant)
	if _, known := s.r.uploads.known[f.ref]; known {
		return nil
	}
	now := s.r.now()
	stray := now.Sub(f.newestTime) > s.r.cfg.OrphanAge
	rec, err := s.r.deps.Jobs.LoadRecord(ctx, f.ref.Tenant, job.ID(f.ref.Job))
	switch {
	case err == nil && rec.IsTombstone() && stray:
		// A worker that was at it when the job was removed wrote once more.
		s.report.Discarded++
		return s.r.deps.JobService().RemoveJobData(ctx, rec, s.r.index)
	case err == nil:
		return nil
	case !errors.Is(err, job.ErrNotFound):
		return err
	case !f.manifestTime.IsZero() && now.Sub(f.manifestTime) > s.r.cfg.UploadGrace:
		return s.adoptManifest(ctx, f, stray)
	case f.manifestTime.IsZero() && stray:
		return s.resolveOrphan(ctx, f, "the upload was never complete")
	}
	return nil
}

// resolveOrphan discards a folder, unless its document may be all that is left of a job.
func (s *folderSweep) resolveOrphan(ctx context.Context, f jobFolder, why string) error {
	lost, err := s.mayBeAcknowledged(ctx, f)
	if err != nil {
		return err
	}
	if lost {
		return s.adoptSource(ctx, f)
	}
	return s.discardFolder(ctx, f, why)
}

// mayBeAcknowledged reports whether a folder without a good manifest may be that of an upload that was acknowledged:
// ingest writes the manifest, so one that waited for ingest has none, and where the upload is older than the bucket
// of jobs, or than an older copy's return, its record may have been in the one that was there before.
func (s *folderSweep) mayBeAcknowledged(ctx context.Context, f jobFolder) (bool, error) {
	if !f.hasSource {
		return false, nil
	}
	if uploadStartTime(f.ref).Before(s.r.restoredAt) {
		return true, nil
	}
	born, err := s.r.deps.Jobs.CreatedAt(ctx)
	return err == nil && uploadStartTime(f.ref).UnixMilli() < born.UnixMilli(), err
}

// uploadStartTime returns when an upload began, which its id tells to the millisecond. What a store says of a blob's
// age is that of a copy, where the blobs were restored.
func uploadStartTime(ref bus.JobRef) time.Time {
	id, err := ulid.ParseStrict(ref.Job)
	if err != nil {
		return time.Now() // does not come up: split has parsed it
	}
	return ulid.Time(id.Time()).UTC()
}

// discardFolder removes a folder that is no job's. A tombstone takes the job's place first: an upload that is still
// on its way, however slow, then finds its id taken when it writes its record, and its client is told to try again.
// Where the upload was faster, the folder is its job's and stays.
func (s *folderSweep) discardFolder(ctx context.Context, f jobFolder, why string) error {
	rec, err := s.r.deps.Jobs.CreateTombstone(ctx, f.ref.Tenant, job.ID(f.ref.Job), s.r.now())
	if err != nil || !rec.NeverCreated() {
		return err
	}
	if err := s.r.deps.Blobs.DeletePrefix(ctx, job.Folder(f.ref.Tenant, job.ID(f.ref.Job))); err != nil {
		return err
	}
	s.report.Discarded++
	s.r.log.InfoContext(ctx, "leftover blobs removed", "job", f.ref.Job, "because", why)
	return nil
}

// adoptManifest makes the job that a manifest tells of: the bucket of jobs has lost it, as after a restore from an
// older copy.
func (s *folderSweep) adoptManifest(ctx context.Context, f jobFolder, stray bool) error {
	m, err := s.loadManifest(ctx, f.ref)
	if err != nil {
		if fault.KindOf(err) != fault.Permanent {
			return err
		}
		if !stray {
			return nil // it may be a store that lags
		}
		return s.resolveOrphan(ctx, f, "its manifest is of no use")
	}
	if !m.ExpireTime.IsZero() && s.r.now().After(m.ExpireTime) {
		return s.discardFolder(ctx, f, "its retention is over")
	}
	return s.recreateJob(ctx, m.NewRecord(), "manifest")
}

// adoptSource makes a job of a document that is all there is of an acknowledged upload. What its client said about it
// is lost: the options are the default ones.
func (s *folderSweep) adoptSource(ctx context.Context, f jobFolder) error {
	id := job.ID(f.ref.Job)
	source, err := s.r.deps.Blobs.Get(ctx, job.SourceKey(f.ref.Tenant, id))
	if errors.Is(err, blob.ErrNotFound) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	digest := sha256.New()
	size, err := io.Copy(digest, source)
	if err = errors.Join(err, source.Close()); err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	rec := &job.Record{
		ID: id, Tenant: f.ref.Tenant, Run: 1, State: job.Pending, Options: job.Options{Lane: string(bus.Interactive)},
		Size: uint32(size), SHA256: hex.EncodeToString(digest.Sum(nil)), CreateTime: uploadStartTime(f.ref),
	}
	rec.ExpireTime = rec.Options.ExpiresAt(s.r.now(), s.r.cfg.Retention)
	return s.recreateJob(ctx, rec, "document alone")
}

// recreateJob stores a job that the bucket of jobs has lost, and queues it.
func (s *folderSweep) recreateJob(ctx context.Context, rec *job.Record, from string) error {
	created, err := s.r.deps.JobService().RecreateJob(ctx, rec, from)
	if errors.Is(err, job.ErrExists) {
		return nil // another process was faster
	}
	if created {
		s.report.Recreated++
	}
	return err
}

// loadManifest reads and checks a manifest. An error of kind Permanent means that it is of no use.
func (s *folderSweep) loadManifest(ctx context.Context, ref bus.JobRef) (*job.Manifest, error) {
	id := job.ID(ref.Job)
	useless := func(err error) error { return fault.Wrap(fault.Permanent, fault.SourceMissing, err) }
	data, err := s.r.deps.Blobs.ReadBytes(ctx, job.ManifestKey(ref.Tenant, id), maxManifestBytes)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrTooLarge) {
		return nil, useless(err)
	}
	if err != nil {
		return nil, err
	}
	var m job.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, useless(fmt.Errorf("decode manifest: %w", err))
	}
	if m.Tenant != ref.Tenant || m.Job != id {
		return nil, useless(errors.New("the manifest is another job's"))
	}
	source, err := s.r.deps.Blobs.ReadAttributes(ctx, job.SourceKey(ref.Tenant, id))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, useless(err)
	}
	if err != nil {
		return nil, err
	}
	if source.Size != int64(m.Size) {
		return nil, useless(fmt.Errorf("the document has %d bytes, the manifest says %d", source.Size, m.Size))
	}
	return &m, nil
}
