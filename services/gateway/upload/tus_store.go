package upload

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/options"
)

const (
	tusInfo  = ".json"
	tusBytes = ".part"
	// maxTusMetadata bounds what a client says of an upload.
	maxTusMetadata = 16 << 10
	// maxTenantResumable bounds the uploads of one tenant that are not complete, so that none takes all the room.
	maxTenantResumable = maxResumable / 4
)

// resumable is an upload that comes in pieces.
type resumable struct {
	ID     job.ID `json:"id"`
	Tenant string `json:"tenant"`
	Length int64  `json:"length"`
	// Said is what the client said about the document; the password is sealed instead.
	Said   options.Fields `json:"said,omitempty"`
	Sealed string         `json:"sealed,omitempty"`
	// Metadata is Upload-Metadata as the client sent it, but for the password; the protocol has it sent back.
	Metadata string `json:"metadata,omitempty"`
	// Key is the idempotency key.
	Key string `json:"key,omitempty"`
	// Reserved is what it counts as on its creator's day; nil where that is not counted.
	Reserved *limits.Reservation `json:"reserved,omitempty"`
	// Job is what it became.
	Job job.ID `json:"job,omitempty"`
}

// parseMetadata reads Upload-Metadata: pairs of a name and a value in base64, joined by commas. What a form has as
// fields are the names; filetype and the like, which clients send by themselves, are left out.
func (u *resumable) parseMetadata(header string) error {
	u.Said = options.Fields{}
	if len(header) > maxTusMetadata {
		return apierror.InvalidField(fault.InvalidArgument, tusMetadataHeader, "more than %d bytes", maxTusMetadata)
	}
	if strings.TrimSpace(header) == "" {
		return nil
	}
	var shown []string
	for pair := range strings.SplitSeq(header, ",") {
		name, coded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(coded))
		if err != nil || name == "" {
			return apierror.InvalidField(fault.InvalidArgument, tusMetadataHeader,
				"want pairs of a name and a value in base64, joined by commas")
		}
		if options.ToSnakeCase(name) != options.FieldPassword {
			shown = append(shown, strings.TrimSpace(pair))
		}
		switch name {
		case "filetype", "type", "contentType", "relativePath", "name":
			continue
		}
		if err := u.Said.SetField(name, string(value)); err != nil {
			return err
		}
	}
	u.Metadata = strings.Join(shown, ",")
	return nil
}

// tusFolder holds the uploads that come in pieces: each has one file with its bytes, and one with its info. It is safe
// for concurrent use.
type tusFolder struct {
	dir string
	log *slog.Logger
	// maxIncomplete bounds the uploads that are not complete, and MaxPerTenant those of one tenant.
	maxIncomplete, maxPerTenant int
	// expired, if set, is told of uploads that are removed because nothing came for long, and that became no job.
	expired func(*resumable)

	mu     sync.Mutex // guards what follows
	locked map[job.ID]bool
}

func openTusFolder(dir string, log *slog.Logger) (*tusFolder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of resumable uploads: %w", err)
	}
	return &tusFolder{dir: dir, log: log, maxIncomplete: maxResumable, maxPerTenant: maxTenantResumable,
		locked: map[job.ID]bool{}}, nil
}

func (t *tusFolder) filePath(id job.ID, kind string) string {
	return filepath.Join(t.dir, string(id)+kind)
}

func wrapFolderError(err error) error {
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("folder of resumable uploads: %w", err))
}

// createUpload makes an upload without bytes.
func (t *tusFolder) createUpload(u *resumable) error {
	names, err := filepath.Glob(filepath.Join(t.dir, "*"+tusBytes))
	if err != nil {
		return wrapFolderError(err)
	}
	if len(names) >= t.maxIncomplete || len(names) >= t.maxPerTenant && t.countUploads(names, u.Tenant) >= t.maxPerTenant {
		return fault.New(fault.QueueFull, "the server has as many resumable uploads as it takes; try later")
	}
	f, err := os.OpenFile(t.filePath(u.ID, tusBytes), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return wrapFolderError(err)
	}
	if err = t.writeInfo(u); err != nil {
		t.removeUpload(u.ID)
	}
	return err
}

