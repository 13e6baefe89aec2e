package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

var (
	// ErrNotFound means that there is no such record.
	ErrNotFound = errors.New("job not found")
	// ErrExists means that a record of that key exists already.
	ErrExists = errors.New("job exists")
	// ErrUnchanged is returned by a change function that finds nothing to change; the update then writes nothing and
	// succeeds.
	ErrUnchanged = errors.New("unchanged")
	// ErrSuperseded means that the job was restarted, so that what an earlier run has found is not for its record.
	ErrSuperseded = errors.New("the job runs anew")
)

// Store keeps records and progress in the bucket of jobs, and what belongs to them there. It is safe for concurrent use,
// by any number of processes.
type Store struct {
	*bucket
	claims
	quotas
	announcements
}

// NewStore returns a store over the bucket.
func NewStore(kv jetstream.KeyValue) *Store {
	b := &bucket{kv: timeoutKV{kv}}
	return &Store{bucket: b, claims: claims{b}, quotas: quotas{b}, announcements: announcements{b}}
}

// bucket reads and creates keys of the bucket, whatever they hold.
type bucket struct{ kv jetstream.KeyValue }

// claims say which job has an idempotency key, and which does the work for a content.
type claims struct{ *bucket }

// quotas count what callers use of what they may.
type quotas struct{ *bucket }

// announcements are what one process tells all others: the languages that there are, and that a backup was restored.
type announcements struct{ *bucket }

// keyVersion is what a key held when it was read or written.
type keyVersion struct {
	revision uint64 // none is 0
	value    []byte // nil where it was not kept
}

// CreateRecord stores a new record. The error is ErrExists where the id is taken.
func (s *Store) CreateRecord(ctx context.Context, r *Record) error {
	at, err := s.createKey(ctx, recordKey(r.Tenant, r.ID), r)
	if err != nil {
		return fmt.Errorf("create job %s: %w", r.ID, err)
	}
	r.at = at
	return nil
}

// LoadRecord returns a job's record. On a replicated bucket it may be a moment old; the compare-and-set of Update
// finds that out. The error is ErrNotFound where there is none.
func (s *Store) LoadRecord(ctx context.Context, tenant string, id ID) (*Record, error) {
	var r Record
	at, err := s.loadKey(ctx, recordKey(tenant, id), &r)
	if err != nil {
		return nil, fmt.Errorf("load job %s: %w", id, err)
	}
	r.at = at
	return &r, nil
}

// ReloadRecord is LoadRecord for a caller that has the record already: where nothing was written since, it returns
// known itself, and spares the decoding.
func (s *Store) ReloadRecord(ctx context.Context, known *Record) (*Record, error) {
	var r Record
	at, err := s.loadKeyIfChanged(ctx, recordKey(known.Tenant, known.ID), known.at.revision, &r)
	if err != nil {
		return nil, fmt.Errorf("load job %s: %w", known.ID, err)
	}
	if at.revision == known.at.revision {
		return known, nil
	}
	r.at = at
	return &r, nil
}

// NewerThan reports whether what r holds was written after what the other copy of the record holds.
func (r *Record) NewerThan(other *Record) bool { return r.at.revision > other.at.revision }

// UpdateRecord changes a record by compare-and-set: change is called with the record as it is, again for each
// conflict, until the write goes through. It returns the record as written. An error of change ends the update;
// ErrUnchanged ends it without one.
func (s *Store) UpdateRecord(ctx context.Context, tenant string, id ID, change func(*Record) error) (*Record, error) {
	return s.updateRecord(ctx, tenant, id, keyVersion{}, change)
}

// UpdateRecordFrom is UpdateRecord for a caller that has loaded the record already: the first try begins with that,
// and spares the reading. If the record was written since, the compare-and-set finds out, and the next try reads it.
func (s *Store) UpdateRecordFrom(ctx context.Context, known *Record, change func(*Record) error) (*Record, error) {
	return s.updateRecord(ctx, known.Tenant, known.ID, known.at, change)
}

// UpdateRunRecord is UpdateRecordFrom for a caller that works on a run: the record of another run is left alone, and
// the error is ErrSuperseded, which is Busy: the task comes back, and finds that there is nothing left to do.
func (s *Store) UpdateRunRecord(ctx context.Context, known *Record, change func(*Record) error) (*Record, error) {
	return s.UpdateRecordFrom(ctx, known, func(r *Record) error {
		if r.Run != known.Run {
			return fault.Wrap(fault.Busy, fault.Unavailable, ErrSuperseded)
		}
		return change(r)
	})
}

