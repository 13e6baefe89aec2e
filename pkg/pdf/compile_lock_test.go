package pdf

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOneChildCompilesAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
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
}
