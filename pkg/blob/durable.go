package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxKnownDirs bounds what durablePaths remembers. A job has a handful of folders, and is done with them soon.
const maxKnownDirs = 4096

// durablePaths makes folders and syncs them. A name is durable once the folder that holds it was fsynced after it was
// made, and so is the name of that folder in its parent, up to the root.
//
// A sync is left out only where another one is known to suffice: the name of a folder that an fsync of this process
// has covered stays; an fsync covers all names that were there when it began, whichever call began it; and one fsync
// serves all calls that were waiting when it began.
type durablePaths struct {
	root     string
	syncFile func(*os.File) error

	mu           sync.Mutex               // guards what follows
	known        map[string]*folderName   // by path; where a folder is known, those above it are
	pendingNames map[string][]*folderName // by folder, the names of folders in it that its next fsync covers
	rounds       map[string]*syncRound    // by folder, the fsync that has not begun yet and may be joined, or the last one
}

// folderName is the name of a folder in the one above it.
type folderName struct {
	path    string
	durable bool
}

// syncRound is one fsync of a folder, for all who joined before it began.
type syncRound struct {
	begun bool
	done  chan struct{}
	err   error // set before done is closed
}

func newDurablePaths(root string, syncFile func(*os.File) error) *durablePaths {
	return &durablePaths{
		root: root, syncFile: syncFile,
		known: map[string]*folderName{}, pendingNames: map[string][]*folderName{}, rounds: map[string]*syncRound{},
	}
}

// makeRoot makes the root and its parents durably.
func (d *durablePaths) makeRoot() error {
	var made []string
	for dir := d.root; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(d.root, dirMode); err != nil {
		return err
	}
	for _, dir := range made {
		if err := d.syncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes dir, which is below the root, and its parents. It syncs nothing: settle does.
func (d *durablePaths) makeDir(dir string) error {
	mkdir := func(dir string) error { return os.Mkdir(dir, dirMode) }
	if filepath.Dir(dir) == d.root && filepath.Base(dir) != stagingRoot { // a tenant's, which all its jobs' folders lie beside
		mkdir = d.makeScatteredDir
	}
	err := mkdir(dir)
	switch {
	case err == nil:
		d.forgetDir(dir)
		return nil
	case errors.Is(err, fs.ErrExist):
		return nil // if it is a file, the rename will say so
	case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
		if err := d.makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		return d.makeDir(dir)
	}
	return err
}

// fsyncDirs makes the names in the folders durable, and the paths of the folders themselves. Who made the folders
// does not matter: it may have been another process, which has not synced them yet. They are synced at the same time,
// since the disk makes less of that than of one after the other.
func (d *durablePaths) fsyncDirs(dirs ...string) error {
	return forEachParallel(d.unsyncedDirs(dirs), d.syncDir)
}

// unsyncedDirs returns the folders and those above them that hold names which are not known to be durable, each once.
func (d *durablePaths) unsyncedDirs(dirs []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) > maxKnownDirs { // what is forgotten is taken for new
		clear(d.known)
		clear(d.pendingNames)
	}
	var found []string
	add := func(dir string) {
		if !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	for _, dir := range dirs {
		add(dir)
		for _, name := range d.folderNamesOf(dir) {
			if !name.durable {
				add(filepath.Dir(name.path))
			}
		}
	}
	return found
}

// prepareDir makes dir, if it can, so that the next fsync of the folder above, whichever call begins it, makes its
// name durable as well.
func (d *durablePaths) prepareDir(dir string) {
	if d.makeDir(dir) != nil {
		return // the call that needs the folder gets the error
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.folderNamesOf(dir)
}

// folderNamesOf returns the names that lead to a folder that is there, from its own upwards. Those that were not
// known are from now on. The caller holds the lock.
func (d *durablePaths) folderNamesOf(dir string) (names []*folderName) {
	for ; dir != d.root; dir = filepath.Dir(dir) {
		name := d.known[dir]
		if name == nil {
			name = &folderName{path: dir}
			d.known[dir] = name
			above := filepath.Dir(dir)
			d.pendingNames[above] = append(d.pendingNames[above], name)
		}
		names = append(names, name)
	}
	return names
}

// forgetDir treats dir, and all below it, as new from now on. An fsync that is under way covers the names that were
// registered with it, and not names that are created later at the same paths.
func (d *durablePaths) forgetDir(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetDirLocked(dir)
}

func (d *durablePaths) forgetDirLocked(dir string) {
	if _, ok := d.known[dir]; !ok {
		return
	}
	delete(d.known, dir)
	for path := range d.known {
		if strings.HasPrefix(path, dir) && path[len(dir)] == '/' {
			delete(d.known, path)
		}
	}
}

// syncDir fsyncs the folder dir, or waits for an fsync that begins after this call did.
func (d *durablePaths) syncDir(dir string) error {
	d.mu.Lock()
	last := d.rounds[dir]
	if last != nil && !last.begun {
		d.mu.Unlock()
		<-last.done
		return last.err
	}
	turn := &syncRound{done: make(chan struct{})}
	d.rounds[dir] = turn
	d.mu.Unlock()
	if last != nil {
		<-last.done // until then other calls join this round
	}
	d.mu.Lock()
	turn.begun = true
	covered := d.pendingNames[dir]
	delete(d.pendingNames, dir)
	d.mu.Unlock()
	turn.err = d.fsyncDir(dir)
	d.mu.Lock()
	if d.rounds[dir] == turn {
		delete(d.rounds, dir)
	}
	for _, name := range covered {
		if turn.err == nil {
			name.durable = true
		} else if d.known[name.path] == name {
			d.forgetDirLocked(name.path)
		}
	}
	d.mu.Unlock()
	close(turn.done)
	return turn.err
}

func (d *durablePaths) fsyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.syncFile(f), f.Close())
}

// maxParallelSyncs is how many fsyncs of one caller are under way at once. More made no difference.
const maxParallelSyncs = 8

// forEachParallel calls do for all, some at a time.
func forEachParallel[T any](all []T, do func(T) error) error {
	if len(all) == 0 {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(maxParallelSyncs)
	for _, one := range all[1:] {
		group.Go(func() error { return do(one) })
	}
	return errors.Join(do(all[0]), group.Wait())
}
