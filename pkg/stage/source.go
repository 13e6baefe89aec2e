package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// OpenSource opens a job's document, which is the caller's to close. Its size is checked and, for the first that reads
// it in a run, its digest: a store may give back less than it was given. The store is asked twice before the job fails with
// SOURCE_CHANGED, because an answer may be cut short; a document that is not there is SOURCE_MISSING.
func (e Deps) OpenSource(ctx context.Context, rec *job.Record, checkDigest bool) (*os.File, error) {
	f, err := e.openSourceOnce(ctx, rec, checkDigest)
	if fault.CodeOf(err) == fault.SourceChanged {
		f, err = e.openSourceOnce(ctx, rec, checkDigest)
	}
	return f, err
}

func (e Deps) openSourceOnce(ctx context.Context, rec *job.Record, checkDigest bool) (*os.File, error) {
	f, err := e.Blobs.OpenFile(ctx, job.SourceKey(rec.Tenant, rec.ID))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fault.Wrap(fault.Permanent, fault.SourceMissing, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open stored document: %w", err)
	}
	if checkDigest {
		err = verifyDigest(ctx, f, rec)
	} else {
		err = verifySize(f, rec)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	return f, nil
}

func verifySize(f *os.File, rec *job.Record) error {
	info, err := f.Stat()
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("look at the stored document: %w", err))
	}
	if info.Size() != int64(rec.Size) {
		return errChanged(info.Size(), rec)
	}
	return nil
}

func errChanged(size int64, rec *job.Record) error {
	return fault.New(fault.SourceChanged, "the stored document is not what was uploaded: %d bytes, want %d", size, rec.Size)
}

// digestBuffer is how much of a document is read at once to hash it.
const digestBuffer = 64 << 10

func verifyDigest(ctx context.Context, f *os.File, rec *job.Record) error {
	h := sha256.New()
	buf := make([]byte, min(int64(rec.Size)+1, digestBuffer)) // one more than there is, so that the end shows with the last byte
	n, err := io.CopyBuffer(h, NewHeartbeatReader(ctx, io.NewSectionReader(f, 0, 1<<62)), buf)
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("read stored document: %w", err))
	}
	if n != int64(rec.Size) || hex.EncodeToString(h.Sum(nil)) != rec.SHA256 {
		return errChanged(n, rec)
	}
	return nil
}

// DocumentPassword returns what opens a job's document; empty where it came without one, and after the job's end.
func (e Deps) DocumentPassword(r *job.Record) (string, error) {
	if r.Sealed == "" {
		return "", nil
	}
	if e.Sealer == nil {
		// Another replica may have the key, or this one may be given it.
		return "", fault.Wrap(fault.Busy, fault.Unavailable,
			errors.New("the document's password is sealed, and this service has no key"))
	}
	password, err := e.Sealer.OpenSecret(r.Tenant, r.ID, r.Sealed)
	switch {
	case errors.Is(err, job.ErrWrongSealKey): // as without a key
		return "", fault.Wrap(fault.Busy, fault.Unavailable, err)
	case err != nil:
		return "", fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return password, nil
}
