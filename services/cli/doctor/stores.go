package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
)

const (
	// slowStore is how long a durable write may take before uploads suffer noticeably.
	slowStore = 200 * time.Millisecond
	// maxSkew is how far clocks may be apart: signatures of S3 and tokens allow some minutes, retries and expiries are
	// told by seconds.
	maxSkew = 30 * time.Second
	// lowDisk and noDisk are the space that should, and must, be free: the largest document with its rasters takes some
	// gigabytes.
	lowDisk, noDisk = 10 << 30, 1 << 30
	// builtYear is before this program was written; a clock before it is wrong.
	builtYear = 2025
	// restoredFor is how long the doctor tells that the broker's store was replaced by an older copy.
	restoredFor = 7 * 24 * time.Hour
)

// checkBlobs writes, reads and deletes a probe.
func (e *checker) checkBlobs(ctx context.Context) {
	const name = "blobs"
	where := e.cfg.Blobs
	if where == "" {
		if _, err := os.Stat(e.cfg.DataDir); err != nil {
			e.addSkipped(name, "no data folder, and no other store named with --blobs")
			return
		}
		where = "file://" + filepath.Join(e.cfg.DataDir, "blobs")
	}
	fix := blobStoreFix(where)
	store, err := blob.Open(ctx, where)
	if err != nil {
		e.addFailure(name, fix, "%v", err)
		return
	}
	defer func() { _ = store.Close() }() // the check is over
	start := time.Now()
	took, stored, err := probeBlobs(ctx, store)
	if err != nil {
		e.addFailure(name, fix, "%v", err)
		return
	}
	if skew := time.Since(stored) - time.Since(start); skew.Abs() > maxSkew {
		e.addWarning("blobs clock", "synchronise the clocks of both machines (chrony, systemd-timesyncd)",
			"the store's clock and this one are %s apart", skew.Round(time.Second))
	}
	e.checkRestoreMarker(ctx, store)
	said := fmt.Sprintf("%s: a durable write of 4 KiB in %s, read back, deleted", redactURL(where),
		took.Round(100*time.Microsecond))
	if took > slowStore {
		e.addWarning(name, "uploads wait for such a write: use a faster disk, or one with a battery-backed cache",
			"%s, which is slow", said)
		return
	}
	e.addOK(name, "%s", said)
}

// probeBlobs writes a blob, reads it and deletes it. It returns how long the write took, and when it was by the store's
// clock.
func probeBlobs(ctx context.Context, store *blob.Store) (took time.Duration, stored time.Time, err error) {
	// In the folder of a tenant that cannot be: names of tenants have no underscore in front.
	key := "_doctor/probe-" + hex.EncodeToString(randomBytes(8))
	defer store.Delete(context.WithoutCancel(ctx), key) //nolint:errcheck // where deleting fails, the check has said so
	data := randomBytes(4096)
	start := time.Now()
	if err := store.PutBytes(ctx, key, data, "application/octet-stream"); err != nil {
		return 0, stored, fmt.Errorf("writing: %w", err)
	}
	took = time.Since(start)
	got, err := store.ReadBytes(ctx, key, int64(len(data)))
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("other bytes came back than were written")
	}
	if err != nil {
		return 0, stored, fmt.Errorf("reading back: %w", err)
	}
	attrs, err := store.ReadAttributes(ctx, key)
	if err != nil {
		return 0, stored, fmt.Errorf("looking at the probe: %w", err)
	}
	if err := store.Delete(ctx, key); err != nil {
		return 0, stored, fmt.Errorf("deleting: %w", err)
	}
	if gone, err := store.BlobExists(ctx, key); err != nil || gone {
		return 0, stored, fmt.Errorf("the probe is there after it was deleted (%v)", err) //nolint:errorlint // nil where it is there
	}
	return took, attrs.ModTime, nil
}

// checkRestoreMarker tells whether the broker's store was replaced by an older copy not long ago.
func (e *checker) checkRestoreMarker(ctx context.Context, store *blob.Store) {
	const name = "nats history"
	m, err := reconcile.LoadRestoreMarker(ctx, store)
	switch {
	case err != nil:
		e.addFailure(name, "repair or delete that blob; until then nothing that uploads left is discarded", "%v", err)
	case time.Since(m.Restored) < restoredFor:
		e.addWarning(name, "if nobody restored it, look for what became of the NATS store",
			"at %s the jobs were found to be those of an older copy; "+
				"no document from before is discarded, and those without a job become jobs anew",
			m.Restored.Local().Format(time.DateTime))
	}
}

