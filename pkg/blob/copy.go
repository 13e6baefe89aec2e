package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// copier is a Driver that copies a blob without its bytes passing through this process.
type copier interface {
	// Copy makes the blob appear under another key as well, durably if that is no temporary one.
	Copy(ctx context.Context, from, to string) error
}

// Copy stores a blob under another key, in the place of what is there. Neither of the two depends on the other: each can be deleted or replaced
// by itself. Where the storage can, it does so without moving the bytes: a folder links the file. The error wraps ErrNotFound if there is no such
// blob.
func (s *Store) Copy(ctx context.Context, from, to string) error {
	if err := errors.Join(checkKey(from), checkKey(to)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("copy blob %s: %w", from, err)
	}
	if c, ok := s.driver.(copier); ok && Temporary(from) == Temporary(to) {
		err := c.Copy(ctx, from, to)
		if err == nil || !errors.Is(err, errors.ErrUnsupported) {
			return sorted("copy blob", from, err)
		}
	}
	attrs, err := s.Stat(ctx, from)
	if err != nil {
		return err
	}
	r, err := s.Get(ctx, from)
	if err != nil {
		return err
	}
	_, err = s.Put(ctx, to, r, PutOptions{ContentType: attrs.ContentType})
	return errors.Join(err, r.Close())
}

// Copy links the file. Blobs are never changed in place, so that two names for one file are as good as two files. A file system without links, or
// one that has enough of them, leaves it to the caller to copy the bytes; so does a key that is taken, unless it is by this very file.
func (d *folder) Copy(_ context.Context, from, to string) error {
	source, target := d.path(from), d.path(to)
	err := os.Link(source, target)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Lstat(source); serr != nil {
			return missing(serr)
		}
		if err = d.paths.make(filepath.Dir(target)); err == nil {
			err = os.Link(source, target)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrExist) && sameFile(source, target):
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return missing(err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EMLINK), errors.Is(err, fs.ErrPermission),
		errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("link: %w", errors.ErrUnsupported)
	default:
		return err
	}
	if Temporary(to) {
		return nil
	}
	return d.paths.settle(filepath.Dir(target))
}

func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}

// Copy has the server copy the blob.
func (b *bucket) Copy(ctx context.Context, from, to string) error {
	return b.found(b.blobs.Copy(ctx, to, from, nil))
}
