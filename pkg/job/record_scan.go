package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

// Change is what a pass over the records gets to see of one: only what says whether there is something to do about it.
type Change struct {
	Tenant string
	ID     ID
	// Written is when the record was written last, by the broker's clock.
	Written time.Time
	// State is empty where the record was forgotten.
	State   State
	Run     int
	EndTime time.Time
	// ExpireTime is zero where the job never expires.
	ExpireTime time.Time
	// IsTombstone says that the record is a tombstone.
	IsTombstone bool
	// IsUnstarted is what Record.IsUnstarted says.
	IsUnstarted bool
	// Protected says that the document came with a password.
	Protected bool
	// Err says why the record cannot be read; then only its name and time are known.
	Err error
}

// ErrRestored means that the bucket has fewer revisions than were seen of it: the broker's store was replaced by an
// older copy. A reader of changes begins again, at revision 0.
var ErrRestored = errors.New("the broker's jobs are older than what was seen of them: was its store restored from a copy?")

// NeverCreated reports whether it is the tombstone of a job that never was; see Record.NeverCreated.
func (c Change) NeverCreated() bool { return c.IsTombstone && c.Run == 0 }

// ScanChanges calls each with every record that was written after the revision, 0 for all there are, and returns the
// revision up to which that holds, after an error as well: 0 after ErrRestored. Records are streamed: no more than a
// few hundred are in memory at a time.
func (s *Store) ScanChanges(ctx context.Context, after uint64, each func(Change)) (last uint64, err error) {
	watch, err := s.watchRecords(ctx, after)
	if errors.Is(err, ErrRestored) {
		return 0, err
	} else if err != nil {
		return after, err
	}
	defer watch.close()
	err = watch.readStored(ctx, func(e jetstream.KeyValueEntry) { each(decodeChange(e)) })
	return watch.last, err
}

// recordWatch gets the entries of records that are written.
type recordWatch struct {
	jetstream.KeyWatcher
	stop context.CancelFunc
	last uint64 // the revision up to which entries were read
}

// watchRecords begins a watch of the records that were written after the revision. Close it: the client has a goroutine
// that waits for the end of its context.
func (s *Store) watchRecords(ctx context.Context, after uint64) (*recordWatch, error) {
	var opts []jetstream.WatchOpt
	if after > 0 {
		if newest := s.newestRevision(ctx); newest > 0 && newest < after {
			return nil, markBrokerError("read job records", ErrRestored)
		}
		opts = append(opts, jetstream.ResumeFromRevision(after+1))
	}
	ctx, stop := context.WithCancel(ctx)
	watcher, err := s.kv.Watch(ctx, "job.>", opts...)
	if err != nil {
		stop()
		return nil, markBrokerError("read job records", err)
	}
	return &recordWatch{KeyWatcher: watcher, stop: stop, last: after}, nil
}

// close ends the watch.
func (w *recordWatch) close() {
	// The watch ends with its subscription; an error here says that it has ended already.
	_ = w.Stop()
	w.stop()
	go func() { // one that is full does not end
		for range w.Updates() { // what comes now is read by the next watch
		}
	}()
}

// readStored calls each with what was there when the watch began.
func (w *recordWatch) readStored(ctx context.Context, each func(jetstream.KeyValueEntry)) error {
	for {
		e, err := w.next(ctx)
		if e == nil || err != nil {
			return err
		}
		each(e)
	}
}

// next returns the next entry; nil once, after the last that was there when the watch began.
func (w *recordWatch) next(ctx context.Context) (jetstream.KeyValueEntry, error) {
	select {
	case <-ctx.Done():
		return nil, markBrokerError("read job records", ctx.Err())
	case e, open := <-w.Updates():
		if !open {
			return nil, markBrokerError("read job records", errors.New("the connection was closed"))
		}
		if e != nil {
			w.last = max(w.last, e.Revision())
		}
		return e, nil
	}
}

// newestRevision returns the newest revision in the bucket, 0 if it cannot be told.
func (s *bucket) newestRevision(ctx context.Context) uint64 {
	status, err := s.kv.Status(ctx)
	if err != nil {
		return 0 // the watch tells what is wrong
	}
	if b, ok := status.(*jetstream.KeyValueBucketStatus); ok {
		return b.StreamInfo().State.LastSeq
	}
	return 0
}

// decodeChange decodes what a pass needs, which is a fraction of what the record has.
func decodeChange(e jetstream.KeyValueEntry) Change {
	tenant, id, _ := strings.Cut(strings.TrimPrefix(e.Key(), "job."), ".")
	c := Change{Tenant: tenant, ID: ID(id), Written: e.Created()}
	if e.Operation() != jetstream.KeyValuePut {
		return c
	}
	var r struct {
		State      State     `json:"state"`
		Run        int       `json:"run"`
		SHA256     string    `json:"sha256"`
		EndTime    time.Time `json:"endTime"`
		ExpireTime time.Time `json:"expireTime"`
		Protected  bool      `json:"protected"`
		Follows    ID        `json:"follows"`
	}
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		c.Err = fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode %s: %w", e.Key(), err))
		return c
	}
	c.State, c.Run, c.EndTime, c.ExpireTime = r.State, r.Run, r.EndTime, r.ExpireTime
	c.Protected = r.Protected
	c.IsUnstarted = (&Record{State: r.State, Follows: r.Follows}).IsUnstarted()
	c.IsTombstone = r.State.IsGone() && r.SHA256 == ""
	return c
}

// LastActivity returns a job's record and page progress as they are now, and when the later of the two was written.
// The progress is nil where there is none, stored or implied. The error is ErrNotFound where there is no record.
func (s *Store) LastActivity(ctx context.Context, tenant string, id ID) (*Record, *Progress, time.Time, error) {
	var r Record
	written, err := s.loadKeyWithTime(ctx, recordKey(tenant, id), &r, &r.at)
	if err != nil {
		return nil, nil, time.Time{}, fmt.Errorf("load job %s: %w", id, err)
	}
	var p Progress
	progressed, err := s.loadKeyWithTime(ctx, progressKey(tenant, id), &p, &p.at)
	if errors.Is(err, ErrNotFound) {
		p, err := r.ImpliedProgress()
		return &r, p, written, err
	}
	if err != nil {
		return nil, nil, time.Time{}, fmt.Errorf("load progress of job %s: %w", id, err)
	}
	if progressed.After(written) {
		written = progressed
	}
	return &r, &p, written, nil
}

// loadKeyWithTime is load with the time of the last write.
func (s *bucket) loadKeyWithTime(ctx context.Context, key string, v any, at *keyVersion) (time.Time, error) {
	e, err := s.readEntry(ctx, key)
	if err == nil {
		err = decodeValue(e.Value(), v)
	}
	if err != nil {
		return time.Time{}, err
	}
	at.revision = e.Revision()
	return e.Created(), nil
}
