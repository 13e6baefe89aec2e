package upload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/rest"
)

// Upload is one upload on its way in. Its steps are store, register and, where either fails or the job exists
// already, discard: but only what is certain to be no job's.
type upload struct {
	service  *Service
	tenant   string
	id       job.ID
	filename string
	options  job.Options
	labels   map[string]string
	webhook  string
	batch    job.ID // "" where the document came alone
	files    int    // of the request that the document came in
	key      string // the idempotency key; "" for none
	caller   string // the API key, where that has a quota of jobs
	mayKeep  bool   // the client may have the job kept without end

	size   int64
	sha256 string
	begun  bool // there may be blobs to discard
	stored bool // the document is durable
	// counted says that the bytes are off the caller's day already.
	counted bool
	kept    bool // the record is there, or may be: then the blobs are the job's, and nothing to discard
}

// newUpload takes one of the places for uploads, if there is room for the job that the upload stands for; the caller
// calls release in the end.
func (s *Service) newUpload(ctx context.Context) (in *upload, release func(), err error) {
	if release, err = s.limits.AdmitUpload(ctx); err != nil {
		return nil, nil, err
	}
	return &upload{service: s, tenant: access.TenantFrom(ctx), id: job.NewID(), files: 1,
		caller: s.limits.CallerOfJobs(ctx), mayKeep: mayKeepJobs(ctx)}, release, nil
}

func mayKeepJobs(ctx context.Context) bool { return access.CallerFrom(ctx).HasScope(access.Admin) }

// receive is the way of every document: store brings its bytes in, then its job is made. What comes to nothing is
// discarded.
func (in *upload) receive(ctx context.Context, store func(context.Context) error) (*job.Record, bool, error) {
	if err := store(ctx); err != nil {
		in.abandon(ctx, reasonOf(err))
		return nil, false, err
	}
	return in.finish(ctx)
}

// storeDocument streams the document to the blob store. When it returns without an error the bytes are durable.
func (in *upload) storeDocument(ctx context.Context, body io.Reader) error {
	m := &uploadReader{source: body, hash: sha256.New(), limit: int64(in.service.cfg.MaxUploadBytes)}
	in.begun = true
	size, err := in.service.deps.Blobs.Put(ctx, job.SourceKey(in.tenant, in.id), m,
		blob.PutOptions{ContentType: rest.PDFType})
	in.size = m.size
	if err != nil {
		return fmt.Errorf("store upload: %w", err)
	}
	in.size, in.sha256, in.stored = size, hex.EncodeToString(m.hash.Sum(nil)), true
	if !in.counted {
		if err := in.service.limits.ConsumeDailyBytes(ctx, size); err != nil {
			return err
		}
	}
	return failpoint.Hit("gateway", "blob")
}

// registerJob makes the job that the stored document stands for, or finds the one that the idempotency key stands
// for. From here on a client that hangs up changes nothing.
func (in *upload) registerJob(ctx context.Context) (rec *job.Record, replayed bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	ctx = context.WithoutCancel(ctx)
	rec = in.newRecord(time.Now().UTC())
	if in.key != "" {
		old, err := in.claimIdempotencyKey(ctx)
		if err != nil || old != nil {
			return old, old != nil, err
		}
	}
	if err := in.createRecord(ctx, rec); err != nil {
		return nil, false, err
	}
	if err := in.checkDocument(ctx, rec); err != nil {
		return nil, false, err
	}
	if err := failpoint.Hit("gateway", "record"); err != nil {
		return nil, false, err
	}
	in.service.workers.Go(func() { in.enqueueTask(ctx, rec) })
	in.service.log.InfoContext(ctx, "job accepted", "job", rec.ID, "bytes", rec.Size, "lane", rec.Options.Lane, "request",
		reqctx.RequestIDFrom(ctx))
	return rec, false, nil
}

func (in *upload) newRecord(now time.Time) *job.Record {
	r := &job.Record{
		ID: in.id, Tenant: in.tenant, Run: 1, State: job.Pending, Options: in.options, Filename: in.filename,
		Size: uint32(in.size), SHA256: in.sha256, CreateTime: now,
		Labels: in.labels, Batch: in.batch, Webhook: in.webhook, Caller: in.caller,
	}
	r.ExpireTime = in.options.ExpiresAt(now, in.service.cfg.Retention)
	return in.sealPassword(r)
}

// errUploadTooLate means that this upload's job must not come to be: it took so long that another one has taken over
// its idempotency key, or that the reconciler has discarded its document.
var errUploadTooLate = errors.New("the upload took too long to become a job, and was given up")

// createRecord writes the record. It is tried again for longer than one exchange with the broker takes, so that a try
// whose answer got lost is followed by one that finds the record. Where no try tells, the record may be there
// nonetheless, or be there later: the client is told to try again, but the document stays for the job. The reconciler
// queues the job then, or discards the document.
func (in *upload) createRecord(ctx context.Context, rec *job.Record) error {
	patience := in.service.cfg.CreateTimeout
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pause := patience / 50
	tick := time.NewTicker(pause)
	defer tick.Stop()
	// A try that is cut before it has begun would look like one without an answer.
	last := time.Now().Add(patience - pause)
	for {
		err := in.tryCreateRecord(ctx, rec)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errUploadTooLate):
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
		<-tick.C
		if time.Now().After(last) {
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
	}
}

