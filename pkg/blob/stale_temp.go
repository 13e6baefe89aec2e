package blob

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// isStaleTemp reports whether a temporary blob is one that a power cut may have damaged: it was written before the
// machine started. Nothing of it was fsynced, so its name may have come to the disk and its bytes not, or some of
// them: it would be read as empty, or with zeros for what is missing, and a batch of no pages and a raster with a
// white half are sound to those who read them. Another machine's blob in a shared folder may be taken for lost that
// is not; that costs the work, once more.
func isStaleTemp(key string, info fs.FileInfo) bool {
	return IsTemporary(key) && info.ModTime().Before(machineStartTime())
}

// machineStartTime returns when the machine started, by the clock as it goes now: at the start of a machine without
// one of its own it is wrong.
func machineStartTime() time.Time {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{} // no kernel of these years; it is as if there were no power cuts
	}
	return time.Now().Add(-time.Duration(up.Nano()))
}
