package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
)

// watchCounter is a bucket that counts its watches, and knows when the context of each ends.
type watchCounter struct {
	jetstream.KeyValue
	watches int
	ends    []<-chan struct{}
}

func (c *watchCounter) Watch(ctx context.Context, keys string,
	opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	c.watches++
	c.ends = append(c.ends, ctx.Done())
	return c.KeyValue.Watch(ctx, keys, opts...)
}

// scanned is a store of which one scanner reads.
type scanned struct {
	*job.RecordScanner
	bus    *bus.Bus
	bucket *watchCounter
	jobs   *job.Store
	last   uint64
}

func newScanned(t *testing.T) *scanned {
	t.Helper()
	b := bustest.New(t)
	kv, err := b.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &scanned{bus: b, bucket: &watchCounter{KeyValue: kv}}
	s.jobs = job.NewStore(s.bucket)
	s.RecordScanner = s.jobs.NewRecordScanner()
	t.Cleanup(s.Close)
	return s
}

func (s *scanned) write(t *testing.T, id job.ID) {
	t.Helper()
	if err := s.jobs.CreateRecord(t.Context(), &job.Record{ID: id, Tenant: "t", CreateTime: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// see scans until it has seen the records, and fails if it sees others.
func (s *scanned) see(t *testing.T, want ...job.ID) {
	t.Helper()
	var got []job.ID
	for len(got) < len(want) || len(want) == 0 {
		last, err := s.Scan(t.Context(), s.last, func(c job.Change, record func() (*job.Record, error)) {
			if r, err := record(); err != nil || r.ID != c.ID {
				t.Errorf("the record of %s: %v, %v", c.ID, r, err)
			}
			got = append(got, c.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.last = last; len(want) == 0 {
			break
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("scans saw %v, want %v", got, want)
	}
}

// Scans come every second. They have one watch, whatever is written, and miss no record.
func TestScannerKeepsItsWatch(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	s.see(t)
	s.write(t, "a")
	s.see(t, "a")
	if err := s.bus.CheckWrites(t.Context()); err != nil { // writes a key that is no record's
		t.Fatal(err)
	}
	for range 5 {
		s.see(t)
	}
	var many []job.ID
	for i := range 600 { // more than a watch holds
		many = append(many, job.ID(fmt.Sprintf("b%03d", i)))
		s.write(t, many[i])
	}
	s.see(t, many...)
	if s.bucket.watches != 1 {
		t.Errorf("%d watches, want 1", s.bucket.watches)
	}
}

// What a caller could not use comes again.
func TestScannerGoesBack(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	s.write(t, "a")
	s.see(t, "a")
	before := s.last
	s.write(t, "b")
	s.see(t, "b")
	s.last = before
	s.see(t, "b")
	s.last = 0
	s.see(t, "a", "b")
}

// A watch that has died in silence, as one whose consumer is gone, is replaced when it is old.
func TestScannerReplacesOldWatch(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	s.write(t, "a")
	s.see(t, "a")
	stream, err := s.bus.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
	if err != nil {
		t.Fatal(err)
	}
	consumers := stream.ConsumerNames(t.Context())
	for name := range consumers.Name() {
		if err := stream.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := consumers.Err(); err != nil {
		t.Fatal(err)
	}
	s.write(t, "b")
	s.see(t)
	s.SetWatchAge(0)
	s.see(t, "b")
	if s.bucket.watches != 2 {
		t.Errorf("%d watches, want 2", s.bucket.watches)
	}
}

// A scan that is cut does not end the watch for those that follow.
func TestScannerOutlivesContext(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := s.Scan(ctx, 0, func(job.Change, func() (*job.Record, error)) {}); err != nil {
		t.Fatal(err)
	}
	cancel()
	s.write(t, "a")
	s.see(t, "a")
	if s.bucket.watches != 1 {
		t.Errorf("%d watches, want 1", s.bucket.watches)
	}
}

// The client keeps a goroutine for each watch until the watch's context ends.
func TestWatchesLeaveNoGoroutines(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	s.SetWatchAge(0)
	s.see(t)
	s.see(t)
	s.Close()
	if _, err := s.jobs.ScanChanges(t.Context(), 0, func(job.Change) {}); err != nil {
		t.Fatal(err)
	}
	for i, end := range s.bucket.ends {
		select {
		case <-end:
		default:
			t.Errorf("the context of watch %d of %d has no end", i+1, len(s.bucket.ends))
		}
	}
}

// The broker's store was replaced by an older copy.
func TestScanOfRestoredStore(t *testing.T) {
	t.Parallel()
	s := newScanned(t)
	s.write(t, "a")
	s.see(t, "a")
	if again, err := s.Scan(t.Context(), s.last+1000, nil); again != 0 || !errors.Is(err, job.ErrRestored) {
		t.Errorf("a scan beyond the end: got %d, %v, want 0 and ErrRestored", again, err)
	}
	if again, err := s.jobs.ScanChanges(t.Context(), s.last+1000, nil); again != 0 || !errors.Is(err, job.ErrRestored) {
		t.Errorf("changes beyond the end: got %d, %v, want 0 and ErrRestored", again, err)
	}
}
