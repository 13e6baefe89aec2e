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

// Ids begin with the time of their creation, so the folders of a span of time share prefixes. Each folder is looked
// at twice: when its id is old enough for the upload to be done with its record, and when even the slowest upload is
// over. The store is listed as a whole only at the first pass.
const (
	// earlySpanBits is the span of the first look: 2^15 ms, 33 s.
	earlySpanBits = 15
	// lateSpanBits is the span of the second: 2^20 ms, 17 min.
	lateSpanBits = 20
	// maxUploadTime is how long an upload may take, with something to spare; the gateway cuts it off after 1 h.
	maxUploadTime = 75 * time.Minute
	// maxSpans is how many spans are listed one by one; beyond it one listing of everything costs less.
	maxSpans = 64
	// maxManifestBytes bounds a manifest.
	maxManifestBytes = 1 << 20
	// idTimeDigits is the length of an id's part that is the time, five bits a digit.
	idTimeDigits = 10
)

// nameSet is a set of names.
type nameSet map[string]struct{}

func (n nameSet) addName(s string) { n[s] = struct{}{} }

// uploadScan is what is known of the blob store.
type uploadScan struct {
	// tenants are those seen in records and blobs.
	tenants nameSet
	// known holds the jobs with a record at the start, until the first listing is through.
	known map[bus.JobRef]struct{}
	// early and late are where the next looks begin, as numbers of spans; 0 before the first listing.
	early, late int64
}

func (u *uploadScan) hasStarted() bool {
	if u.tenants == nil {
		u.tenants = nameSet{job.DefaultTenant: {}}
	}
	return u.late > 0
}

// jobFolder is what a listing says of a job's blobs.
type jobFolder struct {
	ref        bus.JobRef
	newestTime time.Time
	// manifestTime is when the manifest was stored; zero where there is none.
	manifestTime time.Time
	// hasSource says that the document is there. Stores show it only when it is whole.
	hasSource bool
}

// sweepUploads finds uploads that died before they became jobs, and jobs whose records are lost.
func (r *Reconciler) sweepUploads(ctx context.Context, report *Report) error {
	swept, err := r.deps.Blobs.SweepTemp(ctx, r.cfg.OrphanAge)
	report.Swept = swept
	if gerr := r.detectRestore(ctx); gerr != nil {
		return errors.Join(err, gerr)
	}
	u := &r.uploads
	now := r.now()
	// A span is looked at when all of it is old enough.
	early := now.Add(-r.cfg.UploadGrace).UnixMilli() >> earlySpanBits
	late := now.Add(-maxUploadTime-r.cfg.OrphanAge).UnixMilli() >> lateSpanBits
	if !u.hasStarted() || early-u.early > maxSpans || late-u.late > maxSpans {
		if lerr := r.classifyFolders(ctx, "", report); lerr != nil {
			return errors.Join(err, lerr)
		}
		u.early, u.late, u.known = early, late, nil
		return err
	}
	for tenant := range u.tenants {
		for span := u.early; span < early; span++ {
			err = errors.Join(err, r.classifyFolders(ctx, spanPrefix(tenant, span, earlySpanBits), report))
		}
		for span := u.late; span < late; span++ {
			err = errors.Join(err, r.classifyFolders(ctx, spanPrefix(tenant, span, lateSpanBits), report))
		}
	}
	if err == nil {
		u.early, u.late = early, late // else the same spans are listed again
	}
	return err
}

// spanPrefix returns what the keys of all jobs begin with whose ids are of that span of time.
func spanPrefix(tenant string, span int64, bits int) string {
	var id ulid.ULID
	// A time beyond the year 10889 does not come up.
	_ = id.SetTime(uint64(span) << bits)
	return tenant + "/" + strings.ToLower(id.String()[:idTimeDigits-bits/5])
}