// countUploads returns how many of the files are a tenant's.
func (t *tusFolder) countUploads(names []string, tenant string) (n int) {
	for _, name := range names {
		// An upload that is gone by now does not count.
		if u, err := t.loadInfo(job.ID(strings.TrimSuffix(filepath.Base(name), tusBytes))); err == nil && u.Tenant == tenant {
			n++
		}
	}
	return n
}

// writeInfo writes the note beside the bytes.
func (t *tusFolder) writeInfo(u *resumable) error {
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode upload: %w", err)
	}
	temp := t.filePath(u.ID, tusInfo+"~")
	if err = os.WriteFile(temp, data, 0o600); err == nil {
		err = os.Rename(temp, t.filePath(u.ID, tusInfo))
	}
	if err != nil {
		return wrapFolderError(err)
	}
	return nil
}

func (t *tusFolder) loadInfo(id job.ID) (*resumable, error) {
	data, err := os.ReadFile(t.filePath(id, tusInfo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUploadNotFound()
	}
	if err != nil {
		return nil, wrapFolderError(err)
	}
	u := &resumable{}
	if err := json.Unmarshal(data, u); err != nil {
		return nil, fmt.Errorf("decode upload: %w", err)
	}
	return u, nil
}

// uploadOffset returns how many bytes have come, and when the last of them did.
func (t *tusFolder) uploadOffset(u *resumable) (int64, time.Time, error) {
	if u.Job != "" {
		return u.Length, time.Now(), nil
	}
	info, err := os.Stat(t.filePath(u.ID, tusBytes))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, time.Time{}, errUploadNotFound()
	}
	if err != nil {
		return 0, time.Time{}, wrapFolderError(err)
	}
	return info.Size(), info.ModTime(), nil
}

func (t *tusFolder) openBytes(u *resumable, flag int) (*os.File, error) {
	f, err := os.OpenFile(t.filePath(u.ID, tusBytes), flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUploadNotFound()
	}
	if err != nil {
		return nil, wrapFolderError(err)
	}
	return f, nil
}

// dropBytes drops the bytes of an upload that has become a job; the note stays for a client that did not hear the
// answer.
func (t *tusFolder) dropBytes(u *resumable) error {
	if err := t.writeInfo(u); err != nil {
		return err
	}
	return os.Remove(t.filePath(u.ID, tusBytes))
}

func (t *tusFolder) removeUpload(id job.ID) {
	for _, kind := range []string{tusInfo, tusInfo + "~", tusBytes} {
		if err := os.Remove(t.filePath(id, kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.log.Warn("remove a resumable upload", "error", err)
		}
	}
}

// lockUpload keeps an upload to one request at a time, of all gateways that share the folder. It reports whether it
// did.
func (t *tusFolder) lockUpload(id job.ID) (unlock func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locked[id] {
		return nil, false
	}
	// The bytes' file is locked against other processes; without bytes no process writes. The kernel drops the lock with a
	// process that dies, and a file system without locks leaves it at one process.
	f, err := os.OpenFile(t.filePath(id, tusBytes), os.O_RDWR, 0)
	if err == nil && errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = f.Close() // nothing was written
		return nil, false
	}
	t.locked[id] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.locked, id)
		_ = f.Close() // as above; it is nil where there was none, and says so
	}, true
}

// runSweeps removes uploads to which nothing has come for long, until ctx is done.
func (t *tusFolder) runSweeps(ctx context.Context) {
	tick := time.NewTicker(tusSweepInterval)
	defer tick.Stop()
	for {
		t.sweepExpired(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *tusFolder) sweepExpired(now time.Time) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		t.log.Warn("look for old resumable uploads", "error", err)
		return
	}
	seen := map[job.ID]bool{}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if id, err := job.ParseID(name); err == nil && !seen[id] {
			seen[id] = true
			t.expireUpload(id, now)
		}
	}
}

// expireUpload removes an upload to which nothing has come for long. It looks when it has the lock: a request may
// have brought bytes just before.
func (t *tusFolder) expireUpload(id job.ID, now time.Time) {
	unlock, ok := t.lockUpload(id)
	if !ok {
		return
	}
	defer unlock()
	for _, kind := range []string{tusInfo, tusInfo + "~", tusBytes} {
		info, err := os.Stat(t.filePath(id, kind))
		if err == nil && now.Sub(info.ModTime()) < tusMaxIdle || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	u, err := t.loadInfo(id)
	t.removeUpload(id)
	if err == nil && u.Job == "" && t.expired != nil {
		t.expired(u)
	}
}
