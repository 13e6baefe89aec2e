package blob

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// simulatedDisk is what a power cut would leave of a folder if the kernel wrote nothing that no fsync asks for.
type simulatedDisk struct {
	root string

	mu    sync.Mutex                   // guards what follows
	sizes map[uint64]int64             // by a file's inode, how many bytes were synced
	names map[uint64]map[string]uint64 // by a folder's inode, the inodes of the names that were synced
	wrong []string                     // names of blobs that were there before all of their bytes
	kept  []*os.File                   // the folders, so that the inode of one that was removed is no other's
}

func inode(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// sync is fsync.
func (d *simulatedDisk) sync(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !info.IsDir() {
		d.sizes[inode(info)] = info.Size()
		return nil
	}
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	names := map[string]uint64{}
	for _, e := range entries {
		child, err := e.Info()
		if err != nil {
			continue // removed since the listing
		}
		names[e.Name()] = inode(child)
		size, synced := d.sizes[inode(child)]
		if child.Mode().IsRegular() && (!synced || size != child.Size()) {
			d.wrong = append(d.wrong, filepath.Join(f.Name(), e.Name()))
		}
	}
	if d.names[inode(info)] == nil {
		keep, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
		if err != nil {
			return err
		}
		d.kept = append(d.kept, keep)
	}
	d.names[inode(info)] = names
	return nil
}

// survivingSize returns how many bytes of a blob would be left, and whether its name would.
func (d *simulatedDisk) survivingSize(t *testing.T, key string) (size int64, ok bool) {
	info, err := os.Stat(d.root)
	if err != nil {
		t.Error(err)
		return 0, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := inode(info)
	for element := range strings.SplitSeq(key, "/") {
		if at, ok = d.names[at][element]; !ok {
			return 0, false
		}
	}
	return d.sizes[at], true
}

// crashWorkload does things to the blobs of one job, and looks after each what a power cut would leave.
type crashWorkload struct {
	t     *testing.T
	store *Store
	disk  *simulatedDisk
	job   string
	rand  *rand.Rand
	sizes map[string]int64 // of the blobs that are stored
	gone  map[string]bool  // what was deleted
}

func (c *crashWorkload) key() string {
	folders := []string{"", "run-1/", "run-1/pages/", "run-1/artifacts/", "run-1/artifacts/tables/", "run-2/pages/"}
	return c.job + "/" + folders[c.rand.IntN(len(folders))] + fmt.Sprintf("%d.bin", c.rand.IntN(8))
}

func (c *crashWorkload) stored(key string, size int) {
	c.sizes[key] = int64(size)
	delete(c.gone, key)
}

// drop forgets what is below a folder, and returns it.
func (c *crashWorkload) drop(folder string) (keys []string) {
	for key := range c.sizes {
		if strings.HasPrefix(key, folder+"/") {
			delete(c.sizes, key)
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *crashWorkload) data() []byte { return make([]byte, 1+c.rand.IntN(1000)) }

// putBatch stores several blobs together: of bytes, of a writer, and of another blob.
func (c *crashWorkload) putBatch() error {
	done := map[string]int{}
	var objects []Object
	for range c.rand.IntN(4) {
		o := Object{Key: c.key(), Data: c.data()}
		objects, done[o.Key] = append(objects, o), len(o.Data)
	}
	key, data := c.key(), c.data()
	w, err := c.store.NewWriter(c.t.Context(), key, PutOptions{})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	done[key] = len(data)
	for from, size := range c.sizes {
		if to := c.job + "/copies/" + filepath.Base(from); done[from] == 0 {
			objects, done[to] = append(objects, Object{Key: to, From: from}), int(size)
			break
		}
	}
	if err := c.store.PutAll(c.t.Context(), objects, w); err != nil {
		return err
	}
	for key := range done {
		info, err := os.Stat(filepath.Join(c.disk.root, key))
		if err != nil {
			return err
		}
		c.stored(key, int(info.Size()))
	}
	return nil
}

// step does one thing.
func (c *crashWorkload) step() error {
	ctx := c.t.Context()
	switch c.rand.IntN(9) {
	case 0, 1:
		key, data := c.key(), c.data()
		c.stored(key, len(data))
		return c.store.PutBytes(ctx, key, data, "")
	case 2, 3:
		return c.putBatch()
	case 4:
		c.store.PrepareDirs(c.key(), c.key())
	case 5: // another process makes a folder
		return os.MkdirAll(filepath.Dir(filepath.Join(c.disk.root, c.key())), dirMode)
	case 6: // another process deletes one, and we store there again
		folder := c.job + "/run-1"
		c.drop(folder)
		if err := os.RemoveAll(filepath.Join(c.disk.root, folder)); err != nil {
			return err
		}
		key, data := folder+"/pages/1.bin", c.data()
		c.stored(key, len(data))
		return c.store.PutBytes(ctx, key, data, "")
	case 7:
		key := c.key()
		if _, ok := c.sizes[key]; ok {
			delete(c.sizes, key)
			c.gone[key] = true
			return c.store.Delete(ctx, key)
		}
	default:
		folder := c.job + []string{"/run-1/artifacts", "/run-1", "/run-2", ""}[c.rand.IntN(4)]
		for _, key := range c.drop(folder) {
			c.gone[key] = true
		}
		return c.store.DeletePrefix(ctx, folder)
	}
	return nil
}

// When a call has returned, what it wrote is on the disk with its name and all folders above it, whichever call made
// those and whatever else runs; what it deleted is not, and no blob's name is there before its bytes.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := &simulatedDisk{root: root, sizes: map[uint64]int64{}, names: map[uint64]map[string]uint64{}}
	folder, err := openFolder(root, folderOptions{syncFile: d.sync})
	if err != nil {
		t.Fatal(err)
	}
	store := New(folder)
	var all sync.WaitGroup
	for n := range 8 {
		c := &crashWorkload{
			t: t, store: store, disk: d, job: fmt.Sprintf("tenant-%d/job-%d", n%2, n), rand: rand.New(rand.NewPCG(uint64(n), 7)),
			sizes: map[string]int64{}, gone: map[string]bool{},
		}
		all.Go(func() {
			for i := range 60 {
				if err := c.step(); err != nil {
					t.Errorf("%s, step %d: %v", c.job, i, err)
					return
				}
				for key, size := range c.sizes {
					if left, ok := d.survivingSize(t, key); !ok || left != size {
						t.Errorf("step %d: a power cut leaves %d bytes of %s (%t), want %d", i, left, key, ok, size)
						return
					}
				}
				for key := range c.gone {
					if _, ok := d.survivingSize(t, key); ok {
						t.Errorf("step %d: %s was deleted, and a power cut brings it back", i, key)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for _, f := range d.kept {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(d.wrong) > 0 {
		t.Errorf("names without their bytes: %q", d.wrong)
	}
}

// An fsync that began before a folder was deleted says nothing of the one that is made in its place.
func TestFolderRecreatedDuringSync(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		disk := make(chan struct{})
		var synced atomic.Int32
		paths := newDurablePaths(root, func(*os.File) error {
			<-disk
			synced.Add(1)
			return nil
		})
		dir := filepath.Join(root, "job")
		makeIt := func() {
			if err := paths.makeDir(dir); err != nil {
				t.Fatal(err)
			}
		}
		makeIt()
		var first sync.WaitGroup
		first.Go(func() { _ = paths.fsyncDirs(dir) })
		synctest.Wait() // both fsyncs are under way
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		paths.forgetDir(dir)
		makeIt()
		close(disk)
		first.Wait()
		synced.Store(0)
		if err := paths.fsyncDirs(dir); err != nil {
			t.Fatal(err)
		}
		if got := synced.Load(); got != 2 {
			t.Errorf("fsyncs: got %d, want 2, of the folder and of the one above", got)
		}
	})
}

// Names that an fsync that failed was to cover are not taken for durable.
func TestFailedFolderSyncIsDoneAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var failing atomic.Bool
	var synced atomic.Int32
	paths := newDurablePaths(root, func(*os.File) error {
		synced.Add(1)
		if failing.Load() {
			return syscall.EIO
		}
		return nil
	})
	dir := filepath.Join(root, "tenant", "job")
	if err := paths.makeDir(dir); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := paths.fsyncDirs(dir); !errors.Is(err, syscall.EIO) {
		t.Errorf("settle on a bad disk: got %v, want EIO", err)
	}
	failing.Store(false)
	for _, want := range []int32{3, 1} {
		synced.Store(0)
		if err := paths.fsyncDirs(dir); err != nil || synced.Load() != want {
			t.Errorf("settle: got %d fsyncs and error %v, want %d and no error", synced.Load(), err, want)
		}
	}
}

// A power cut may leave the name of a temporary blob, which is not fsynced, without its bytes. So temporary blobs
// that are older than the machine's start count as absent until they are written again; fsynced blobs count as
// present, however old they are.
func TestTemporaryBlobsBeforePowerFailure(t *testing.T) {
	t.Parallel()
	root, ctx := t.TempDir(), t.Context()
	s, err := Open(ctx, "file://"+root)
	if err != nil {
		t.Fatal(err)
	}
	const batch, kept = "t/j/tmp/run-1/chunk-00000.pb", "t/j/run-1/pages/00001.pb"
	there := func(key string) bool {
		t.Helper()
		found, err := s.BlobExists(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := s.ReadBytes(ctx, key, 1<<10)
		f, fileErr := s.OpenFile(ctx, key)
		if fileErr == nil {
			_ = f.Close()
		}
		copyErr := s.CopyBlob(ctx, key, key+".copy")
		for _, err := range []error{readErr, fileErr, copyErr} {
			if (err == nil) != found || err != nil && !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: exists %t, but read %v, file %v, copy %v", key, found, readErr, fileErr, copyErr)
			}
		}
		return found
	}
	for _, key := range []string{batch, kept} {
		if err := s.PutBytes(ctx, key, nil, ""); err != nil {
			t.Fatal(err)
		}
		if !there(key) {
			t.Errorf("%s is not there", key)
		}
		before := machineStartTime().Add(-time.Minute)
		if err := os.Chtimes(filepath.Join(root, key), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if there(batch) {
		t.Errorf("%s is there after the power cut", batch)
	}
	if !there(kept) {
		t.Errorf("%s is not there after the power cut", kept)
	}
	listed := false
	for e, err := range s.ListBlobs(ctx, "t/j/tmp/") {
		listed = listed || err == nil && e.Key == batch
	}
	if !listed {
		t.Errorf("%s cannot be found to be cleared up", batch)
	}
	if err := s.PutBytes(ctx, batch, []byte("anew"), ""); err != nil {
		t.Fatal(err)
	}
	if !there(batch) {
		t.Errorf("%s is not there when it was written again", batch)
	}
}
