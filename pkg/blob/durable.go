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

// maxKnown bounds what durablePaths remembers. A job has a handful of folders, and is done with them soon.
const maxKnown = 4096

// durablePaths makes folders and syncs them. A name is durable once the folder that holds it was fsynced after it was made, and so is
// the name of that folder in its parent, up to the root.
//
// A sync is left out only where another is known to do: the name of a folder that an fsync of this process has covered stays; an fsync covers all
// names that were there when it began, whoever it is for; and one fsync serves all who were waiting when it began.
type durablePaths struct {
	root     string
	syncFile func(*os.File) error

	mu     sync.Mutex               // guards what follows
	known  map[string]*folderName   // by path; where a folder is known, those above it are
	fresh  map[string][]*folderName // by folder, the names of folders in it that its next fsync covers
	rounds map[string]*syncTurn     // by folder, the fsync that has not begun yet and may be joined, or the last one
}

// folderName is the name of a folder in the one above it.
type folderName struct {
	path    string
	durable bool
}

// syncTurn is one fsync of a folder, for all who joined before it began.
type syncTurn struct {
	begun bool
	done  chan struct{}
	err   error // set before done is closed
}

func newDurablePaths(root string, syncFile func(*os.File) error) *durablePaths {
	return &durablePaths{
		root: root, syncFile: syncFile,
		known: map[string]*folderName{}, fresh: map[string][]*folderName{}, rounds: map[string]*syncTurn{},
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
		if err := d.sync(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// make makes dir, which is below the root, and its parents. It syncs nothing: settle does.
func (d *durablePaths) make(dir string) error {
	mkdir := func(dir string) error { return os.Mkdir(dir, dirMode) }
	if filepath.Dir(dir) == d.root && filepath.Base(dir) != incoming { // a tenant's, which all its jobs' folders lie beside
		mkdir = d.mkdirApart
	}
	err := mkdir(dir)
	switch {
	case err == nil:
		d.forget(dir)
		return nil
	case errors.Is(err, fs.ErrExist):
		return nil // if it is a file, the rename will say so
	case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
		if err := d.make(filepath.Dir(dir)); err != nil {
			return err
		}
		return d.make(dir)
	}
	return err
}

// settle makes the names in the folders durable, and the paths of the folders themselves. Who made the folders does not matter: it may have been
// another process, which has not synced them yet. They are synced at the same time, since the disk makes less of that than of one after the other.
func (d *durablePaths) settle(dirs ...string) error {
	return each(d.unsynced(dirs), d.sync)
}

// unsynced returns the folders and those above them that hold names which are not known to be durable, each once.
func (d *durablePaths) unsynced(dirs []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) > maxKnown { // what is forgotten is taken for new
		clear(d.known)
		clear(d.fresh)
	}
	var found []string
	add := func(dir string) {
		if !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	for _, dir := range dirs {
		add(dir)
		for _, name := range d.namesOf(dir) {
			if !name.durable {
				add(filepath.Dir(name.path))
			}
		}
	}
	return found
}

// expect makes dir, if it can, so that the next fsync of the folder above, whoever it is for, makes its name durable as well.
func (d *durablePaths) expect(dir string) {
	if d.make(dir) != nil {
		return // whoever needs it will be told
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.namesOf(dir)
}

// namesOf returns the names that lead to a folder that is there, from its own upwards. Those that were not known are from now on. The caller holds
// the lock.
func (d *durablePaths) namesOf(dir string) (names []*folderName) {
	for ; dir != d.root; dir = filepath.Dir(dir) {
		name := d.known[dir]
		if name == nil {
			name = &folderName{path: dir}
			d.known[dir] = name
			above := filepath.Dir(dir)
			d.fresh[above] = append(d.fresh[above], name)
		}
		names = append(names, name)
	}
	return names
}

// forget takes dir, and all below it, for new. An fsync that is under way covers the names that it was told of, and not what stands there anew.
func (d *durablePaths) forget(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetLocked(dir)
}

func (d *durablePaths) forgetLocked(dir string) {
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

// sync fsyncs the folder dir, or waits for an fsync that begins after this call did.
func (d *durablePaths) sync(dir string) error {
	d.mu.Lock()
	last := d.rounds[dir]
	if last != nil && !last.begun {
		d.mu.Unlock()
		<-last.done
		return last.err
	}
	turn := &syncTurn{done: make(chan struct{})}
	d.rounds[dir] = turn
	d.mu.Unlock()
	if last != nil {
		<-last.done // meanwhile others join this turn
	}
	d.mu.Lock()
	turn.begun = true
	covered := d.fresh[dir]
	delete(d.fresh, dir)
	d.mu.Unlock()
	turn.err = d.fsync(dir)
	d.mu.Lock()
	if d.rounds[dir] == turn {
		delete(d.rounds, dir)
	}
	for _, name := range covered {
		if turn.err == nil {
			name.durable = true
		} else if d.known[name.path] == name {
			d.forgetLocked(name.path)
		}
	}
	d.mu.Unlock()
	close(turn.done)
	return turn.err
}

func (d *durablePaths) fsync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.syncFile(f), f.Close())
}

// eachParallel is how many fsyncs of one caller are under way at once. More made no difference.
const eachParallel = 8

// each calls do for all, some at a time.
func each[T any](all []T, do func(T) error) error {
	if len(all) == 0 {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(eachParallel)
	for _, one := range all[1:] {
		group.Go(func() error { return do(one) })
	}
	return errors.Join(do(all[0]), group.Wait())
}
