package pdf

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// prepareCache makes the folder of the compile cache where it is missing, and returns an error if a user other than
// this one and root could write to it. The folder holds machine code, which children run before they are isolated.
func prepareCache(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	// Who can write to a folder above can put another one in its place.
	for leaf := true; ; leaf = false {
		if err := checkOwner(path, leaf); err != nil {
			return err
		}
		above := filepath.Dir(path)
		if above == path {
			return nil
		}
		path = above
	}
}

// checkOwner returns an error if another user may change the folder's entries. A sticky folder, as /tmp, lets others
// add entries but not replace them, which will do for all but the leaf.
func checkOwner(path string, leaf bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	const othersWrite = 0o022
	if info.Mode().Perm()&othersWrite != 0 && (leaf || info.Mode()&os.ModeSticky == 0) {
		return fmt.Errorf("others may write to %s", path)
	}
	// Whose the folders above are does not matter: who starts a program in another's folder trusts them with the program
	// itself. But in one that all may add to, as /tmp, another user may have made the folder first, to replace what is in
	// it later.
	above, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		return err
	}
	planted := leaf || above.Mode()&os.ModeSticky != 0
	if st, ok := info.Sys().(*syscall.Stat_t); ok && planted && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", path)
	}
	return nil
}

// isReadOnly reports whether a cache cannot be written to, as one in an image.
func isReadOnly(dir string) bool {
	// The mode counts as well, because a child of root has no power to write against it.
	info, err := os.Stat(dir)
	return err == nil && (info.Mode().Perm()&0o222 == 0 || unix.Access(dir, unix.W_OK) != nil)
}

// writableCache returns a folder that takes the place of a cache that is read-only where that lacks the code for this
// processor. It is empty where the cache is writable, or none that is safe can be made.
func writableCache(dir string) string {
	if dir == "" || !isReadOnly(dir) {
		return ""
	}
	writable := pdfium.DefaultCacheDir()
	if err := prepareCache(writable); err != nil {
		return ""
	}
	return writable
}
