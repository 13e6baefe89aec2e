package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"inkstream.dev/pkg/fault"
)

// commitTries bounds the race with those who delete the folder that a blob is to go to.
const commitTries = 4

// Create begins a file in a tray of the incoming folder, which is on the same device as the place it will be renamed to.
func (d *folder) Create(_ context.Context, key string, opts PutOptions) (Upload, error) {
	name := filepath.Join(d.tray(rand.IntN(trays)), strconv.FormatUint(rand.Uint64(), 36))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) { // somebody cleared the store away under us
		if err = d.makeTrays(); err == nil {
			f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		}
	}
	if err != nil {
		return nil, err
	}
	// The lock tells Sweep that somebody writes here; the kernel drops it with the process. A file system without locks leaves the
	// blob to its age.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close(), os.Remove(name))
	}
	up := &fileUpload{folder: d, file: f, key: key}
	if opts.Bulk && setDirect(f, true) {
		up.direct, up.ticket = true, d.bulk.ticket()
	}
	return up, nil
}

type fileUpload struct {
	folder *folder
	file   *os.File
	key    string
	direct bool   // what is written now goes past the page cache
	ticket uint64 // for that
}

// Write writes whole blocks past the page cache where the upload is direct; what is left of the first piece that is not made of them, which is the
// last one of a blob, and all after it goes the ordinary way.
func (u *fileUpload) Write(p []byte) (int, error) {
	n, err := u.writeBlocks(p)
	if err != nil || n == len(p) {
		return n, err
	}
	rest, err := u.file.Write(p[n:])
	return n + rest, err
}

// writeBlocks writes the whole blocks that p begins with, if the upload is direct, and ends that where they are not all.
func (u *fileUpload) writeBlocks(p []byte) (n int, err error) {
	if !u.direct {
		return 0, nil
	}
	if blocks := aligned(p); len(blocks) > 0 {
		u.folder.bulk.take(u.ticket)
		n, err = u.file.Write(blocks)
		u.folder.bulk.leave()
	}
	if n == 0 && errors.Is(err, syscall.EINVAL) { // a file system that promised more than it keeps
		err = nil
	}
	if n < len(p) {
		u.direct = setDirect(u.file, false)
	}
	return n, err
}

// Commit syncs the file, renames it, and syncs its folder. If syncing the file fails, the blob is dropped for good: after a failed
// fsync the kernel may hold pages for clean that never reached the disk, so only writing it all again can help.
func (u *fileUpload) Commit() error {
	durable := !Temporary(u.key)
	if durable {
		if err := u.folder.opts.syncFile(u.file); err != nil {
			return errors.Join(fmt.Errorf("sync: %w", err), u.Abort())
		}
	}
	path := u.folder.path(u.key)
	if err := u.folder.rename(u.file.Name(), path); err != nil {
		return errors.Join(err, u.Abort())
	}
	if err := u.file.Close(); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return u.folder.paths.settle(filepath.Dir(path))
}

// Abort removes the file.
func (u *fileUpload) Abort() error {
	removeErr := os.Remove(u.file.Name())
	if errors.Is(removeErr, fs.ErrNotExist) {
		removeErr = nil
	}
	return errors.Join(u.file.Close(), removeErr)
}

// rename makes the folder only when it turns out to be missing, which is once in a job.
func (d *folder) rename(from, to string) error {
	var err error
	for range commitTries {
		if err = os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
			return misplaced(err)
		}
		if err := d.paths.make(filepath.Dir(to)); err != nil {
			return misplaced(err)
		}
	}
	return err
}

// misplaced tells apart the errors that come again: one of two keys would be the folder of the other.
func misplaced(err error) error {
	for _, is := range []error{syscall.EISDIR, syscall.ENOTDIR, syscall.EEXIST, syscall.ENOTEMPTY} {
		if errors.Is(err, is) {
			return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("the key is another's folder, or another key is its folder: %w", err))
		}
	}
	return err
}
