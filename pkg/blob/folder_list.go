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

// walk yields the blobs below the folder key whose keys begin with prefix. It returns false when the caller wants no more.
func (d *folder) walk(ctx context.Context, key, prefix string, yield func(Entry, error) bool) bool {
	entries, err := os.ReadDir(d.path(key))
	if errors.Is(missing(err), ErrNotFound) {
		return true // deleted meanwhile, or never there
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		yield(Entry{}, err)
		return false
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	for _, entry := range entries {
		child := entry.Name()
		if key != "" {
			child = key + "/" + child
		}
		// What is no key is none of ours: the incoming folder, and whatever somebody put there.
		if checkKey(child) != nil {
			continue
		}
		switch {
		case entry.IsDir():
			if !overlap(child+"/", prefix) {
				continue
			}
			if !d.walk(ctx, child, prefix, yield) {
				return false
			}
		case entry.Type().IsRegular() && strings.HasPrefix(child, prefix):
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
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

// sortName puts the folder a where the keys a/… belong: after a-b, before a0.
func sortName(e os.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// overlap reports whether keys below folder can begin with prefix.
func overlap(folder, prefix string) bool {
	return strings.HasPrefix(folder, prefix) || strings.HasPrefix(prefix, folder)
}

// Sweep removes files that nobody writes any more. A writer holds a lock on its file, which ends with its process, so that age alone
// condemns nobody.
func (d *folder) Sweep(ctx context.Context, olderThan time.Duration) (int, error) {
	before := time.Now().Add(-olderThan)
	swept := 0
	err := filepath.WalkDir(filepath.Join(d.root, incoming), func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), apartPrefix):
			return fs.SkipDir // no tray: a tenant's folder, of which a crash left this name
		case entry.IsDir():
			return nil
		}
		ok, err := sweepOne(path, before)
		if ok {
			swept++
		}
		if errors.Is(err, fs.ErrNotExist) { // committed meanwhile, or swept by another process
			return nil
		}
		return err
	})
	return swept, err
}

func sweepOne(path string, before time.Time) (bool, error) {
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
