package blob

import (
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// stagingRoot is the folder, below the root, of blobs that are being written. A key cannot have a tilde.
	stagingRoot = "~incoming"
	// stagingDirCount is how many folders there are in it. A process that makes or renames a file locks the folder; and
	// the more there are, the fewer files went lately in the part of the disk where one of them lies (see spreadFolders).
	stagingDirCount = 256
	// stagingDirPrefix is what the name of each begins with.
	stagingDirPrefix = "tray-"
	// scatteredPrefix is what the first name of a folder begins with that makeScatteredDir makes.
	scatteredPrefix = "apart-"
)

// stagingDirs are the folders that blobs are written in before they have their names. They are made when they are
// needed.
type stagingDirs struct {
	dirs []string
	seed maphash.Seed
}

// openStagingDirs finds the staging folders below top, and chooses names for those that are missing: random ones,
// because ext4 lays a folder where the hash of its name says (see spreadFolders).
func openStagingDirs(top string) (*stagingDirs, error) {
	there, err := os.ReadDir(top)
	if err != nil {
		return nil, err
	}
	t := &stagingDirs{seed: maphash.MakeSeed()}
	for _, e := range there {
		if strings.HasPrefix(e.Name(), stagingDirPrefix) && len(t.dirs) < stagingDirCount {
			t.dirs = append(t.dirs, filepath.Join(top, e.Name()))
		}
	}
	for len(t.dirs) < stagingDirCount {
		t.dirs = append(t.dirs, filepath.Join(top, stagingDirPrefix+randomDirName()))
	}
	return t, nil
}

func randomDirName() string { return strconv.FormatUint(rand.Uint64(), 36) }

// dirForKey returns the staging folder of a key: one for all that have its first two elements, which are a job's. What
// is committed together then lies together, in folder and inodes, and costs the disk fewer writes.
func (t *stagingDirs) dirForKey(key string) string {
	end := 0
	for range 2 {
		if i := strings.IndexByte(key[end:], '/'); i >= 0 {
			end += i + 1
		}
	}
	return t.dirs[maphash.String(t.seed, key[:end])%stagingDirCount]
}

// spreadFolders asks ext4 to lay the folders that are made in a folder from now on into different parts of the disk,
// each with inodes of its own (EXT4_TOPDIR_FL, chattr +T), by the hash of their names. A new file's inode is looked
// for in its folder's part, past those of files that went in the last minutes where the file system has no journal
// (recently_deleted of linux/fs/ext4/ialloc.c): with the staging folders, the jobs' folders and the message broker's
// files in one part, that took a quarter of the processor time of a job of one page, and a sixth where a store in which
// much was deleted had had the same names. Other file systems do not know the flag, and need it less.
func spreadFolders(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	if flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDirFlag)) // without it the blobs are where they were
	}
}

// topDirFlag is EXT4_TOPDIR_FL of linux/fs/ext4/ext4.h.
const topDirFlag = 0x00020000

// makeScatteredDir makes a folder that lies apart, whatever its name: it first makes the folder under another name,
// and then renames it. If either fails, it makes the folder like any other. A crash may leave it with both names on a
// file system without a journal, so nothing is swept below the first.
func (d *durablePaths) makeScatteredDir(dir string) error {
	apart := filepath.Join(d.root, stagingRoot, scatteredPrefix+randomDirName())
	if os.Mkdir(apart, dirMode) == nil {
		if unix.Renameat2(unix.AT_FDCWD, apart, unix.AT_FDCWD, dir, unix.RENAME_NOREPLACE) == nil {
			return nil
		}
		_ = os.Remove(apart) // a leftover is empty, and does no harm
	}
	return os.Mkdir(dir, dirMode)
}
