package blob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"inkstream.dev/pkg/fault"
)

// syncLog notes what is fsynced, relative to a root.
type syncLog struct {
	mu    sync.Mutex // guards paths and err
	root  string
	paths []string
	err   error
}

func (l *syncLog) sync(f *os.File) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	path, err := filepath.Rel(l.root, f.Name())
	if strings.HasPrefix(path, stagingRoot+"/") {
		path = "file"
	}
	l.paths = append(l.paths, path)
	if l.err != nil {
		return l.err
	}
	return err
}

// take returns what was synced since the last call.
func (l *syncLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	paths := l.paths
	l.paths = nil
	return paths
}

// sameSyncs reports whether the same was synced, files before folders. The folders, which are synced at the same
// time, come in any order.
func sameSyncs(got, want []string) bool {
	files := 0
	for files < len(want) && want[files] == "file" {
		files++
	}
	if len(got) != len(want) || !slices.Equal(got[:files], want[:files]) {
		return false
	}
	return slices.Equal(slices.Sorted(slices.Values(got[files:])), slices.Sorted(slices.Values(want[files:])))
}

func openLogged(t *testing.T) (*Store, *syncLog) {
	t.Helper()
	log := &syncLog{root: filepath.Join(t.TempDir(), "new", "root")}
	d, err := openFolder(log.root, folderOptions{syncFile: log.sync})
	if err != nil {
		t.Fatal(err)
	}
	return New(d), log
}

// A Put syncs its file, the folder, and the parents that may be new; no more than that, and for a temporary blob
// nothing.
func TestSyncedFolders(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	if got, want := log.take(), []string{"..", "../.."}; !slices.Equal(got, want) {
		t.Errorf("Open of a new root: synced %q, want %q", got, want)
	}
	put := func(key string) func() error {
		return func() error { return s.PutBytes(t.Context(), key, []byte("x"), "") }
	}
	group := func() error {
		w, err := s.NewWriter(t.Context(), "t/k/run-1/artifacts/text.txt", PutOptions{})
		if err != nil {
			return err
		}
		return s.PutAll(t.Context(), []Object{
			{Key: "t/k/run-1/artifacts/document.md"}, {Key: "t/k/run-1/plan.bin"}, {Key: "t/k/tmp/x.pb"},
			{Key: "t/k/run-1/artifacts/searchable.pdf", From: "t/k/source.pdf"},
		}, w)
	}
	expect := func(keys ...string) func() error {
		return func() error { s.PrepareDirs(keys...); return nil }
	}
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"the first blob of a job", put("t/j/source.pdf"), []string{"file", "t/j", "t", "."}},
		{"another in the same folder", put("t/j/manifest.json"), []string{"file", "t/j"}},
		{"the same again", put("t/j/manifest.json"), []string{"file", "t/j"}},
		{"one deeper", put("t/j/run-1/pages/1.json"), []string{"file", "t/j/run-1/pages", "t/j/run-1", "t/j"}},
		{"another job", put("t/k/source.pdf"), []string{"file", "t/k", "t"}},
		{"a group", group, []string{"file", "file", "file", "t/k/run-1/artifacts", "t/k/run-1", "t/k"}},
		{"a group again", group, []string{"file", "file", "file", "t/k/run-1/artifacts", "t/k/run-1"}},
		{"one is expected", expect("t/l/run-1/info.json"), nil},
		{"one beside its folder", put("t/l/manifest.json"), []string{"file", "t/l", "t"}},
		{"more are expected", expect("t/l/run-1/pages/1.pb", "t/l/run-1/artifacts/text.txt"), nil},
		{"the one that was expected", put("t/l/run-1/info.json"), []string{"file", "t/l/run-1"}},
		{"the others", put("t/l/run-1/pages/1.pb"), []string{"file", "t/l/run-1/pages"}},
		{"a temporary one", put("t/j/tmp/run-1/1.pgm"), nil},
		{"a temporary one is deleted", func() error { return s.Delete(t.Context(), "t/j/tmp/run-1/1.pgm") }, nil},
		{"temporary ones are deleted", func() error { return s.DeletePrefix(t.Context(), "t/j/tmp/run-1") }, nil},
		{"one is deleted", func() error { return s.Delete(t.Context(), "t/j/manifest.json") }, []string{"t/j"}},
		{"a job is deleted", func() error { return s.DeletePrefix(t.Context(), "t/j") }, []string{"t"}},
		{"it comes back", put("t/j/run-1/pages/1.json"), []string{"file", "t/j/run-1/pages", "t/j/run-1", "t/j", "t"}},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: got %v, want no error", step.name, err)
		}
		if got := log.take(); !sameSyncs(got, step.want) {
			t.Errorf("%s: synced %q, want %q", step.name, got, step.want)
		}
	}
}

