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
	// CopyBlob makes the blob appear under another key as well, durably if that is no temporary one.
	CopyBlob(ctx context.Context, from, to string) error
}

// CopyBlob stores a blob under another key, in the place of what is there. Neither of the two depends on the other:
// each can be deleted or replaced by itself. Where the storage can, it does so without moving the bytes: a folder
// links the file. The error wraps ErrNotFound if there is no such blob.
func (s *Store) CopyBlob(ctx context.Context, from, to string) error {
	one := blobCopy{driver: s.reads, from: from, to: to}
	if c, ok := s.driver.(copier); ok {
		done, err := one.copyByDriver(ctx, c.CopyBlob)
		if done || err != nil {
			return err
		}
	}
	up, err := one.uploadStored(ctx)
	if err != nil {
		return err
	}
	return commitUpload(ctx, up, to)
}

// blobCopy is a copy of one blob to be made.
type blobCopy struct {
	driver   Driver
	from, to string // keys
}

// copyByDriver has the driver make the copy, if it can.
func (c blobCopy) copyByDriver(ctx context.Context,
	do func(ctx context.Context, from, to string) error) (done bool, err error) {
	if err := errors.Join(checkKey(c.from), checkKey(c.to)); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("copy blob %s: %w", c.from, err)
	}
	if IsTemporary(c.from) != IsTemporary(c.to) {
		return false, nil
	}
	err = do(ctx, c.from, c.to)
	if errors.Is(err, ErrNotFound) && bundleOf(c.from) != "" {
		return false, nil // it may be in a bundle
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err == nil, classifyError(ctx, "copy blob", c.from, err)
	}
	return false, nil
}

// uploadStored returns an upload that has all that is stored of the blob, in the form in which it is stored.
func (c blobCopy) uploadStored(ctx context.Context) (Upload, error) {
	if err := errors.Join(checkKey(c.from), checkKey(c.to)); err != nil {
		return nil, err
	}
	_, attrs, err := c.driver.ReadTail(ctx, c.from, 0)
	if err != nil {
		return nil, classifyError(ctx, "copy blob", c.from, err)
	}
	stored, err := c.driver.OpenRange(ctx, c.from, 0, -1)
	if err != nil {
		return nil, classifyError(ctx, "copy blob", c.from, err)
	}
	up, err := c.driver.BeginUpload(ctx, c.to, PutOptions{ContentType: attrs.ContentType})
	if err != nil {
		return nil, errors.Join(classifyError(ctx, "create blob", c.to, err), stored.Close())
	}
	_, err = fillUpload(ctx, up, c.to, &blobReader{ctx: ctx, from: stored, key: c.from})
	if closeErr := stored.Close(); err == nil && closeErr != nil {
		return nil, errors.Join(closeErr, up.Abort())
	}
	return up, err
}

// CopyBlob links the file, durably if it is not temporary.
func (d *folder) CopyBlob(ctx context.Context, from, to string) error {
	if err := d.LinkBlob(ctx, from, to); err != nil || IsTemporary(to) {
		return err
	}
	return d.paths.fsyncDirs(filepath.Dir(d.filePath(to)))
}

// LinkBlob links the file. Blobs are never changed in place, so that two names for one file are as good as two files.
// A file system without links, or one that has enough of them, leaves it to the caller to copy the bytes; so does a
// key that is taken, unless it is by this very file.
func (d *folder) LinkBlob(ctx context.Context, from, to string) error {
	source, target := d.filePath(from), d.filePath(to)
	if IsTemporary(from) { // it may be lost
		if _, _, err := d.ReadTail(ctx, from, 0); err != nil {
			return err
		}
	}
	err := os.Link(source, target)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Lstat(source); serr != nil {
			return mapFileNotFound(serr)
		}
		if err = d.paths.makeDir(filepath.Dir(target)); err == nil {
			err = os.Link(source, target)
		}
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrExist) && isSameFile(source, target):
		return nil
	case errors.Is(err, fs.ErrNotExist): // deleted since it was found
		return mapFileNotFound(err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EMLINK),
		errors.Is(err, fs.ErrPermission),
		errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("link: %w", errors.ErrUnsupported)
	default:
		return err
	}
}

func isSameFile(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}