// checkDocument makes sure that the document of a record that was just written is still there. An upload that slept for
// longer than tombstones are kept, or in a machine whose clock jumped, finds no tombstone, though the reconciler has
// discarded its document; and then there is no job. Where the store does not say, the job stays, and the client is told
// to try again: only what is known to be there is acknowledged.
func (in *upload) checkDocument(ctx context.Context, rec *job.Record) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	there, err := in.service.deps.Blobs.BlobExists(ctx, job.SourceKey(in.tenant, in.id))
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("look for the document: %w", err))
	}
	if there {
		return nil
	}
	err = in.service.deps.Jobs.WithdrawRecord(ctx, rec, time.Now().UTC())
	in.kept = err != nil
	return fault.Wrap(fault.Busy, fault.Unavailable, errors.Join(errUploadTooLate, err))
}

// tryCreateRecord writes the record, or finds that an earlier try has: no other upload has the id. But a tombstone
// in its place is not from this upload: the result is errUploadTooLate.
func (in *upload) tryCreateRecord(ctx context.Context, rec *job.Record) error {
	err := in.service.deps.JobService().CreateJob(ctx, rec)
	if !errors.Is(err, job.ErrExists) {
		in.kept = in.kept || err == nil || !job.DefinitelyNotWritten(err)
		return err
	}
	in.kept = true
	there, err := in.service.deps.Jobs.LoadRecord(ctx, in.tenant, in.id)
	if err == nil && there.State.IsGone() {
		in.kept = false
		return errUploadTooLate
	}
	return err
}

// enqueueTask publishes the job's task, and at the same time the event for the audit trail. The answer to the client does
// not wait for it, because the record is durable: what does not get through, the reconciler publishes, and ingest
// publishes the event once more before anything else happens to the job. So a crash here loses nothing.
func (in *upload) enqueueTask(ctx context.Context, rec *job.Record) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	var telling sync.WaitGroup
	telling.Go(func() {
		if err := in.service.deps.JobService().PublishFirstEvent(ctx, rec); err != nil {
			in.service.log.DebugContext(ctx, "event of an upload; ingest will tell it", "job", rec.ID, "error", err)
		}
	})
	if err := in.service.deps.JobService().EnqueueJob(ctx, rec); err != nil {
		in.service.log.WarnContext(ctx, "job accepted, but not queued yet; the reconciler will queue it", "job", rec.ID,
			"code", fault.CodeOf(err), "error", err)
	}
	telling.Wait()
}

// DiscardTimeout bounds the removal of an upload that came to nothing.
const DiscardTimeout = 10 * time.Second

// discardBlobs removes what the upload has stored, or may have stored: a store that fails may still have done what it
// was asked.
func (in *upload) discardBlobs(ctx context.Context) {
	if !in.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DiscardTimeout)
	defer cancel()
	if err := in.service.deps.Blobs.DeletePrefix(ctx, job.Folder(in.tenant, in.id)); err != nil {
		// The upload's own answer matters more to the client; the reconciler finds what is left.
		in.service.log.WarnContext(ctx, "remove blobs of an upload that came to nothing", "job", in.id, "error", err)
	}
}

// reasonOf returns the code that a failed upload is counted by.
func reasonOf(err error) string { return string(apierror.ReasonOf(apierror.StatusOf(err))) }

// finish makes the job of a document that is stored, discards the document where it came to nothing or the job was
// there already, and counts the upload.
func (in *upload) finish(ctx context.Context) (rec *job.Record, replayed bool, err error) {
	rec, replayed, err = in.registerJob(ctx)
	switch {
	case err != nil && in.kept:
		in.service.log.WarnContext(ctx, "upload refused, but its job may come to be; the document stays", "job", in.id,
			"error", err)
		in.count(ctx, reasonOf(err))
	case err != nil:
		in.abandon(ctx, reasonOf(err))
	case replayed:
		in.abandon(ctx, "replayed")
	default:
		in.service.limits.RecordAccepted(ctx, rec.ID)
		in.count(ctx, "ok")
	}
	return rec, replayed, err
}

// abandon discards what was stored of an upload that became no job of its own, and counts it.
func (in *upload) abandon(ctx context.Context, result string) {
	in.discardBlobs(ctx)
	in.count(ctx, result)
}

func (in *upload) count(ctx context.Context, result string) {
	in.service.deps.Tel.Metrics.CountUpload(context.WithoutCancel(ctx), result, in.size)
}

// uploadReader hashes and counts what it reads, and stops beyond the limit. Its errors say what was wrong with the
// upload.
type uploadReader struct {
	source io.Reader
	hash   hash.Hash
	size   int64
	limit  int64
}

// Read implements io.Reader. It fills p as far as it can, because a form hands out its bytes in small pieces, and
// each piece would cost the store a write.
func (m *uploadReader) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = m.source.Read(p[n:])
		n += more
	}
	m.size += int64(n)
	if m.size > m.limit {
		return 0, errTooLarge(m.limit)
	}
	m.hash.Write(p[:n])
	if err == io.EOF && m.size == 0 {
		return n, fault.New(fault.EmptyFile, "the file has no bytes")
	}
	return n, err
}

func errTooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the file is larger than the %s that the server takes", config.Bytes(limit))
}
