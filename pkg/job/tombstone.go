package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// CreateTombstone sees to it that a job that was announced, and has no record, never gets one: a tombstone takes the
// record's place, so that a Create that is still on its way gets ErrExists, whenever it arrives. It returns what is
// there then: the tombstone, which is NeverCreated, or the job's record where that was there first. The tombstone
// goes when no idempotency key names the job any more. Whatever deletes the blobs of a job without a record calls it
// first.
func (s *Store) CreateTombstone(ctx context.Context, tenant string, id ID, now time.Time) (*Record, error) {
	stone := &Record{
		ID: id, Tenant: tenant, State: Deleted, CreateTime: now, EndTime: now, ExpireTime: now.Add(ClaimTTL),
	}
	var err error
	for range 3 {
		if err = s.CreateRecord(ctx, stone); !errors.Is(err, ErrExists) {
			return stone, err
		}
		var there *Record
		if there, err = s.LoadRecord(ctx, tenant, id); !errors.Is(err, ErrNotFound) {
			return there, err
		}
		// A replica that lags, or a write that is just being agreed on: once more.
	}
	return nil, markBrokerError("forestall", fmt.Errorf("job %s is there and is not: %w", id, err))
}

// WithdrawRecord puts the tombstone of a job that never was, as CreateTombstone makes it, in the place of a record that was
// just created and not acknowledged. A job that has begun is left alone.
func (s *Store) WithdrawRecord(ctx context.Context, rec *Record, now time.Time) error {
	_, err := s.UpdateRecord(ctx, rec.Tenant, rec.ID, func(r *Record) error {
		if r.State != Pending || r.Run != 1 {
			return ErrUnchanged
		}
		*r = Record{ID: r.ID, Tenant: r.Tenant, State: Deleted, CreateTime: now, EndTime: now, ExpireTime: now.Add(ClaimTTL)}
		return nil
	})
	return err
}

// NeverCreated reports whether the record is the tombstone of a job that never was: see CreateTombstone. No run of it
// ever began.
func (r *Record) NeverCreated() bool { return r.Run == 0 && r.IsTombstone() }

// storeFailed is the broker's code for a message that it could not store. Where several keep the stream, the others
// may have stored it.
const storeFailed jetstream.ErrorCode = 10077

// DefinitelyNotWritten reports whether a write that failed with the error has certainly not been done, and is not
// going to be: it was never sent, no server was there to take it, or the broker refused it. After any other error,
// such as an answer that does not come, the record may be there, or be there later.
func DefinitelyNotWritten(err error) bool {
	if errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) {
		return true
	}
	refusal, refused := errors.AsType[*jetstream.APIError](err)
	return refused && refusal.ErrorCode != storeFailed
}
