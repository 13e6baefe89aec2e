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
	if c, ok := s.driver.(copier); ok {
		done, err := s.byDriver(ctx, from, to, c.Copy)
		if done || err != nil {
			return err
		}
	}
	up, err := s.copied(ctx, from, to)
	if err != nil {
		return err
	}
	return commit(ctx, up, to)
}

// byDriver has the driver copy a blob, if it can.
func (s *Store) byDriver(ctx context.Context, from, to string, do func(ctx context.Context, from, to string) error) (done bool, err error) {
	if err := errors.Join(checkKey(from), checkKey(to)); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("copy blob %s: %w", from, err)
	}
	if Temporary(from) != Temporary(to) {
		return false, nil
	}
	if err := do(ctx, from, to); !errors.Is(err, errors.ErrUnsupported) {
		return err == nil, sorted(ctx, "copy blob", from, err)
	}
	return false, nil
}

// copied returns an upload that has all bytes of another blob.
func (s *Store) copied(ctx context.Context, from, to string) (Upload, error) {
	attrs, err := s.Stat(ctx, from)
	if err != nil {
		return nil, err
	}
	r, err := s.Get(ctx, from)
	if err != nil {
		return nil, err
	}
	up, _, err := s.fill(ctx, to, r, PutOptions{ContentType: attrs.ContentType})
	if closeErr := r.Close(); err == nil && closeErr != nil {
		return nil, errors.Join(closeErr, up.Abort())
	}
	return up, err
}

// Copy links the file, durably if it is not temporary.
func (d *folder) Copy(ctx context.Context, from, to string) error {
	if err := d.Link(ctx, from, to); err != nil || Temporary(to) {
		return err
	}
	return d.paths.settle(filepath.Dir(d.path(to)))
}

// Link links the file. Blobs are never changed in place, so that two names for one file are as good as two files. A file system without links, or
// one that has enough of them, leaves it to the caller to copy the bytes; so does a key that is taken, unless it is by this very file.
func (d *folder) Link(ctx context.Context, from, to string) error {
	source, target := d.path(from), d.path(to)
	if Temporary(from) { // it may be lost
		if _, err := d.Stat(ctx, from); err != nil {
			return err
		}
	}
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
	case err == nil, errors.Is(err, fs.ErrExist) && sameFile(source, target):
		return nil
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return missing(err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EMLINK), errors.Is(err, fs.ErrPermission),
		errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("link: %w", errors.ErrUnsupported)
	default:
		return err
	}
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
