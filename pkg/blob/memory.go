package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a Driver that holds its blobs in memory, for tests.
type memory struct {
	mu    sync.RWMutex
	blobs map[string]memoryBlob
}

type memoryBlob struct {
	data []byte
	Attributes
}

func newMemory() *memory { return &memory{blobs: make(map[string]memoryBlob)} }

// BeginUpload begins a blob.
func (m *memory) BeginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error) {
	return &memoryUpload{ctx: ctx, store: m, key: key, contentType: opts.ContentType}, ctx.Err()
}

type memoryUpload struct {
	ctx   context.Context //nolint:containedctx // an upload is one call that its caller makes in pieces
	store *memory
	key   string

	contentType string
	data        bytes.Buffer
}

// Write adds p to the blob.
func (u *memoryUpload) Write(p []byte) (int, error) { return u.data.Write(p) }

// Commit makes the blob appear.
func (u *memoryUpload) Commit() error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	u.store.blobs[u.key] = memoryBlob{u.data.Bytes(),
		Attributes{Size: int64(u.data.Len()), ModTime: time.Now(), ContentType: u.contentType}}
	return nil
}

// Abort drops the blob.
func (u *memoryUpload) Abort() error { return nil }

func (m *memory) load(ctx context.Context, key string) (memoryBlob, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, ok := m.blobs[key]
	if !ok {
		return b, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return b, ctx.Err()
}

// OpenRange reads a part of the blob.
func (m *memory) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	b, err := m.load(ctx, key)
	if err != nil {
		return nil, err
	}
	part := b.data[min(offset, b.Size):]
	if length >= 0 {
		part = part[:min(length, int64(len(part)))]
	}
	return io.NopCloser(bytes.NewReader(part)), nil
}

// OpenFile copies the blob to a file without a name.
func (m *memory) OpenFile(ctx context.Context, key string) (*os.File, error) {
	b, err := m.load(ctx, key)
	if err != nil {
		return nil, err
	}
	return copyToUnnamedFile(bytes.NewReader(b.data))
}

// copyToUnnamedFile copies what it reads to a file that has no name and can only be read.
func copyToUnnamedFile(from io.Reader) (*os.File, error) {
	to, err := os.CreateTemp("", "inkstream-blob-*")
	if err != nil {
		return nil, err
	}
	defer to.Close()
	// Opened a second time for reading only, because its reader may be a child process that must not write.
	f, err := os.Open(to.Name())
	if removeErr := os.Remove(to.Name()); removeErr != nil || err != nil {
		return nil, errors.Join(err, removeErr)
	}
	if _, err := io.Copy(to, from); err != nil {
		return nil, errors.Join(fmt.Errorf("copy to a file: %w", err), f.Close())
	}
	return f, nil
}

// ReadTail describes the blob and returns its end.
func (m *memory) ReadTail(ctx context.Context, key string, n int) ([]byte, Attributes, error) {
	b, err := m.load(ctx, key)
	return b.data[max(0, len(b.data)-n):], b.Attributes, err
}

// ListEntries yields the blobs with that prefix.
func (m *memory) ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.RLock()
		blobs := maps.Clone(m.blobs)
		m.mu.RUnlock()
		for _, key := range slices.Sorted(maps.Keys(blobs)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(Entry{Key: key, Size: blobs[key].Size, ModTime: blobs[key].ModTime}, nil) {
				return
			}
		}
	}
}

// CopyBlob gives the blob a second key.
func (m *memory) CopyBlob(ctx context.Context, from, to string) error {
	b, err := m.load(ctx, from)
	if err == nil {
		b.ModTime = time.Now()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.blobs[to] = b
	}
	return err
}

// DeleteBlob removes the blob.
func (m *memory) DeleteBlob(ctx context.Context, key string) error {
	_, err := m.load(ctx, key)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.blobs, key)
	}
	return err
}

// DeleteFolder removes the blobs below folder.
func (m *memory) DeleteFolder(ctx context.Context, folder string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.blobs, func(key string, _ memoryBlob) bool { return strings.HasPrefix(key, folder+"/") })
	return ctx.Err()
}

// SweepAbandoned has nothing to do: what was not committed goes with its upload.
func (m *memory) SweepAbandoned(context.Context, time.Duration) (int, error) { return 0, nil }

// Close ends the store. Its blobs go with it.
func (m *memory) Close() error { return nil }