// A folder that another process made, and has not synced yet, is synced by the process that puts something in it.
func TestFoldersMadeByOthersAreSynced(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	if err := os.MkdirAll(filepath.Join(log.root, "t", "j"), dirMode); err != nil {
		t.Fatal(err)
	}
	log.take()
	if err := s.PutBytes(t.Context(), "t/j/source.pdf", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	if got, want := log.take(), []string{"file", "t/j", "t", "."}; !sameSyncs(got, want) {
		t.Errorf("synced %q, want %q", got, want)
	}
}

// What could not be synced was not stored, and says so; nor is anything of a group with it.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	log.err = syscall.EIO
	const key = "t/j/source.pdf"
	w, err := s.NewWriter(t.Context(), key, PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"PutBytes": s.PutBytes(t.Context(), key, []byte("x"), ""),
		"PutAll":   s.PutAll(t.Context(), []Object{{Key: key}, {Key: "t/j/tmp/x.pb"}, {Key: "t/j/manifest.json"}}, w),
	} {
		if fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: got %v, want a Busy fault UNAVAILABLE", name, err)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("Close of a writer that PutAll has ended: got no error, want one")
	}
	for e, err := range s.ListBlobs(t.Context(), "") {
		t.Errorf("List: got %v, %v, want nothing", e, err)
	}
	wantStagingDirsEmpty(t, log.root)
}

func wantStagingDirsEmpty(t *testing.T, root string) {
	t.Helper()
	top := filepath.Join(root, stagingRoot)
	there, err := os.ReadDir(top)
	if err != nil || len(there) == 0 {
		t.Errorf("staging folders: got %d, %v, want those that were used", len(there), err)
	}
	for _, dir := range there {
		if left, err := os.ReadDir(filepath.Join(top, dir.Name())); len(left) > 0 || err != nil {
			t.Errorf("left in %s: got %v, %v, want nothing", dir.Name(), left, err)
		}
	}
}

// A tenant's folder that a crash left with its first name as well is no staging folder: what lies there is whole and
// acknowledged.
func TestSweepDoesNotMistakeTenantForStagingDir(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	if err := s.PutBytes(t.Context(), "t/j/source.pdf", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	// Folders cannot have two names here: the first one stands for both.
	if err := os.Rename(filepath.Join(log.root, "t"),
		filepath.Join(log.root, stagingRoot, scatteredPrefix+"1")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.SweepTemp(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("SweepTemp: got %d, %v, want nothing swept", n, err)
	}
	if _, err := os.Stat(filepath.Join(log.root, stagingRoot, scatteredPrefix+"1", "j", "source.pdf")); err != nil {
		t.Errorf("the blob after the sweep: got %v, want it there", err)
	}
}

// A store that is opened again writes in the staging folders that it has.
func TestStagingDirsAreKept(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	if err := s.PutBytes(t.Context(), "t/j/source.pdf", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(filepath.Join(log.root, stagingRoot))
	if err != nil || len(made) != 1 {
		t.Fatalf("after one blob: got %d staging folders, %v, want 1", len(made), err)
	}
	again, err := openStagingDirs(filepath.Join(log.root, stagingRoot))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.dirs) != stagingDirCount ||
		!slices.Contains(again.dirs, filepath.Join(log.root, stagingRoot, made[0].Name())) {
		t.Errorf("opened again: got %d staging folders, want %d with %s among them", len(again.dirs), stagingDirCount,
			made[0].Name())
	}
}

// Of a group that fails on its way nothing stays behind that has no name, and every file is closed.
func TestBatchFailsHalfway(t *testing.T) {
	t.Parallel()
	s, log := openLogged(t)
	if err := s.PutBytes(t.Context(), "t/j/a", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	w, err := s.NewWriter(t.Context(), "t/j/first", PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.PutAll(t.Context(), []Object{{Key: "t/j/second"}, {Key: "t/j/a/b"}, {Key: "t/j/third"}}, w)
	if fault.KindOf(err) != fault.Permanent {
		t.Errorf("PutAll with a blob in a folder's place: got %v, want a permanent fault", err)
	}
	err = s.PutAll(t.Context(), []Object{{Key: "t/j/fourth"}, {Key: "t/j/copy", From: "t/j/none"}})
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("PutAll with a copy of what is not there: got %v, want ErrNotFound", err)
	}
	for key, want := range map[string]bool{"t/j/first": true, "t/j/second": true, "t/j/third": false, "t/j/fourth": false,
		"t/j/copy": false} {
		if got, err := s.BlobExists(t.Context(), key); got != want || err != nil {
			t.Errorf("BlobExists(%s): got %v, %v, want %v and no error", key, got, err, want)
		}
	}
	wantStagingDirsEmpty(t, log.root)
	if err := w.Abort(); err != nil {
		t.Errorf("Abort of a writer that PutAll has ended: got %v, want no error", err)
	}
}

// Writers of one folder share its fsyncs, and each returns only after one that began after its own call.
func TestFolderSyncsAreShared(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var synced atomic.Int32
		disk := make(chan struct{})
		paths := newDurablePaths(root, func(*os.File) error {
			synced.Add(1)
			<-disk
			return nil
		})
		var all sync.WaitGroup
		call := func() {
			if err := paths.syncDir(root); err != nil {
				t.Errorf("sync: got %v, want no error", err)
			}
		}
		all.Go(call)
		synctest.Wait() // the first is under way: the others need a second one
		for range 20 {
			all.Go(call)
		}
		synctest.Wait()
		close(disk)
		all.Wait()
		if got := synced.Load(); got != 2 {
			t.Errorf("fsyncs of 21 calls: got %d, want 2", got)
		}
		if len(paths.rounds) != 0 {
			t.Errorf("turns left: got %d, want 0", len(paths.rounds))
		}
	})
}