func blobStoreFix(where string) string {
	if u, err := url.Parse(where); err == nil && u.Scheme == "s3" {
		return "check the bucket, endpoint= and region= of --blobs, and the credentials in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE)"
	}
	return "check that the folder is there, belongs to the user that the server runs as, and that its disk is neither full nor read-only"
}

// checkIndex opens the index and asks it something.
func (e *checker) checkIndex(ctx context.Context) {
	const name = "index"
	where := e.cfg.Index
	fix := "check host, port, user, password and database of --index, and that the server runs"
	if where == "" {
		path := filepath.Join(e.cfg.DataDir, "index.db")
		if _, err := os.Stat(path); err != nil {
			e.addSkipped(name, "no index below the data folder yet, and no other named with --index")
			return
		}
		where = "sqlite://" + path
	}
	if u, err := url.Parse(where); err == nil && u.Scheme == "sqlite" {
		fix = "move the file away and run 'inkstream index rebuild' if it is damaged; else check its permissions and its disk"
	}
	store, err := search.Open(ctx, where)
	if err != nil {
		e.addFailure(name, fix, "%s: %v", redactURL(where), err)
		return
	}
	defer func() { _ = store.Close() }() // the check is over
	start := time.Now()
	if err := store.Ping(ctx); err != nil {
		e.addFailure(name, fix, "%s does not answer: %v", redactURL(where), err)
		return
	}
	said := ""
	if s, ok := store.(interface {
		Schema(ctx context.Context) (server string, schema int, err error)
	}); ok {
		server, schema, err := s.Schema(ctx)
		if err != nil {
			e.addFailure(name, fix, "%s: %v", redactURL(where), err)
			return
		}
		said = fmt.Sprintf(", %s, schema version %d", server, schema)
	}
	if _, err := store.Search(ctx, search.Query{Tenant: "_doctor", Text: "probe"}); err != nil {
		e.addFailure(name, fix, "%s does not search: %v", redactURL(where), err)
		return
	}
	e.addOK(name, "%s answers in %s%s", redactURL(where), time.Since(start).Round(100*time.Microsecond), said)
}

// checkDisk looks at the space of the data folder and of that for temporary files.
func (e *checker) checkDisk(context.Context) {
	dirs := map[string]string{"disk (temporary files)": os.TempDir()}
	order := []string{"disk (temporary files)"}
	if _, err := os.Stat(e.cfg.DataDir); err == nil && e.cfg.DataDir != "" {
		dirs["disk (data)"] = e.cfg.DataDir
		order = append([]string{"disk (data)"}, order...)
	}
	for _, name := range order {
		dir := dirs[name]
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			e.addFailure(name, "check that the folder is there", "%s: %v", dir, err)
			continue
		}
		free, inodes := fs.Bavail*uint64(fs.Bsize), fs.Ffree
		said := fmt.Sprintf("%.1f GiB of %.1f GiB free at %s", float64(free)/(1<<30),
			float64(fs.Blocks*uint64(fs.Bsize))/(1<<30), dir)
		switch {
		case fs.Flags&unix.ST_RDONLY != 0:
			e.addFailure(name, "mount it for writing", "%s is read-only", dir)
		case free < noDisk, fs.Files > 0 && inodes < 1000:
			e.addFailure(name, "make room: delete jobs that are no longer needed, or give it a larger disk",
				"%s, %d files may still be made", said, inodes)
		case free < lowDisk:
			e.addWarning(name, "make room soon: a large document takes some gigabytes while it is worked on", "%s", said)
		default:
			e.addOK(name, "%s", said)
		}
	}
}

// checkClock looks whether the clock can be right.
func (e *checker) checkClock(context.Context) {
	now := time.Now()
	if now.Year() < builtYear {
		e.addFailure("clock", "set the clock, and keep it synchronised (chrony, systemd-timesyncd)", "it says %s",
			now.Format(time.DateTime))
		return
	}
	var tx unix.Timex
	state, err := unix.Adjtimex(&tx)
	const unsynchronised = 5 // TIME_ERROR
	if err == nil && state == unsynchronised {
		e.addWarning("clock",
			"keep it synchronised (chrony, systemd-timesyncd): expiries, retries and S3 signatures go by it",
			"%s; the kernel does not know it to be synchronised, which in a container may be so for all that",
			now.Format(time.RFC3339))
		return
	}
	e.addOK("clock", "%s, synchronised", now.Format(time.RFC3339))
}

// redactURL returns a URL without what is secret in it.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the URL, which does not parse"
	}
	switch u.Scheme {
	case "file", "sqlite":
		return u.Path
	default:
		return u.Scheme + "://" + u.Host + u.Path
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
