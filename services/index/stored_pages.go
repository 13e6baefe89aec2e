package index

import (
	"context"
	"errors"
	"fmt"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
)

// maxHeldBytes bounds the stored pages that are held: those of an ordinary document are read once, those of a long
// one mostly twice.
const maxHeldBytes = 4 << 20

// storedPages reads the pages of a run as they are stored, those that earlier runs have made among them.
type storedPages struct {
	job       *job.Record
	progress  *job.Progress
	copier    *runCopier
	held      map[int][]byte // pages that were read once and are to be read again
	heldBytes int
}

// readPage returns a page as it is stored. A page that was not asked for may have no result: it is empty.
func (s *storedPages) readPage(ctx context.Context, n int) ([]byte, error) {
	data, err := s.copier.readPage(ctx, s.job, n)
	if errors.Is(err, blob.ErrNotFound) && s.progress.PageOutcome(n) == outcome.Skipped {
		return document.EncodeObservedPage(outcome.NewSkippedPage(n, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// holdPage keeps a page for takePage, if there is room.
func (s *storedPages) holdPage(n int, data []byte) {
	if s.heldBytes+len(data) <= maxHeldBytes {
		s.held[n] = data
		s.heldBytes += len(data)
	}
}

// takePage returns the page that is held, and holds it no longer, or reads it.
func (s *storedPages) takePage(ctx context.Context, n int) ([]byte, error) {
	if data, held := s.held[n]; held {
		delete(s.held, n)
		return data, nil
	}
	return s.readPage(ctx, n)
}
