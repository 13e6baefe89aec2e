package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

	some     atomic.Bool // whether silent has any: each message that is answered asks
	silentMu sync.Mutex
	silent   map[string]time.Time // by subject's beginning: the last message that was not answered, and none was since
}

// silentFor is how long a stream that has not answered counts as one that does not: whatever could not be published comes again within that time.
const silentFor = time.Minute

// answered notes whether the stream of a subject has answered to a message.
func (t *trial) answered(subject string, yes bool) {
	if yes && !t.some.Load() {
		return
	}
	parts := strings.SplitN(subject, ".", 3)
	if len(parts) < 3 { // no stream's
		return
	}
	stream := parts[0] + "." + parts[1]
	t.silentMu.Lock()
	defer t.silentMu.Unlock()
	switch {
	case yes:
		delete(t.silent, stream)
	case t.silent == nil:
		t.silent = map[string]time.Time{stream: time.Now()}
	default:
		t.silent[stream] = time.Now()
	}
	t.some.Store(len(t.silent) > 0)
}

// ErrSilent means that the server answers, but some streams did not when they were last written to. Work that needs none of them goes on.
var ErrSilent = errors.New("NATS answers, but not to what is published")

// silence returns an ErrSilent that names the streams which do not answer.
func (t *trial) silence() error {
	t.silentMu.Lock()
	defer t.silentMu.Unlock()
	var streams []string
	for stream, at := range t.silent {
		if time.Since(at) < silentFor {
			streams = append(streams, stream+".>")
		}
	}
	if len(streams) == 0 {
		return nil
	}
	slices.Sort(streams)
	return fmt.Errorf("%w to %s: a stream of a cluster may lack a leader; if a disk was full, free it, then restart NATS", ErrSilent, strings.Join(streams, ", "))
}

// CheckWrites is Check, and reports as well whether the server takes what is written; it is a readiness check. A server whose disk was full once
// goes on answering, and takes no more writes before it is started again.
func (b *Bus) CheckWrites(ctx context.Context) error {
	if err := b.Check(ctx); err != nil {
		return err
	}
	if err := b.writesNow(ctx); err != nil {
		return err
	}
	return b.trial.silence() // the server keeps a failed write by the stream, and the one that was tried may be well
}

// writesNow is TryWrite, unless a write was tried not long ago.
func (b *Bus) writesNow(ctx context.Context) error {
	b.trial.mu.Lock()
	defer b.trial.mu.Unlock()
	if time.Since(b.trial.taken) < trialEvery {
		return nil
	}
	if err := b.TryWrite(ctx); err != nil {
		return err
	}
	b.trial.taken = time.Now()
	b.trial.answered(trialSubject, true)
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
