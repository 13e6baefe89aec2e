package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
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
	// ErrSuperseded means that the job runs anew, so that what an earlier run has found is not for its record.
	ErrSuperseded = errors.New("the job runs anew")
)

// Store keeps records and progress in the bucket of jobs. It is safe for concurrent use, by any number of processes.
type Store struct {
	kv    jetstream.KeyValue
	still atomic.Pointer[still]
}

// NewStore returns a store over the bucket.
func NewStore(kv jetstream.KeyValue) *Store { return &Store{kv: prompt{kv}} }

// version is what a key held when it was read or written.
type version struct {
	revision uint64 // none is 0
	value    []byte // nil where it was not kept
}

// Create stores a new record. The error is ErrExists where the id is taken.
func (s *Store) Create(ctx context.Context, r *Record) error {
	at, err := s.create(ctx, recordKey(r.Tenant, r.ID), r)
	if err != nil {
		return fmt.Errorf("create job %s: %w", r.ID, err)
	}
	r.at = at
	return nil
}

// Load returns a job's record. On a replicated bucket it may be a moment old; the compare-and-set of Update finds that out. The error is
// ErrNotFound where there is none.
func (s *Store) Load(ctx context.Context, tenant string, id ID) (*Record, error) {
	var r Record
	at, err := s.load(ctx, recordKey(tenant, id), &r)
	if err != nil {
		return nil, fmt.Errorf("load job %s: %w", id, err)
	}
	r.at = at
	return &r, nil
}

// Reload is Load for whoever has the record already: where nothing was written since, it returns known itself, and spares the decoding.
func (s *Store) Reload(ctx context.Context, known *Record) (*Record, error) {
	var r Record
	at, err := s.loadUnless(ctx, recordKey(known.Tenant, known.ID), known.at.revision, &r)
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

// Update changes a record by compare-and-set: change is called with the record as it is, again for each conflict, until the write goes
// through. It returns the record as written. An error of change ends the update; ErrUnchanged ends it without one.
func (s *Store) Update(ctx context.Context, tenant string, id ID, change func(*Record) error) (*Record, error) {
	return s.update(ctx, tenant, id, version{}, change)
}

// UpdateFrom is Update for whoever has loaded the record already: the first try begins with that, and spares the reading. If the record was written
// since, the compare-and-set finds out, and the next try reads it.
func (s *Store) UpdateFrom(ctx context.Context, known *Record, change func(*Record) error) (*Record, error) {
	return s.update(ctx, known.Tenant, known.ID, known.at, change)
}

// UpdateRun is UpdateFrom for whoever works on a run: the record of another run is left alone, and the error is ErrSuperseded, which is Busy: the task
// comes back, and finds that there is nothing left to do.
func (s *Store) UpdateRun(ctx context.Context, known *Record, change func(*Record) error) (*Record, error) {
	return s.UpdateFrom(ctx, known, func(r *Record) error {
		if r.Run != known.Run {
			return fault.Wrap(fault.Busy, fault.Unavailable, ErrSuperseded)
		}
		return change(r)
	})
}

func (s *Store) update(ctx context.Context, tenant string, id ID, known version, change func(*Record) error) (*Record, error) {
	var r Record
	at, err := update(ctx, s, recordKey(tenant, id), known, &r, change)
	if err != nil {
		return nil, fmt.Errorf("update job %s: %w", id, err)
	}
	r.at = at
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
	at, err := s.load(ctx, progressKey(tenant, id), &p)
	if err != nil {
		return nil, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	p.at = at
	return &p, nil
}

// ReloadProgress is LoadProgress for whoever has the progress already, as Reload is Load.
func (s *Store) ReloadProgress(ctx context.Context, tenant string, id ID, known *Progress) (*Progress, error) {
	var p Progress
	at, err := s.loadUnless(ctx, progressKey(tenant, id), known.at.revision, &p)
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
func (s *Store) UpdateProgress(ctx context.Context, tenant string, id ID, change func(*Progress) error) (*Progress, error) {
	return s.updateProgress(ctx, tenant, id, version{}, change)
}

// UpdateProgressFrom is UpdateProgress for whoever has loaded the progress already, as UpdateFrom is Update.
func (s *Store) UpdateProgressFrom(ctx context.Context, tenant string, id ID, known *Progress, change func(*Progress) error) (*Progress, error) {
	return s.updateProgress(ctx, tenant, id, known.at, change)
}

func (s *Store) updateProgress(ctx context.Context, tenant string, id ID, known version, change func(*Progress) error) (*Progress, error) {
	var p Progress
	at, err := update(ctx, s, progressKey(tenant, id), known, &p, change)
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
	at, err := s.load(ctx, k, &cur)
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
	err = s.kv.Purge(ctx, k, jetstream.LastRevision(at.revision), jetstream.PurgeTTL(markerTTL))
	if err == nil {
		_, err = s.kv.Create(ctx, k, data, jetstream.KeyTTL(ClaimTTL))
	}
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("idempotency key: %w", ErrExists)
	}
	return broker("replace claim", err)
}

func (s *Store) create(ctx context.Context, key string, v any) (version, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return version{}, fmt.Errorf("encode: %w", err)
	}
	rev, err := s.kv.Create(ctx, key, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return version{}, ErrExists
	}
	return version{rev, data}, broker("create", err)
}

func (s *Store) load(ctx context.Context, key string, v any) (version, error) {
	return s.loadUnless(ctx, key, 0, v)
}

// loadUnless reads a key into v, unless it is still at the revision; it returns what it holds.
func (s *Store) loadUnless(ctx context.Context, key string, known uint64, v any) (version, error) {
	e, err := s.get(ctx, key)
	if err == nil && e.Revision() != known {
		err = decode(e.Value(), v)
	}
	if err != nil {
		return version{}, err
	}
	return version{e.Revision(), e.Value()}, nil
}

func (s *Store) get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return nil, ErrNotFound
	}
	return e, broker("get", err)
}

func decode(value []byte, v any) error {
	if err := json.Unmarshal(value, v); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode: %w", err))
	}
	return nil
}

// update is the compare-and-set loop. The first try begins with what is known, where that is something. On a replicated bucket a read may be stale
// several times in a row, so it waits a little between tries.
func update[T any](ctx context.Context, s *Store, key string, known version, v *T, change func(*T) error) (version, error) {
	for try := 0; ; try++ {
		var fresh T
		at, read := known, known.value == nil
		var err error
		if read {
			at, err = s.load(ctx, key, &fresh)
		} else {
			err = decode(known.value, &fresh)
		}
		if err != nil {
			return version{}, err
		}
		known = version{}
		err = change(&fresh)
		if err != nil && !read {
			continue // that is for what is there now to say
		}
		if errors.Is(err, ErrUnchanged) {
			*v = fresh
			return at, nil
		}
		if err != nil {
			return version{}, err
		}
		data, err := json.Marshal(&fresh)
		if err != nil {
			return version{}, fmt.Errorf("encode: %w", err)
		}
		rev, err := s.kv.Update(ctx, key, data, at.revision)
		if err == nil {
			*v = fresh
			return version{rev, data}, nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return version{}, broker("update", err)
		}
		select {
		case <-ctx.Done():
			return version{}, broker("update", ctx.Err())
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
