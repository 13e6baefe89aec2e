package bustest

import (
	"os"
	"syscall"
	"testing"
)

// ServerFolder returns a folder for a server's files, which goes with the test: in memory where there is much room. A
// server makes hundreds of files, and a disk takes longer over them than most tests take.
func ServerFolder(t testing.TB) string {
	t.Helper()
	const memory, room = "/dev/shm", 1 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "bustest-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the server's files: %v", err)
		}
	})
	return dir
}
