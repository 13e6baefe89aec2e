package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket is a Driver over a bucket of gocloud.dev/blob.
type bucket struct {
	blobs *blob.Bucket
}

func newBucket(b *blob.Bucket) *bucket { return &bucket{blobs: b} }

// BeginUpload begins a blob.
func (b *bucket) BeginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error) {
	// gocloud drops a blob only when its context ends before Close, so each upload has one of its own.
	ctx, cancel := context.WithCancel(ctx)
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{ContentType: opts.ContentType})
	if err != nil {
		cancel()
		return nil, err
	}
	return &bucketUpload{w: w, cancel: cancel}, nil
}

type bucketUpload struct {
	w      *blob.Writer
	cancel context.CancelFunc
}

func (u *bucketUpload) Write(p []byte) (int, error) { return u.w.Write(p) }

func (u *bucketUpload) Commit() error {
	defer u.cancel()
	return u.w.Close()
}

func (u *bucketUpload) Abort() error {
	u.cancel()
	if err := u.w.Close(); err != nil && !errors.Is(err, context.Canceled) && gcerrors.Code(err) != gcerrors.Canceled {
		return err
	}
	return nil
}

// OpenRange reads a part of the blob.
func (b *bucket) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.blobs.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, b.mapNotFound(err)
	}
	return r, nil
}

// OpenFile copies the blob to a file without a name.
func (b *bucket) OpenFile(ctx context.Context, key string) (*os.File, error) {
	from, err := b.OpenRange(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return copyToUnnamedFile(from)
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

// ReadAttributes describes the blob.
func (b *bucket) ReadAttributes(ctx context.Context, key string) (Attributes, error) {
	a, err := b.blobs.Attributes(ctx, key)
	if err != nil {
		return Attributes{}, b.mapNotFound(err)
	}
	return Attributes{Size: a.Size, ModTime: a.ModTime, ContentType: a.ContentType}, nil
}

// ListEntries yields the blobs with that prefix.
func (b *bucket) ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		list := b.blobs.List(&blob.ListOptions{Prefix: prefix})
		for {
			object, err := list.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(Entry{Key: object.Key, Size: object.Size, ModTime: object.ModTime}, nil) {
				return
			}
		}
	}
}

// DeleteBlob removes the blob.
func (b *bucket) DeleteBlob(ctx context.Context, key string) error {
	return b.mapNotFound(b.blobs.Delete(ctx, key))
}

// DeleteFolder removes the blobs below folder one by one.
func (b *bucket) DeleteFolder(ctx context.Context, folder string) error {
	for entry, err := range b.ListEntries(ctx, folder+"/") {
		if err == nil {
			err = b.DeleteBlob(ctx, entry.Key)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// SweepAbandoned has nothing to do: a bucket shows nothing of what was not committed, and clears it away itself.
func (b *bucket) SweepAbandoned(context.Context, time.Duration) (int, error) { return 0, nil }

// Close ends the bucket.
func (b *bucket) Close() error { return b.blobs.Close() }

// mapNotFound turns gocloud's word for a missing blob into ours.
func (b *bucket) mapNotFound(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}
