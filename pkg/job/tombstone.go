package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Forestall sees to it that a job that was announced, and has no record, never gets one: a tombstone takes the record's place, so that a Create that is
// still on its way gets ErrExists, whenever it arrives. It returns what is there then: the tombstone, which is Void, or the job's record where that
// was there first. The tombstone goes when no idempotency key names the job any more.
func (s *Store) Forestall(ctx context.Context, tenant string, id ID, now time.Time) (*Record, error) {
	stone := &Record{
		ID: id, Tenant: tenant, State: Deleted, CreateTime: now, EndTime: now, ExpireTime: now.Add(ClaimTTL),
	}
	var err error
	for range 3 {
		if err = s.Create(ctx, stone); !errors.Is(err, ErrExists) {
			return stone, err
		}
		var there *Record
		if there, err = s.Load(ctx, tenant, id); !errors.Is(err, ErrNotFound) {
			return there, err
		}
		// A replica that lags, or a write that is just being agreed on: once more.
	}
	return nil, broker("forestall", fmt.Errorf("job %s is there and is not: %w", id, err))
}

// Void reports whether the record is the tombstone of a job that never was: see Forestall. No run of it ever began.
func (r *Record) Void() bool { return r.Run == 0 && r.Buried() }

// storeFailed is the broker's code for a message that it could not store. Where several keep the stream, the others may have stored it.
const storeFailed jetstream.ErrorCode = 10077

// Unwritten reports whether a write that failed with the error has certainly not been done, and is not going to be: it was never sent, nobody was there
// to take it, or the broker refused it. After any other error, such as an answer that does not come, the record may be there, or be there later.
func Unwritten(err error) bool {
	if errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		return true
	}
	refusal, refused := errors.AsType[*jetstream.APIError](err)
	return refused && refusal.ErrorCode != storeFailed
}