func (s *Store) updateRecord(ctx context.Context, tenant string, id ID, known keyVersion,
	change func(*Record) error) (*Record, error) {
	var r Record
	at, err := compareAndSet(ctx, s.bucket, recordKey(tenant, id), known, &r, change)
	if err != nil {
		return nil, fmt.Errorf("update job %s: %w", id, err)
	}
	r.at = at
	return &r, nil
}

// CreateProgress stores the progress of a job, replacing that of an earlier run. Progress of the same run stays as it
// is.
func (s *Store) CreateProgress(ctx context.Context, tenant string, id ID, p *Progress) error {
	_, err := s.createKey(ctx, progressKey(tenant, id), p)
	if errors.Is(err, ErrExists) {
		_, err = s.UpdateProgress(ctx, tenant, id, func(old *Progress) error {
			if old.Run >= p.Run {
				return ErrUnchanged
			}
			*old = *p
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("create progress of job %s: %w", id, err)
	}
	return nil
}

// LoadProgress returns a job's stored page progress. The error is ErrNotFound where there is none; the record may imply it
// then, see Record.ImpliedProgress.
func (s *Store) LoadProgress(ctx context.Context, tenant string, id ID) (*Progress, error) {
	var p Progress
	at, err := s.loadKey(ctx, progressKey(tenant, id), &p)
	if err != nil {
		return nil, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	p.at = at
	return &p, nil
}

// ReloadProgress is LoadProgress for a caller that has the progress already, as ReloadRecord is LoadRecord.
func (s *Store) ReloadProgress(ctx context.Context, tenant string, id ID, known *Progress) (*Progress, error) {
	var p Progress
	at, err := s.loadKeyIfChanged(ctx, progressKey(tenant, id), known.at.revision, &p)
	if err != nil {
		return nil, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	if at.revision == known.at.revision {
		return known, nil
	}
	p.at = at
	return &p, nil
}

// UpdateProgress changes a job's progress as Update changes its record.
func (s *Store) UpdateProgress(ctx context.Context, tenant string, id ID,
	change func(*Progress) error) (*Progress, error) {
	return s.updateProgress(ctx, tenant, id, keyVersion{}, change)
}

// UpdateProgressFrom is UpdateProgress for a caller that has loaded the progress already, as UpdateRecordFrom is
// UpdateRecord.
func (s *Store) UpdateProgressFrom(ctx context.Context, tenant string, id ID, known *Progress,
	change func(*Progress) error) (*Progress, error) {
	return s.updateProgress(ctx, tenant, id, known.at, change)
}

func (s *Store) updateProgress(ctx context.Context, tenant string, id ID, known keyVersion,
	change func(*Progress) error) (*Progress, error) {
	var p Progress
	at, err := compareAndSet(ctx, s.bucket, progressKey(tenant, id), known, &p, change)
	if err != nil {
		return nil, fmt.Errorf("update progress of job %s: %w", id, err)
	}
	p.at = at
	return &p, nil
}

// Claim is what an idempotency key stands for.
type Claim struct {
	Job ID `json:"job"`
	// Fingerprint is a digest of the bytes and the options that the key was first used with.
	Fingerprint string    `json:"fingerprint"`
	Time        time.Time `json:"time"`
}

// ClaimTTL is how long an idempotency key is remembered.
const ClaimTTL = 7 * 24 * time.Hour

// ClaimIdempotencyKey ties an idempotency key to a job, or returns the claim that the key has already. The key is
// remembered for ClaimTTL.
func (s *claims) ClaimIdempotencyKey(ctx context.Context, tenant, key string, c Claim) (Claim, error) {
	k := claimKey(tenant, key)
	data, err := json.Marshal(c)
	if err != nil {
		return Claim{}, fmt.Errorf("encode claim: %w", err)
	}
	for range 3 {
		_, err = s.kv.Create(ctx, k, data, jetstream.KeyTTL(ClaimTTL))
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return Claim{}, markBrokerError("claim idempotency key", err)
		}
		var old Claim
		if _, err = s.loadKey(ctx, k, &old); err == nil {
			return old, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return Claim{}, err
		}
		// Expired between the two calls, or a replica that lags: once more.
	}
	return Claim{}, markBrokerError("claim idempotency key", err)
}

// ReplaceClaim ties an idempotency key to another job, where the one it named was never created. The error is
// ErrExists where another caller was faster.
func (s *claims) ReplaceClaim(ctx context.Context, tenant, key string, old, c Claim) error {
	k := claimKey(tenant, key)
	var cur Claim
	at, err := s.loadKey(ctx, k, &cur)
	if err != nil {
		return err
	}
	if cur != old {
		return fmt.Errorf("idempotency key: %w", ErrExists)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode claim: %w", err)
	}
	// The key is purged and created again, because after an update the broker would never expire it.
	err = s.kv.Purge(ctx, k, jetstream.LastRevision(at.revision), jetstream.PurgeTTL(purgeMarkerTTL))
	if err == nil {
		_, err = s.kv.Create(ctx, k, data, jetstream.KeyTTL(ClaimTTL))
	}
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("idempotency key: %w", ErrExists)
	}
	return markBrokerError("replace claim", err)
}

func (s *bucket) createKey(ctx context.Context, key string, v any) (keyVersion, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return keyVersion{}, fmt.Errorf("encode: %w", err)
	}
	rev, err := s.kv.Create(ctx, key, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return keyVersion{}, ErrExists
	}
	return keyVersion{rev, data}, markBrokerError("create", err)
}

func (s *bucket) loadKey(ctx context.Context, key string, v any) (keyVersion, error) {
	return s.loadKeyIfChanged(ctx, key, 0, v)
}

// loadKeyIfChanged reads a key into v, unless it is still at the revision; it returns what it holds.
func (s *bucket) loadKeyIfChanged(ctx context.Context, key string, known uint64, v any) (keyVersion, error) {
	e, err := s.readEntry(ctx, key)
	if err == nil && e.Revision() != known {
		err = decodeValue(e.Value(), v)
	}
	if err != nil {
		return keyVersion{}, err
	}
	return keyVersion{e.Revision(), e.Value()}, nil
}

func (s *bucket) readEntry(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return nil, ErrNotFound
	}
	return e, markBrokerError("get", err)
}

