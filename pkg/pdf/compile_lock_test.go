package pdf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// One child compiles at a time, also where the cache holds the code of other versions, as after an update.
func TestOneChildCompilesAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, other := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, "wazero-v0.0.1-"+runtime.GOARCH+"-linux", other)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("code"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	unlock := lockCompiler(dir)
	f, err := os.Open(filepath.Join(dir, "compile.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	take := func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	if err := take(); err == nil {
		t.Error("a second child may compile while the first does")
	}
	unlock()
	if err := take(); err != nil {
		t.Errorf("the lock is held after the first child has compiled: %v", err)
	}
	// Who finds its code takes no lock.
	markLoaded(dir)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lockCompiler(dir)()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a child whose code is there waits for another that compiles")
	}
}
