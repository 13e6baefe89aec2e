package job_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
)

// watchCounter is a bucket that counts its watches.
type watchCounter struct {
	jetstream.KeyValue
	watches int
}

func (c *watchCounter) Watch(ctx context.Context, keys string,
	opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	c.watches++
	return c.KeyValue.Watch(ctx, keys, opts...)
}

// Passes come every second. Where no record was written since the last one they cost next to nothing, whatever else
// was, and they miss no record.
func TestScanSkipsUnchangedRecords(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	kv, err := b.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bucket := &watchCounter{KeyValue: kv}
	jobs := job.NewStore(bucket)
	write := func(id job.ID) {
		t.Helper()
		if err := jobs.CreateRecord(t.Context(), &job.Record{ID: id, Tenant: "t", CreateTime: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	last := uint64(0)
	pass := func(want int) {
		t.Helper()
		got := 0
		if last, err = jobs.ScanChanges(t.Context(), last, func(job.Change) { got++ }); err != nil || got != want {
			t.Fatalf("a pass saw %d records, %v, want %d", got, err, want)
		}
	}
	write("a")
	pass(1)
	if err := b.CheckWrites(t.Context()); err != nil { // writes a key that is no record's
		t.Fatal(err)
	}
	for range 5 {
		pass(0)
	}
	if bucket.watches != 2 {
		t.Errorf("%d watches, want 2: one that found the record, and one that found nothing after it", bucket.watches)
	}
	write("b")
	pass(1)
	pass(0)
	// The broker's store was replaced by an older copy.
	if again, err := jobs.ScanChanges(t.Context(), last+1000, func(job.Change) {}); again != 0 ||
		!errors.Is(err, job.ErrRestored) {
		t.Errorf("a pass beyond the end: got %d, %v, want 0 and ErrRestored", again, err)
	}
}
