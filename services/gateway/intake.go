package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// intake is one upload on its way in. Its steps are store, register and, where either fails or the job exists already, discard: but only what is certain
// to be no job's.
type intake struct {
	s        *Service
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

	size   int64
	sha256 string
	begun  bool // there may be blobs to discard
	stored bool // the document is durable
	kept   bool // the record is there, or may be: then the blobs are the job's, and nothing to discard
}

// newIntake takes one of the places for uploads, if there is room for the job that the upload stands for; the caller calls release in the end.
func (s *Service) newIntake(ctx context.Context) (in *intake, release func(), err error) {
	if err = s.away(); err == nil {
		err = s.admission.admit(ctx)
	}
	if err != nil {
		s.env.Tel.Metrics.Upload(ctx, string(fault.CodeOf(err)), 0)
		return nil, nil, err
	}
	leave, err := s.uploadPlace(ctx)
	if err != nil {
		return nil, nil, err
	}
	free, err := s.reserve(ctx, 1)
	if err != nil {
		leave()
		return nil, nil, err
	}
	s.flood.enter()
	_, caller := s.limits.Jobs(identityOf(ctx))
	return &intake{s: s, tenant: tenant(ctx), id: job.NewID(), files: 1, caller: caller}, func() { s.flood.leave(); free(); leave() }, nil
}