// classifyFolders judges every folder whose keys begin with the prefix.
func (r *Reconciler) classifyFolders(ctx context.Context, prefix string, report *Report) error {
	var errs []error
	var at jobFolder
	judge := func() {
		if at.ref.Job != "" {
			errs = append(errs, wrapJobError(at.ref, "look after blobs of", r.classifyFolder(ctx, at, report)))
		}
	}
	for e, err := range r.deps.Blobs.ListBlobs(ctx, prefix) {
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
func (r *Reconciler) classifyFolder(ctx context.Context, f jobFolder, report *Report) error {
	r.uploads.tenants.addName(f.ref.Tenant)
	if _, known := r.uploads.known[f.ref]; known {
		return nil
	}
	now := r.now()
	stray := now.Sub(f.newestTime) > r.cfg.OrphanAge
	rec, err := r.deps.Jobs.LoadRecord(ctx, f.ref.Tenant, job.ID(f.ref.Job))
	switch {
	case err == nil && rec.IsTombstone() && stray:
		// A worker that was at it when the job was removed wrote once more.
		report.Discarded++
		return r.deps.JobService().RemoveJobData(ctx, rec, r.index)
	case err == nil:
		return nil
	case !errors.Is(err, job.ErrNotFound):
		return err
	case !f.manifestTime.IsZero() && now.Sub(f.manifestTime) > r.cfg.UploadGrace:
		return r.adoptManifest(ctx, f, stray, report)
	case f.manifestTime.IsZero() && stray:
		return r.resolveOrphan(ctx, f, "the upload was never complete", report)
	}
	return nil
}

// resolveOrphan discards a folder, unless its document may be all that is left of a job.
func (r *Reconciler) resolveOrphan(ctx context.Context, f jobFolder, why string, report *Report) error {
	lost, err := r.mayBeAcknowledged(ctx, f)
	if err != nil {
		return err
	}
	if lost {
		return r.adoptSource(ctx, f, report)
	}
	return r.discardFolder(ctx, f, why, report)
}

// mayBeAcknowledged reports whether a folder without a good manifest may be that of an upload that was acknowledged:
// ingest writes the manifest, so one that waited for ingest has none, and where the upload is older than the bucket
// of jobs, or than an older copy's return, its record may have been in the one that was there before.
func (r *Reconciler) mayBeAcknowledged(ctx context.Context, f jobFolder) (bool, error) {
	if !f.hasSource {
		return false, nil
	}
	if uploadStartTime(f.ref).Before(r.restoredAt) {
		return true, nil
	}
	born, err := r.deps.Jobs.CreatedAt(ctx)
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
func (r *Reconciler) discardFolder(ctx context.Context, f jobFolder, why string, report *Report) error {
	rec, err := r.deps.Jobs.CreateTombstone(ctx, f.ref.Tenant, job.ID(f.ref.Job), r.now())
	if err != nil || !rec.NeverCreated() {
		return err
	}
	if err := r.deps.Blobs.DeletePrefix(ctx, job.Folder(f.ref.Tenant, job.ID(f.ref.Job))); err != nil {
		return err
	}
	report.Discarded++
	r.log.InfoContext(ctx, "leftover blobs removed", "job", f.ref.Job, "because", why)
	return nil
}

// adoptManifest makes the job that a manifest tells of: the bucket of jobs has lost it, as after a restore from an
// older copy.
func (r *Reconciler) adoptManifest(ctx context.Context, f jobFolder, stray bool, report *Report) error {
	m, err := r.loadManifest(ctx, f.ref)
	if err != nil {
		if fault.KindOf(err) != fault.Permanent {
			return err
		}
		if !stray {
			return nil // it may be a store that lags
		}
		return r.resolveOrphan(ctx, f, "its manifest is of no use", report)
	}
	if !m.ExpireTime.IsZero() && r.now().After(m.ExpireTime) {
		return r.discardFolder(ctx, f, "its retention is over", report)
	}
	return r.recreateJob(ctx, m.NewRecord(), "manifest", report)
}

// adoptSource makes a job of a document that is all there is of an acknowledged upload. What its client said about it
// is lost: the options are the default ones.
func (r *Reconciler) adoptSource(ctx context.Context, f jobFolder, report *Report) error {
	id := job.ID(f.ref.Job)
	source, err := r.deps.Blobs.Get(ctx, job.SourceKey(f.ref.Tenant, id))
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
	rec.ExpireTime = rec.Options.ExpiresAt(r.now(), r.cfg.Retention)
	return r.recreateJob(ctx, rec, "document alone", report)
}

// recreateJob stores a job that the bucket of jobs has lost, and queues it.
func (r *Reconciler) recreateJob(ctx context.Context, rec *job.Record, from string, report *Report) error {
	created, err := r.deps.JobService().RecreateJob(ctx, rec, from)
	if errors.Is(err, job.ErrExists) {
		return nil // another process was faster
	}
	if created {
		report.Recreated++
	}
	return err
}

// loadManifest reads and checks a manifest. An error of kind Permanent means that it is of no use.
func (r *Reconciler) loadManifest(ctx context.Context, ref bus.JobRef) (*job.Manifest, error) {
	id := job.ID(ref.Job)
	useless := func(err error) error { return fault.Wrap(fault.Permanent, fault.SourceMissing, err) }
	data, err := r.deps.Blobs.ReadBytes(ctx, job.ManifestKey(ref.Tenant, id), maxManifestBytes)
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
	source, err := r.deps.Blobs.ReadAttributes(ctx, job.SourceKey(ref.Tenant, id))
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