func decodeValue(value []byte, v any) error {
	if err := json.Unmarshal(value, v); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode: %w", err))
	}
	return nil
}

// compareAndSet is the compare-and-set loop. The first try begins with what is known, where that is something; what is
// known of no revision is what a key stands for that is not there. On a replicated bucket a read may be stale several
// times in a row, so it waits a little between tries.
func compareAndSet[T any](ctx context.Context, s *bucket, key string, known keyVersion, v *T,
	change func(*T) error) (keyVersion, error) {
	var implied []byte
	if known.revision == 0 {
		implied = known.value
	}
	for try := 0; ; try++ {
		var fresh T
		at, read := known, known.value == nil
		var err error
		if read {
			at, err = s.loadKey(ctx, key, &fresh)
			if errors.Is(err, ErrNotFound) && implied != nil {
				err = decodeValue(implied, &fresh)
			}
		} else {
			err = decodeValue(known.value, &fresh)
		}
		if err != nil {
			return keyVersion{}, err
		}
		known = keyVersion{}
		err = change(&fresh)
		if err != nil && !read {
			continue // that is for what is there now to say
		}
		if errors.Is(err, ErrUnchanged) {
			*v = fresh
			return at, nil
		}
		if err != nil {
			return keyVersion{}, err
		}
		data, err := json.Marshal(&fresh)
		if err != nil {
			return keyVersion{}, fmt.Errorf("encode: %w", err)
		}
		rev, err := s.kv.Update(ctx, key, data, at.revision)
		if err == nil {
			*v = fresh
			return keyVersion{rev, data}, nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return keyVersion{}, markBrokerError("update", err)
		}
		select {
		case <-ctx.Done():
			return keyVersion{}, markBrokerError("update", ctx.Err())
		case <-time.After(rand.N(time.Duration(min(try+1, 20)) * 2 * time.Millisecond)):
		}
	}
}

// markBrokerError marks an error of the broker: it is away or full, which is no failure of the work.
func markBrokerError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", what, err))
}