// away returns an UNAVAILABLE fault while a dependency is known to be away that an upload cannot do without. Otherwise each upload would wait for it,
// and hold its place and its bytes meanwhile. A stream that does not answer is none of them: the reconciler queues the job when it does.
func (s *Service) away() error {
	for _, dependency := range []string{"nats", "blobs"} { // one by one, or a silent stream would hide that the blobs are away
		if err := s.status.Down(dependency); err != nil && !errors.Is(err, bus.ErrSilent) {
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
	}
	return nil
}

// store streams the document to the blob store. When it returns without an error the bytes are durable.
func (in *intake) store(ctx context.Context, body io.Reader) error {
	m := &meter{from: body, hash: sha256.New(), limit: int64(in.s.cfg.MaxUploadBytes), flood: &in.s.flood}
	in.begun = true
	size, err := in.s.env.Blobs.Put(ctx, job.SourceKey(in.tenant, in.id), m, blob.PutOptions{ContentType: pdfType, Bulk: true})
	in.size = m.size
	if err != nil {
		return fmt.Errorf("store upload: %w", err)
	}
	in.size, in.sha256, in.stored = size, hex.EncodeToString(m.hash.Sum(nil)), true
	if err := in.s.count(ctx, size); err != nil {
		return err
	}
	return failpoint.Hit("gateway", "blob")
}

// register makes the job that the stored document stands for, or finds the one that the idempotency key stands for. From here on a client
// that hangs up changes nothing.
func (in *intake) register(ctx context.Context) (rec *job.Record, replayed bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	ctx = context.WithoutCancel(ctx)
	rec = in.record(time.Now().UTC())
	if in.key != "" {
		old, err := in.claim(ctx)
		if err != nil || old != nil {
			return old, old != nil, err
		}
	}
	if err := in.create(ctx, rec); err != nil {
		return nil, false, err
	}
	if err := failpoint.Hit("gateway", "record"); err != nil {
		return nil, false, err
	}
	in.enqueue(ctx, rec)
	if err := failpoint.Hit("gateway", "queued"); err != nil {
		return nil, false, err
	}
	in.s.log.InfoContext(ctx, "job accepted", "job", rec.ID, "bytes", rec.Size, "lane", rec.Options.Lane, "request", requestID(ctx))
	return rec, false, nil
}

func (in *intake) record(now time.Time) *job.Record {
	r := &job.Record{
		ID: in.id, Tenant: in.tenant, Run: 1, State: job.Pending, Options: in.options, Filename: in.filename,
		Size: uint32(in.size), SHA256: in.sha256, CreateTime: now,
		Labels: in.labels, Batch: in.batch, Webhook: in.webhook, Caller: in.caller,
	}
	r.ExpireTime = in.options.Expires(now, in.s.cfg.Retention)
	return in.seal(r)
}

// claim ties the idempotency key to the job. It returns the record of the job that the key is tied to already, or nil where it is ours now.
func (in *intake) claim(ctx context.Context) (*job.Record, error) {
	mine := job.Claim{Job: in.id, Fingerprint: in.fingerprint(), Time: time.Now().UTC()}
	for {
		holder, err := in.s.env.Jobs.Claim(ctx, in.tenant, in.key, mine)
		if err != nil {
			return nil, err
		}
		if holder.Job == in.id {
			return nil, failpoint.Hit("gateway", "claim")
		}
		rec, err := in.awaitRecord(ctx, holder.Job)
		if errors.Is(err, job.ErrNotFound) {
			// Its upload died between the claim and the record; or the record is still on its way, and must not come when the key is another job's.
			rec, err = in.s.env.Jobs.Forestall(ctx, in.tenant, holder.Job, time.Now().UTC())
		}
		switch {
		case err != nil:
			return nil, err
		case rec.Void():
			// The claim is replaced only if it is still that one.
			err = in.s.env.Jobs.ReplaceClaim(ctx, in.tenant, in.key, holder, mine)
			if errors.Is(err, job.ErrExists) || errors.Is(err, job.ErrNotFound) {
				continue
			}
			return nil, err
		case holder.Fingerprint != mine.Fingerprint:
			return nil, &detailError{
				facts: map[string]string{jobFact: string(holder.Job)},
				err:   fault.New(fault.IdempotencyConflict, "the idempotency key was used with other bytes or options"),
			}
		case rec.State.Gone(): // a job is not made anew by a repeat that comes late, nor is it said to be accepted
			return nil, &detailError{facts: map[string]string{jobFact: string(rec.ID)}, err: errGone(rec)}
		}
		return rec, nil
	}
}

// awaitRecord loads the record of a job whose upload holds the claim. The upload may be about to write it, so a missing one is waited for:
// longer than the upload itself tries. Clocks of several gateways may differ, so only the wait counts, not the claim's time.
func (in *intake) awaitRecord(ctx context.Context, id job.ID) (*job.Record, error) {
	patience := in.s.createPatience + in.s.createPatience/5
	tick := time.NewTicker(patience / 240)
	defer tick.Stop()
	for start := time.Now(); ; {
		rec, err := in.s.env.Jobs.Load(ctx, in.tenant, id)
		if !errors.Is(err, job.ErrNotFound) || time.Since(start) > patience {
			return rec, err
		}
		<-tick.C
	}
}

// errForestalled means that another upload with the same idempotency key has taken the key over, so that this one's job must not come to be.
var errForestalled = errors.New("another upload has taken over the idempotency key")

// create writes the record. It is tried again for longer than one exchange with the broker takes, so that a try whose answer got lost is followed by
// one that finds the record. Where no try tells, the record may be there nonetheless, or be there later: the client is told to try again, but the
// document stays for the job. The reconciler queues the job then, or discards the document.
func (in *intake) create(ctx context.Context, rec *job.Record) error {
	patience := in.s.createPatience
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pause := patience / 50
	tick := time.NewTicker(pause)
	defer tick.Stop()
	// A try that is cut before it has begun would look like one without an answer.
	last := time.Now().Add(patience - pause)
	for {
		err := in.tryCreate(ctx, rec)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errForestalled):
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
		<-tick.C
		if time.Now().After(last) {
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
	}
}

// tryCreate writes the record, or finds that an earlier try has: nobody else has the id. But a tombstone in its place is none of ours.
func (in *intake) tryCreate(ctx context.Context, rec *job.Record) error {
	err := in.s.env.Jobs.Create(ctx, rec)
	if !errors.Is(err, job.ErrExists) {
		in.kept = in.kept || err == nil || !job.Unwritten(err)
		return err
	}
	in.kept = true
	there, err := in.s.env.Jobs.Load(ctx, in.tenant, in.id)
	if err == nil && there.State.Gone() {
		in.kept = false
		return errForestalled
	}
	return err
}

// enqueue publishes the job's task. The record is durable, so what does not get through is published by the reconciler. The trail is told beside
// it, and after a flood of uploads where there is one: ingest tells it once more before anything else happens to the job, so that a crash here
// loses nothing.
func (in *intake) enqueue(ctx context.Context, rec *job.Record) {
	in.s.workers.Go(func() {
		in.s.GiveWay(ctx)
		told, cancel := context.WithTimeout(ctx, publishPatience)
		defer cancel()
		if err := in.s.env.Bus.PublishAll(told, nil, []*busv1.Event{stage.FirstEvent(rec)}); err != nil {
			in.s.log.DebugContext(ctx, "event of an upload; ingest will tell it", "job", rec.ID, "error", err)
		}
	})
	queued, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	if err := in.s.env.Bus.PublishAll(queued, []bus.Message{stage.FirstMessage(rec, 0)}, nil); err != nil {
		in.s.log.WarnContext(ctx, "job accepted, but not queued yet; the reconciler will queue it", "job", rec.ID,
			"code", fault.CodeOf(err), "error", err)
	}
}

// discardTimeout bounds the removal of an upload that came to nothing.
const discardTimeout = 10 * time.Second

// discard removes what the upload has stored, or may have stored: a store that fails may still have done what it was asked.
func (in *intake) discard(ctx context.Context) {
	if !in.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if err := in.s.env.Blobs.DeletePrefix(ctx, job.Folder(in.tenant, in.id)); err != nil {
		// The upload's own answer matters more to the client; the reconciler finds what is left.
		in.s.log.WarnContext(ctx, "remove blobs of an upload that came to nothing", "job", in.id, "error", err)
	}
}

// finish is the end of every upload: it registers what was stored, discards it where it came to nothing, and counts the upload.
func (in *intake) finish(ctx context.Context, err error) (rec *job.Record, replayed bool, _ error) {
	if err == nil {
		rec, replayed, err = in.register(ctx)
	}
	result := "ok"
	if err == nil && !replayed {
		in.s.accepted(ctx, rec.ID)
	}
	switch {
	case err != nil && in.kept:
		result = string(reasonOf(statusOf(err)))
		in.s.log.WarnContext(ctx, "upload refused, but its job may come to be; the document stays", "job", in.id, "error", err)
	case err != nil:
		result = string(reasonOf(statusOf(err)))
		in.discard(ctx)
	case replayed:
		result = "replayed"
		in.discard(ctx)
	}
	in.s.env.Tel.Metrics.Upload(context.WithoutCancel(ctx), result, in.size)
	return rec, replayed, err
}

// meter hashes and counts what it reads, and stops beyond the limit. Its errors say what was wrong with the upload.
type meter struct {
	from  io.Reader
	hash  hash.Hash
	size  int64
	limit int64
	flood *flood // that the upload is part of
}

// Read implements io.Reader. It fills p as far as it can, because a form hands out its bytes in small pieces, and each piece would cost the
// store a write.
func (m *meter) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = m.from.Read(p[n:])
		n += more
	}
	m.flood.moved()
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
