package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// CheckDigest makes sure that the store gives back what was uploaded.
func CheckDigest(ctx context.Context, f *os.File, rec *job.Record) error {
	h := sha256.New()
	n, err := io.Copy(h, NewHeartbeatReader(ctx, io.NewSectionReader(f, 0, 1<<62)))
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("read stored document: %w", err))
	}
	if n != int64(rec.Size) || hex.EncodeToString(h.Sum(nil)) != rec.SHA256 {
		return fault.New(fault.SourceChanged, "the stored document is not what was uploaded: %d bytes, want %d", n, rec.Size)
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
