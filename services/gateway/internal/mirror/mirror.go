// Package mirror keeps a copy of a bucket's values in memory, which follows every change: for what every request
// needs, and few requests change.
package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

// openTimeout is how long Open waits for the values that there are.
const openTimeout = 10 * time.Second

// Mirror is the copy of a bucket whose values are JSON of a T. What another process writes shows within
// moments; what this one writes shows at once, if it says so by Set and Remove. It is safe for concurrent use.
type Mirror[T any] struct {
	log  *slog.Logger
	done chan struct{} // closed when the bucket is no longer followed

	mu      sync.RWMutex // guards known
	entries map[string]entry[T]
}

type entry[T any] struct {
	value    T
	revision uint64
	removed  bool // here; the bucket has yet to tell
	// life is done when the value is no longer the key's.
	life context.Context //nolint:containedctx // it is the value's, and no call's
	end  context.CancelFunc
}

func newEntry[T any](value T, revision uint64) entry[T] {
	life, end := context.WithCancel(context.Background())
	return entry[T]{value: value, revision: revision, life: life, end: end}
}

// Open follows the keys of a pattern until ctx is done. It returns once the values that there are are known.
func Open[T any](ctx context.Context, kv jetstream.KeyValue, keys string, log *slog.Logger) (*Mirror[T], error) {
	m := &Mirror[T]{log: log, entries: map[string]entry[T]{}, done: make(chan struct{})}
	w, err := kv.Watch(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("watch the bucket %s: %w", kv.Bucket(), err)
	}
	settled := make(chan struct{})
	go m.followBucket(ctx, w, settled)
	select {
	case <-settled:
		return m, nil
	case <-time.After(openTimeout):
		return nil, fault.New(fault.Unavailable, "the bucket %s cannot be read", kv.Bucket())
	case <-ctx.Done():
		return nil, fmt.Errorf("read the bucket %s: %w", kv.Bucket(), ctx.Err())
	}
}

// followBucket keeps the copy; it closes settled when everything that was stored at the start has come.
func (m *Mirror[T]) followBucket(ctx context.Context, w jetstream.KeyWatcher, settled chan struct{}) {
	defer close(m.done)
	defer func() { _ = w.Stop() }() // the connection may be gone, and the watch with it
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-w.Updates():
			switch {
			case !open:
				return
			case e == nil:
				close(settled)
			default:
				m.applyEntry(ctx, e)
			}
		}
	}
}

func (m *Mirror[T]) applyEntry(ctx context.Context, e jetstream.KeyValueEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.entries[e.Key()]; ok && e.Revision() <= have.revision {
		return // older than what this process wrote itself
	}
	m.dropEntry(e.Key())
	if e.Operation() != jetstream.KeyValuePut {
		return
	}
	var value T
	if err := json.Unmarshal(e.Value(), &value); err != nil {
		m.log.ErrorContext(ctx, "a stored value that cannot be read counts as none", "key", e.Key(), "error", err)
		return
	}
	m.entries[e.Key()] = newEntry(value, e.Revision())
}

// dropEntry ends an entry; the caller holds mu.
func (m *Mirror[T]) dropEntry(key string) {
	if e, ok := m.entries[key]; ok {
		e.end()
		delete(m.entries, key)
	}
}

// OnChange has f called, in a goroutine of its own, once the value of a key is removed or replaced, at once where there
// is none. The function that it returns takes that back.
func (m *Mirror[T]) OnChange(key string, f func()) (stop func() bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, ok := m.entries[key]
	if !ok || e.removed {
		done, end := context.WithCancel(context.Background())
		end()
		return context.AfterFunc(done, f)
	}
	return context.AfterFunc(e.life, f)
}

// Wait returns when the bucket is no longer followed; the context of Open must be done.
func (m *Mirror[T]) Wait() { <-m.done }

// Get returns the value of a key, and whether there is one.
func (m *Mirror[T]) Get(key string) (T, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, ok := m.entries[key]
	if !ok || e.removed {
		var none T
		return none, false
	}
	return e.value, true
}

// Select returns the values that are wanted, in no order. The function must not call the Mirror.
func (m *Mirror[T]) Select(wanted func(T) bool) []T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var values []T
	for _, e := range m.entries {
		if !e.removed && wanted(e.value) {
			values = append(values, e.value)
		}
	}
	return values
}

// Set has the copy know what was written to the bucket before the bucket tells.
func (m *Mirror[T]) Set(key string, value T, revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key].revision < revision {
		m.dropEntry(key)
		m.entries[key] = newEntry(value, revision)
	}
}

// Remove has the copy know what was removed from the bucket before the bucket tells.
func (m *Mirror[T]) Remove(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[key]; ok {
		e.removed = true
		e.end()
		m.entries[key] = e
	}
}
