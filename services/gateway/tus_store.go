package gateway

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
	Said   fields `json:"said,omitempty"`
	Sealed string `json:"sealed,omitempty"`
	// Metadata is Upload-Metadata as the client sent it, but for the password; the protocol has it sent back.
	Metadata string `json:"metadata,omitempty"`
	// Key is the idempotency key.
	Key string `json:"key,omitempty"`
	// Job is what it became.
	Job job.ID `json:"job,omitempty"`
}

// readMetadata reads Upload-Metadata: pairs of a name and a value in base64, joined by commas. What a form has as fields are the names; filetype
// and the like, which clients send by themselves, are left out.
func (u *resumable) readMetadata(header string) error {
	u.Said = fields{}
	if len(header) > maxTusMetadata {
		return invalidField(fault.InvalidArgument, tusMetadataHeader, "more than %d bytes", maxTusMetadata)
	}
	if strings.TrimSpace(header) == "" {
		return nil
	}
	var shown []string
	for pair := range strings.SplitSeq(header, ",") {
		name, coded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		value, err := base64.StdEncoding.DecodeString(strings.TrimSpace(coded))
		if err != nil || name == "" {
			return invalidField(fault.InvalidArgument, tusMetadataHeader, "want pairs of a name and a value in base64, joined by commas")
		}
		if snake(name) != fieldPassword {
			shown = append(shown, strings.TrimSpace(pair))
		}
		switch name {
		case "filetype", "type", "contentType", "relativePath", "name":
			continue
		}
		if err := u.Said.set(name, string(value)); err != nil {
			return err
		}
	}
	u.Metadata = strings.Join(shown, ",")
	return nil
}

// tusFolder is where uploads stand that come in pieces: the bytes in one file each, and beside it a note. It is safe for concurrent use.
type tusFolder struct {
	dir string
	log *slog.Logger
	// most bounds the uploads that are not complete, and mostOfTenant those of one tenant.
	most, mostOfTenant int

	mu     sync.Mutex // guards what follows
	locked map[job.ID]bool
}

func openTusFolder(dir string, log *slog.Logger) (*tusFolder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of resumable uploads: %w", err)
	}
	return &tusFolder{dir: dir, log: log, most: maxResumable, mostOfTenant: maxTenantResumable, locked: map[job.ID]bool{}}, nil
}

func (t *tusFolder) path(id job.ID, kind string) string { return filepath.Join(t.dir, string(id)+kind) }

func awayFolder(err error) error {
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("folder of resumable uploads: %w", err))
}

// create makes an upload without bytes.
func (t *tusFolder) create(u *resumable) error {
	names, err := filepath.Glob(filepath.Join(t.dir, "*"+tusBytes))
	if err != nil {
		return awayFolder(err)
	}
	if len(names) >= t.most || len(names) >= t.mostOfTenant && t.count(names, u.Tenant) >= t.mostOfTenant {
		return fault.New(fault.QueueFull, "the server has as many resumable uploads as it takes; try later")
	}
	f, err := os.OpenFile(t.path(u.ID, tusBytes), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return awayFolder(err)
	}
	return t.note(u)
}

// count returns how many of the files are a tenant's.
func (t *tusFolder) count(names []string, tenant string) (n int) {
	for _, name := range names {
		// One that has gone meanwhile counts no more.
		if u, err := t.load(job.ID(strings.TrimSuffix(filepath.Base(name), tusBytes))); err == nil && u.Tenant == tenant {
			n++
		}
	}
	return n
}

// note writes the note beside the bytes.
func (t *tusFolder) note(u *resumable) error {
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode upload: %w", err)
	}
	temp := t.path(u.ID, tusInfo+"~")
	if err = os.WriteFile(temp, data, 0o600); err == nil {
		err = os.Rename(temp, t.path(u.ID, tusInfo))
	}
	if err != nil {
		return awayFolder(err)
	}
	return nil
}

func (t *tusFolder) load(id job.ID) (*resumable, error) {
	data, err := os.ReadFile(t.path(id, tusInfo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoUpload()
	}
	if err != nil {
		return nil, awayFolder(err)
	}
	u := &resumable{}
	if err := json.Unmarshal(data, u); err != nil {
		return nil, fmt.Errorf("decode upload: %w", err)
	}
	return u, nil
}

// offset returns how many bytes have come, and when the last of them did.
func (t *tusFolder) offset(u *resumable) (int64, time.Time, error) {
	if u.Job != "" {
		return u.Length, time.Now(), nil
	}
	info, err := os.Stat(t.path(u.ID, tusBytes))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, time.Time{}, errNoUpload()
	}
	if err != nil {
		return 0, time.Time{}, awayFolder(err)
	}
	return info.Size(), info.ModTime(), nil
}

func (t *tusFolder) open(u *resumable, flag int) (*os.File, error) {
	f, err := os.OpenFile(t.path(u.ID, tusBytes), flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoUpload()
	}
	if err != nil {
		return nil, awayFolder(err)
	}
	return f, nil
}

// done drops the bytes of an upload that has become a job; the note stays for a client that did not hear the answer.
func (t *tusFolder) done(u *resumable) error {
	if err := t.note(u); err != nil {
		return err
	}
	return os.Remove(t.path(u.ID, tusBytes))
}

func (t *tusFolder) remove(id job.ID) {
	for _, kind := range []string{tusInfo, tusInfo + "~", tusBytes} {
		if err := os.Remove(t.path(id, kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.log.Warn("remove a resumable upload", "error", err)
		}
	}
}

// lock keeps an upload to one request at a time, of all gateways that share the folder. It reports whether it did.
func (t *tusFolder) lock(id job.ID) (unlock func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locked[id] {
		return nil, false
	}
	// The bytes' file is locked against other processes; without bytes nobody writes. The kernel drops the lock with a process that dies, and a file
	// system without locks leaves it at one process.
	f, err := os.OpenFile(t.path(id, tusBytes), os.O_RDWR, 0)
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

// run removes uploads to which nothing has come for long, until ctx is done.
func (t *tusFolder) run(ctx context.Context) {
	tick := time.NewTicker(tusSweep)
	defer tick.Stop()
	for {
		t.sweep(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *tusFolder) sweep(now time.Time) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		t.log.Warn("look for old resumable uploads", "error", err)
		return
	}
	young, all := map[job.ID]bool{}, map[job.ID]bool{}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		id, err := job.ParseID(name)
		if err != nil {
			continue
		}
		all[id] = true
		if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < tusPatience {
			young[id] = true
		}
	}
	for id := range all {
		if unlock, ok := t.lock(id); ok && !young[id] {
			t.remove(id)
			unlock()
		} else if ok {
			unlock()
		}
	}
}
