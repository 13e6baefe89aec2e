package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/fault"
)

// commitTries bounds the race with those who delete the folder that a blob is to go to.
const commitTries = 4

// BeginUpload begins a file in a staging folder, which is on the same device as the place it will be renamed to. A file
// without a name (O_TMPFILE) would do without one, but must be synced once more when it has its name: a file system
// without a journal takes it for deleted otherwise.
func (d *folder) BeginUpload(_ context.Context, key string, _ PutOptions) (Upload, error) {
	dir := d.staging.dirForKey(key)
	name := filepath.Join(dir, randomDirName())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) { // the first in this staging folder, or the store was cleared away
		if err = d.paths.makeDir(dir); err == nil {
			f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		}
	}
	if err != nil {
		return nil, err
	}
	// The lock tells SweepAbandoned that a process writes here; the kernel drops it with the process. On a file system
	// without locks only the blob's age counts.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close(), os.Remove(name))
	}
	return &fileUpload{folder: d, file: f, key: key}, nil
}

type fileUpload struct {
	folder *folder
	file   *os.File
	key    string
}

// Write writes to the file.
func (u *fileUpload) Write(p []byte) (int, error) { return u.file.Write(p) }

// Commit makes the file durable, gives it its name, and makes that durable.
func (u *fileUpload) Commit() error { return u.folder.commitFiles([]*fileUpload{u}, nil) }

// CommitAll implements grouper.
func (d *folder) CommitAll(all []Upload, linked []string) error {
	ups := make([]*fileUpload, len(all))
	for i, u := range all {
		ups[i] = u.(*fileUpload)
	}
	return d.commitFiles(ups, linked)
}

// PrepareDir implements expecter.
func (d *folder) PrepareDir(key string) { d.paths.prepareDir(filepath.Dir(d.filePath(key))) }

// commitFiles syncs the files, gives them their names, and syncs the folders that hold those, each once. If syncing a
// file fails, all blobs are dropped for good: after a failed fsync the kernel may hold pages for clean that never
// reached the disk, so only writing it all again can help.
func (d *folder) commitFiles(ups []*fileUpload, linked []string) error {
	if err := d.syncFiles(ups); err != nil {
		return errors.Join(fmt.Errorf("sync: %w", err), abortFiles(ups))
	}
	var folders []string
	appeared := func(key string) {
		if !IsTemporary(key) {
			folders = append(folders, filepath.Dir(d.filePath(key)))
		}
	}
	for i, u := range ups {
		if err := d.renameIntoPlace(u.file.Name(), d.filePath(u.key)); err != nil {
			return errors.Join(err, closeFiles(ups[:i]), abortFiles(ups[i:]))
		}
		appeared(u.key)
	}
	for _, key := range linked {
		appeared(key)
	}
	return errors.Join(closeFiles(ups), d.paths.fsyncDirs(folders...))
}

// syncFiles syncs the files that are to be durable. Those of a group are all on their way to the disk before the
// first is waited for: an fsync then finds most of what the others share with it done, such as the block of their
// inodes.
func (d *folder) syncFiles(ups []*fileUpload) error {
	var files []*os.File
	for _, u := range ups {
		if !IsTemporary(u.key) {
			files = append(files, u.file)
		}
	}
	if len(files) > 1 && !d.opts.noSync {
		for _, f := range files {
			_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) // the fsync does it all, and tells of what went wrong
		}
	}
	return forEachParallel(files, d.opts.syncFile)
}

func closeFiles(ups []*fileUpload) (err error) {
	for _, u := range ups {
		err = errors.Join(err, u.file.Close())
	}
	return err
}

func abortFiles(ups []*fileUpload) (err error) {
	for _, u := range ups {
		err = errors.Join(err, u.Abort())
	}
	return err
}

// Abort removes the file.
func (u *fileUpload) Abort() error {
	removeErr := os.Remove(u.file.Name())
	if errors.Is(removeErr, fs.ErrNotExist) {
		removeErr = nil
	}
	return errors.Join(u.file.Close(), removeErr)
}

// renameIntoPlace makes the folder only when it turns out to be missing, which is once in a job.
func (d *folder) renameIntoPlace(from, to string) error {
	var err error
	for range commitTries {
		if err = syscall.Rename(from, to); err == nil { // os.Rename would look at what it is to replace
			return nil
		}
		err = &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		if !errors.Is(err, fs.ErrNotExist) {
			return markKeyConflict(err)
		}
		if err := d.paths.makeDir(filepath.Dir(to)); err != nil {
			return markKeyConflict(err)
		}
	}
	return err
}

// markKeyConflict tells apart the errors that come again: one of two keys would be the folder of the other.
func markKeyConflict(err error) error {
	for _, is := range []error{syscall.EISDIR, syscall.ENOTDIR, syscall.EEXIST, syscall.ENOTEMPTY} {
		if errors.Is(err, is) {
			return fault.Wrap(fault.Permanent, fault.Internal,
				fmt.Errorf("the key is another's folder, or another key is its folder: %w", err))
		}
	}
	return err
}
