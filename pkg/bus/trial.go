package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// trialBytes is how much a trial writes: more than the rest of a disk's block, which a disk that is full still has.
	trialBytes = 8 << 10
	// trialEvery is how long a server that took a write passes for one that does: each costs it a sync of its disk.
	trialEvery = 10 * time.Second
	// trialAge is how long what the last trial wrote is kept.
	trialAge = time.Hour
)

// trialSubject is the one key of the bucket of jobs that trials write. Every service may write keys that begin so, and none reads this one.
const trialSubject = "$KV." + JobBucket + "." + contentKeys + ".trial"

// trial remembers the last write that was tried.
type trial struct {
	mu    sync.Mutex // guards taken, and lets one caller try at a time
	taken time.Time
}

// CheckWrites is Check, and reports as well whether the server takes what is written; it is a readiness check. A server whose disk was full once
// goes on answering, and takes no more writes before it is started again.
func (b *Bus) CheckWrites(ctx context.Context) error {
	if err := b.Check(ctx); err != nil {
		return err
	}
	b.trial.mu.Lock()
	defer b.trial.mu.Unlock()
	if time.Since(b.trial.taken) < trialEvery {
		return nil
	}
	if err := b.TryWrite(ctx); err != nil {
		return err
	}
	b.trial.taken = time.Now()
	return nil
}

// TryWrite reports whether the server takes what is written. Without a bucket there is nothing to find out.
func (b *Bus) TryWrite(ctx context.Context) error {
	_, err := b.js.Publish(ctx, trialSubject, make([]byte, trialBytes), jetstream.WithMsgTTL(trialAge), jetstream.WithRetryAttempts(0))
	switch {
	case err == nil, errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return nil
	case !b.nc.IsConnected():
		return fmt.Errorf("nats: %w", err)
	}
	return fmt.Errorf("NATS refuses writes: free its disk, then restart it: %w", err)
}

// MayTryWrite reports whether this connection's user may do TryWrite, as far as the server tells: it does not answer who may not.
func (b *Bus) MayTryWrite(ctx context.Context) bool {
	user, err := b.user(ctx)
	return err != nil || user.Permissions == nil || len(user.Permissions.Publish.lacks([]Grant{{Subject: trialSubject}})) == 0
}
