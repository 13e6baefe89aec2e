package blob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// walkFolder yields the blobs below the folder key whose keys begin with prefix. It returns false when the caller
// wants no more.
func (d *folder) walkFolder(ctx context.Context, key, prefix string, yield func(Entry, error) bool) bool {
	entries, err := os.ReadDir(d.filePath(key))
	if errors.Is(mapFileNotFound(err), ErrNotFound) {
		return true // deleted since the parent was read, or never there
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		yield(Entry{}, err)
		return false
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(entrySortName(a), entrySortName(b)) })
	for _, entry := range entries {
		child := entry.Name()
		if key != "" {
			child = key + "/" + child
		}
		// A name that is not a key does not belong to the store: the incoming folder, and foreign files.
		if checkKey(child) != nil {
			continue
		}
		switch {
		case entry.IsDir():
			if !prefixOverlaps(child+"/", prefix) {
				continue
			}
			if !d.walkFolder(ctx, child, prefix, yield) {
				return false
			}
		case entry.Type().IsRegular() && strings.HasPrefix(child, prefix):
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted since the folder was read
			}
			if err != nil {
				yield(Entry{}, err)
				return false
			}
			if !yield(Entry{Key: child, Size: info.Size(), ModTime: info.ModTime()}, nil) {
				return false
			}
		}
	}
	return true
}

// entrySortName puts the folder a where the keys a/… belong: after a-b, before a0.
func entrySortName(e os.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// prefixOverlaps reports whether keys below folder can begin with prefix.
func prefixOverlaps(folder, prefix string) bool {
	return strings.HasPrefix(folder, prefix) || strings.HasPrefix(prefix, folder)
}

// SweepAbandoned removes files that no process writes any more. A writer holds a lock on its file, which ends with
// its process, so that age alone removes no file in use.
func (d *folder) SweepAbandoned(ctx context.Context, olderThan time.Duration) (int, error) {
	before := time.Now().Add(-olderThan)
	swept := 0
	err := filepath.WalkDir(filepath.Join(d.root, stagingRoot), func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), scatteredPrefix):
			return fs.SkipDir // no staging folder: a tenant's folder, of which a crash left this name
		case entry.IsDir():
			return nil
		}
		ok, err := sweepFile(path, before)
		if ok {
			swept++
		}
		if errors.Is(err, fs.ErrNotExist) { // committed since the listing, or swept by another process
			return nil
		}
		return err
	})
	return swept, err
}

func sweepFile(path string, before time.Time) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.ModTime().After(before) {
		return false, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil // its writer lives
	}
	return true, os.Remove(path)
}
