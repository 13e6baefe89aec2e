package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

const (
	// watchAge is how long a scanner keeps a watch: the client mends one that lost its connection, and this is how long
	// one that was not mended can go unnoticed, or a store that was replaced by an older copy.
	watchAge = time.Minute
	// quietTime is how long no entry comes until a scan has seen all, and maxScanned bounds one that is never quiet.
	quietTime  = 10 * time.Millisecond
	maxScanned = 10_000
)

// RecordScanner is ScanChanges for those who call it every second: it keeps its watch between two scans. The broker
// looks at the name of every record that there is when a watch begins, 100,000 of them where as many jobs wait. A
// RecordScanner is for one goroutine.
type RecordScanner struct {
	jobs  *Store
	watch *recordWatch // nil where there is none
	began time.Time
	// maxAge is watchAge, but in tests.
	maxAge time.Duration
}

// NewRecordScanner returns a scanner of the store's records. Close it.
func (s *Store) NewRecordScanner() *RecordScanner { return &RecordScanner{jobs: s, maxAge: watchAge} }

// Close ends the watch. The scanner can be used again.
func (s *RecordScanner) Close() {
	if s.watch != nil {
		s.watch.close()
		s.watch = nil
	}
}

// Scan calls each with every record that was written after the revision, 0 for all there are, and returns the revision
// up to which that holds, as ScanChanges does; record decodes the whole of the one that each was called with. A record
// that was written moments ago may be left to the next scan.
func (s *RecordScanner) Scan(ctx context.Context, after uint64,
	each func(c Change, record func() (*Record, error))) (last uint64, err error) {
	see := func(e jetstream.KeyValueEntry) {
		each(decodeChange(e), func() (*Record, error) { return decodeRecord(e) })
	}
	if s.watch != nil && (s.watch.last != after || time.Since(s.began) >= s.maxAge) {
		s.Close()
	}
	if s.watch != nil {
		err = s.watch.readArrived(ctx, see)
	} else if s.watch, err = s.jobs.watchRecords(context.WithoutCancel(ctx), after); err == nil {
		s.began = time.Now()
		err = s.watch.readStored(ctx, see)
	} else if errors.Is(err, ErrRestored) {
		return 0, err
	} else {
		return after, err
	}
	last = s.watch.last
	if err != nil {
		s.Close()
	}
	return last, err
}

// readArrived calls each with what has come since the last time.
func (w *recordWatch) readArrived(ctx context.Context, each func(jetstream.KeyValueEntry)) error {
	for range maxScanned {
		quiet, stop := context.WithTimeout(ctx, quietTime)
		e, err := w.next(quiet)
		stop()
		switch {
		case err != nil && ctx.Err() == nil && quiet.Err() != nil:
			return nil //nolint:nilerr // all is quiet
		case err != nil:
			return err
		case e != nil:
			each(e)
		}
	}
	return nil
}

// decodeRecord decodes the whole of a record.
func decodeRecord(e jetstream.KeyValueEntry) (*Record, error) {
	r := Record{at: keyVersion{revision: e.Revision()}}
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		return nil, fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode %s: %w", e.Key(), err))
	}
	return &r, nil
}
