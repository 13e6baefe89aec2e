package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
