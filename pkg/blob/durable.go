package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxSettled bounds what durablePaths remembers. A job has a handful of folders, and is done with them soon.
const maxSettled = 4096

// durablePaths makes folders and syncs them. A name is durable once the folder that holds it was fsynced after it was made, and so is
// the name of that folder in its parent, up to the root.
//
// A sync is left out only where another is known to do: a folder's path up to the root, once this process has synced it, stays; and
// one fsync serves all who were waiting when it began.
type durablePaths struct {
	root     string
	syncFile func(*os.File) error

	mu      sync.Mutex           // guards what follows
	settled map[string]struct{}  // folders whose path from the root is durable
	rounds  map[string]*syncTurn // by folder, the fsync that has not begun yet and may be joined, or the last one
}

// syncTurn is one fsync of a folder, for all who joined before it began.
type syncTurn struct {
	begun bool
	done  chan struct{}
	err   error // set before done is closed
}

func newDurablePaths(root string, syncFile func(*os.File) error) *durablePaths {
	return &durablePaths{root: root, syncFile: syncFile, settled: map[string]struct{}{}, rounds: map[string]*syncTurn{}}
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
	err := os.Mkdir(dir, dirMode)
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

// settle makes the names in dir durable, and the path of dir itself. Who made the folders does not matter: it may have been another
// process, which has not synced them yet.
func (d *durablePaths) settle(dir string) error {
	if err := d.sync(dir); err != nil {
		return err
	}
	var fresh []string
	for ; dir != d.root && !d.isSettled(dir); dir = filepath.Dir(dir) {
		if err := d.sync(filepath.Dir(dir)); err != nil {
			return err
		}
		fresh = append(fresh, dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.settled)+len(fresh) > maxSettled {
		clear(d.settled)
	}
	if _, ok := d.settled[dir]; !ok && dir != d.root {
		return nil // the folder above the fresh ones was forgotten meanwhile, and none is settled without those above it
	}
	for _, dir := range fresh {
		d.settled[dir] = struct{}{}
	}
	return nil
}

func (d *durablePaths) isSettled(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.settled[dir]
	return ok
}

// forget takes dir, and all below it, for new. Where a folder is settled those above it are, so below one that is not there is nothing to forget.
func (d *durablePaths) forget(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.settled[dir]; !ok {
		return
	}
	delete(d.settled, dir)
	for path := range d.settled {
		if strings.HasPrefix(path, dir) && path[len(dir)] == '/' {
			delete(d.settled, path)
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
	d.mu.Unlock()
	turn.err = d.fsync(dir)
	d.mu.Lock()
	if d.rounds[dir] == turn {
		delete(d.rounds, dir)
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
