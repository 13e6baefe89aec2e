package job

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// exchangeTimeout bounds each exchange with the broker. A request that was on its way when the server died is never
// answered, and the client waits for as long as its context lasts; that of a handler lasts for as long as its work
// may take.
const exchangeTimeout = 5 * time.Second

// timeoutKV is a bucket that answers within moments, or fails.
type timeoutKV struct{ jetstream.KeyValue }

// Get returns what the key has.
func (p timeoutKV) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Get(ctx, key)
}

// Create writes a key that is not there.
func (p timeoutKV) Create(ctx context.Context, key string, value []byte,
	opts ...jetstream.KVCreateOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Create(ctx, key, value, opts...)
}

// Put writes a key, whatever it has.
func (p timeoutKV) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Put(ctx, key, value)
}

// Update writes a key that is at the revision.
func (p timeoutKV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Update(ctx, key, value, revision)
}

// Delete marks a key as deleted.
func (p timeoutKV) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Delete(ctx, key, opts...)
}

// Purge removes a key with its history.
func (p timeoutKV) Purge(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return p.KeyValue.Purge(ctx, key, opts...)
}
