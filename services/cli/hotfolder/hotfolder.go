// Package hotfolder takes files that people and scanners put into a folder: each once it is whole, and each once.
// What became of a file shows in where it goes: done or failed, below the folder, with what belongs to it beside.
package hotfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// StableAfter is how long a file's size and time must have stayed as they are before it counts as whole.
	StableAfter = 2 * time.Second
	// lockName is the file that keeps a second process out.
	lockName = ".inkstream-lock"
	// maxNames bounds the search for a name that is free.
	maxNames = 100_000
)

// Place is where a file goes.
type Place string

// The places, which are folders below the hot one.
const (
	Done   Place = "done"
	Failed Place = "failed"
)

// ErrInUse means that another process takes the files of the folder.
var ErrInUse = errors.New("another process takes the files of this folder")

// ErrChanged means that a file is no longer what was taken: since then it was written to, replaced or removed.
var ErrChanged = errors.New("the file has changed since it was taken")

// File is a file that was taken.
type File struct {
	// Name is its name in the folder.
	Name string
	info fs.FileInfo
}

// Size is the file's size in bytes.
func (f File) Size() int64 { return f.info.Size() }

// observation is what is known of a file from looking at it.
type observation struct {
	info           fs.FileInfo
	unchangedSince time.Time // when it was first seen as it is
	taken          bool
	notBefore      time.Time // not before
}

// Folder is a hot folder. It is safe for concurrent use.
type Folder struct {
	dir  string
	root *os.Root
	lock *os.File

	mu           sync.Mutex // guards all below, and the choice of names
	observations map[string]*observation
}

// OpenFolder opens a folder, and makes it and its places where they are missing. It holds a lock until Close;
// ErrInUse if another process does.
func OpenFolder(dir string) (_ *Folder, err error) {
	for _, place := range []Place{Done, Failed} {
		if err := os.MkdirAll(filepath.Join(dir, string(place)), 0o755); err != nil {
			return nil, err
		}
	}
	f := &Folder{dir: dir, observations: map[string]*observation{}}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if f.lock, err = f.root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	// The system drops the lock with the process, however that ends.
	if err = syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return f, err
}

// Close releases the folder.
func (f *Folder) Close() {
	if f.lock != nil {
		f.lock.Close()
	}
	if f.root != nil {
		_ = f.root.Close() // it was only looked through
	}
}

// TakeStableFiles looks at the folder and takes the files that have been whole for long enough at the time now, in
// the order of their names. Regular files with the ending .pdf count; symbolic links, hidden, empty and all other
// files are left alone, as are folders.
func (f *Folder) TakeStableFiles(now time.Time) ([]File, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	there := map[string]bool{}
	var files []File
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || !strings.EqualFold(filepath.Ext(e.Name()), ".pdf") {
			continue
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			continue // gone since, or not begun yet
		}
		there[e.Name()] = true
		s := f.observations[e.Name()]
		if s == nil || !s.taken && !isUnchanged(s.info, info) {
			f.observations[e.Name()] = &observation{info: info, unchangedSince: now}
			continue
		}
		if !s.taken && now.Sub(s.unchangedSince) >= StableAfter && !now.Before(s.notBefore) {
			s.taken = true
			files = append(files, File{Name: e.Name(), info: s.info})
		}
	}
	for name, s := range f.observations {
		if !there[name] && !s.taken {
			delete(f.observations, name)
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Name < files[j].Name })
	return files, nil
}

// isUnchanged reports whether two looks saw the same file, unchanged.
func isUnchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// OpenFile opens a file that was taken. It is ErrChanged if it is not what was taken, for instance a link by now.
func (f *Folder) OpenFile(file File) (*os.File, error) {
	if err := f.checkUnchanged(file); err != nil {
		return nil, err
	}
	r, err := f.root.OpenFile(file.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := r.Stat(); err != nil || !isUnchanged(info, file.info) {
		r.Close()
		return nil, ErrChanged
	}
	return r, nil
}

// checkUnchanged looks whether a file is still what was taken.
func (f *Folder) checkUnchanged(file File) error {
	info, err := f.root.Lstat(file.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isUnchanged(info, file.info) {
		return ErrChanged
	}
	return err
}

// ReleaseFile gives a file back: it is taken again, not before the time after, and if it has changed once it is whole.
func (f *Folder) ReleaseFile(file File, after time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.observations[file.Name]; s != nil {
		s.taken, s.notBefore = false, after
	}
}

// MoveToPlace puts a file into its place. What belongs to it goes first: fill is called with a new folder to put it
// into, which appears beside the file as <name> (or below results, if that is not empty) only when it is whole; nil
// for none. A note becomes <name>.error.txt beside the file. The name is the file's without its ending, with a number
// behind it if that is taken. It is ErrChanged, and nothing has moved, if the file is not what was taken.
func (f *Folder) MoveToPlace(file File, place Place, results, note string,
	fill func(dir string) error) (name string, err error) {
	name, part, err := f.reserveName(file, place, results, fill != nil)
	if err != nil {
		return "", err
	}
	home := filepath.Join(f.dir, string(place))
	below := home
	if results != "" {
		below = results
	}
	if fill != nil {
		defer os.RemoveAll(part) // gone by its new name, if all went well
		if err := fill(part); err != nil {
			return "", err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkUnchanged(file); err != nil {
		return "", err
	}
	if fill != nil {
		if name, err = findFreeName(name, home, below); err != nil {
			return "", err
		}
		if err := os.Rename(part, filepath.Join(below, name)); err != nil {
			return "", err
		}
	}
	if note != "" {
		if err := os.WriteFile(filepath.Join(home, name+".error.txt"), []byte(note), 0o644); err != nil {
			return "", err
		}
	}
	to := filepath.Join(string(place), name+filepath.Ext(file.Name))
	if err := f.root.Rename(file.Name, to); err != nil {
		return "", err
	}
	delete(f.observations, file.Name)
	return name, nil
}

// reserveName finds a name, and makes the folder that is filled.
func (f *Folder) reserveName(file File, place Place, results string, fills bool) (name, part string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	home := filepath.Join(f.dir, string(place))
	below := home
	if results != "" {
		below = results
		if err := os.MkdirAll(below, 0o755); err != nil {
			return "", "", err
		}
	}
	if name, err = findFreeName(strings.TrimSuffix(file.Name, filepath.Ext(file.Name)), home, below); err != nil ||
		!fills {
		return name, "", err
	}
	if part, err = os.MkdirTemp(below, ".inkstream-part-*"); err != nil {
		return "", "", err
	}
	return name, part, os.Chmod(part, 0o755)
}

// findFreeName returns a name under which there is neither a file nor a folder.
func findFreeName(base, home, below string) (string, error) {
	name := base
	for n := 2; n < maxNames; n++ {
		taken := false
		for _, path := range []string{
			filepath.Join(home, name+".pdf"), filepath.Join(home, name+".PDF"), filepath.Join(home, name+".error.txt"),
			filepath.Join(below, name),
		} {
			if _, err := os.Lstat(path); err == nil {
				taken = true
			}
		}
		if !taken {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return "", fmt.Errorf("there are %d files named %s", maxNames, base)
}
