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
	// ErrUnchanged is returned by a change function that finds nothing to change; the update then writes nothing and succeeds.
	ErrUnchanged = errors.New("unchanged")
)

// Store keeps records and progress in the bucket of jobs. It is safe for concurrent use, by any number of processes.
type Store struct {
	kv jetstream.KeyValue
}

// NewStore returns a store over the bucket.
func NewStore(kv jetstream.KeyValue) *Store { return &Store{kv: prompt{kv}} }

// Create stores a new record. The error is ErrExists where the id is taken.
func (s *Store) Create(ctx context.Context, r *Record) error {
	rev, err := s.create(ctx, recordKey(r.Tenant, r.ID), r)
	if err != nil {
		return fmt.Errorf("create job %s: %w", r.ID, err)
	}
	r.revision = rev
	return nil
}

// Load returns a job's record. On a replicated bucket it may be a moment old; the compare-and-set of Update finds that out. The error is
// ErrNotFound where there is none.
func (s *Store) Load(ctx context.Context, tenant string, id ID) (*Record, error) {
	var r Record
	rev, err := s.load(ctx, recordKey(tenant, id), &r)
	if err != nil {
		return nil, fmt.Errorf("load job %s: %w", id, err)
	}
	r.revision = rev
	return &r, nil
}

// Reload is Load for whoever has the record already: where nothing was written since, it returns known itself, and spares the decoding.
func (s *Store) Reload(ctx context.Context, known *Record) (*Record, error) {
	var r Record
	rev, err := s.loadUnless(ctx, recordKey(known.Tenant, known.ID), known.revision, &r)
	if err != nil {
		return nil, fmt.Errorf("load job %s: %w", known.ID, err)
	}
	if rev == known.revision {
		return known, nil
	}
	r.revision = rev
	return &r, nil
}

// Update changes a record by compare-and-set: change is called with the record as it is, again for each conflict, until the write goes
// through. It returns the record as written. An error of change ends the update; ErrUnchanged ends it without one.
func (s *Store) Update(ctx context.Context, tenant string, id ID, change func(*Record) error) (*Record, error) {
	var r Record
	rev, err := update(ctx, s, recordKey(tenant, id), &r, change)
	if err != nil {
		return nil, fmt.Errorf("update job %s: %w", id, err)
	}
	r.revision = rev
	return &r, nil
}

// CreateProgress stores the progress of a job, replacing that of an earlier run. Progress of the same run stays as it is.
func (s *Store) CreateProgress(ctx context.Context, tenant string, id ID, p *Progress) error {
	_, err := s.create(ctx, progressKey(tenant, id), p)
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

// LoadProgress returns a job's page progress. The error is ErrNotFound before scan has made it.
func (s *Store) LoadProgress(ctx context.Context, tenant string, id ID) (*Progress, error) {
	var p Progress
	rev, err := s.load(ctx, progressKey(tenant, id), &p)
	if err != nil {
		return nil, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	p.revision = rev
	return &p, nil
}

// ReloadProgress is LoadProgress for whoever has the progress already, as Reload is Load.
func (s *Store) ReloadProgress(ctx context.Context, tenant string, id ID, known *Progress) (*Progress, error) {
	var p Progress
	rev, err := s.loadUnless(ctx, progressKey(tenant, id), known.revision, &p)
	if err != nil {
		return nil, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	if rev == known.revision {
		return known, nil
	}
	p.revision = rev
	return &p, nil
}

// UpdateProgress changes a job's progress as Update changes its record.
func (s *Store) UpdateProgress(ctx context.Context, tenant string, id ID, change func(*Progress) error) (*Progress, error) {
	var p Progress
	rev, err := update(ctx, s, progressKey(tenant, id), &p, change)
	if err != nil {
		return nil, fmt.Errorf("update progress of job %s: %w", id, err)
	}
	p.revision = rev
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

// Claim ties an idempotency key to a job, or returns the claim that the key has already. The key is remembered for ClaimTTL.
func (s *Store) Claim(ctx context.Context, tenant, key string, c Claim) (Claim, error) {
	k := idempotencyKey(tenant, key)
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
			return Claim{}, broker("claim idempotency key", err)
		}
		var old Claim
		if _, err = s.load(ctx, k, &old); err == nil {
			return old, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return Claim{}, err
		}
		// Expired between the two calls, or a replica that lags: once more.
	}
	return Claim{}, broker("claim idempotency key", err)
}

// ReplaceClaim ties an idempotency key to another job, where the one it named never came to be. The error is ErrExists where somebody else
// was faster.
func (s *Store) ReplaceClaim(ctx context.Context, tenant, key string, old, c Claim) error {
	k := idempotencyKey(tenant, key)
	var cur Claim
	rev, err := s.load(ctx, k, &cur)
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
	// Made anew, because an update would make the broker remember the key for ever.
	err = s.kv.Purge(ctx, k, jetstream.LastRevision(rev), jetstream.PurgeTTL(markerTTL))
	if err == nil {
		_, err = s.kv.Create(ctx, k, data, jetstream.KeyTTL(ClaimTTL))
	}
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("idempotency key: %w", ErrExists)
	}
	return broker("replace claim", err)
}

func (s *Store) create(ctx context.Context, key string, v any) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("encode: %w", err)
	}
	rev, err := s.kv.Create(ctx, key, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return 0, ErrExists
	}
	return rev, broker("create", err)
}

func (s *Store) load(ctx context.Context, key string, v any) (uint64, error) {
	return s.loadUnless(ctx, key, 0, v)
}

// loadUnless reads a key into v, unless it is still at the revision; it returns the one that it is at. No key is ever at 0.
func (s *Store) loadUnless(ctx context.Context, key string, known uint64, v any) (uint64, error) {
	e, err := s.get(ctx, key)
	if err == nil && e.Revision() != known {
		err = decode(e, v)
	}
	if err != nil {
		return 0, err
	}
	return e.Revision(), nil
}

func (s *Store) get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return nil, ErrNotFound
	}
	return e, broker("get", err)
}

func decode(e jetstream.KeyValueEntry, v any) error {
	if err := json.Unmarshal(e.Value(), v); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode: %w", err))
	}
	return nil
}

// update is the compare-and-set loop. On a replicated bucket a read may be stale several times in a row, so it waits a little between tries.
func update[T any](ctx context.Context, s *Store, key string, v *T, change func(*T) error) (uint64, error) {
	for try := 0; ; try++ {
		var fresh T
		rev, err := s.load(ctx, key, &fresh)
		if err != nil {
			return 0, err
		}
		err = change(&fresh)
		if errors.Is(err, ErrUnchanged) {
			*v = fresh
			return rev, nil
		}
		if err != nil {
			return 0, err
		}
		data, err := json.Marshal(&fresh)
		if err != nil {
			return 0, fmt.Errorf("encode: %w", err)
		}
		newRev, err := s.kv.Update(ctx, key, data, rev)
		if err == nil {
			*v = fresh
			return newRev, nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return 0, broker("update", err)
		}
		select {
		case <-ctx.Done():
			return 0, broker("update", ctx.Err())
		case <-time.After(rand.N(time.Duration(min(try+1, 20)) * 2 * time.Millisecond)):
		}
	}
}

// broker marks an error of the broker: it is away or full, which is no failure of the work.
func broker(what string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", what, err))
}
