package standalone_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// awayFor is how long a dependency is away. A minute shows nothing that a few seconds do not, but for the patience of
// what waits.
var awayFor = flag.Duration("away", 4*time.Second, "how long dependencies are away in tests")

// someJobs uploads documents that keep the pipeline busy while something is taken away from it.
func (r *testPipeline) someJobs(t *testing.T) (ids []string) {
	t.Helper()
	for _, f := range []pdftest.File{
		pdftest.BornDigital(24), scans(3), smallMixed(), pdftest.BornDigital(1),
	} {
		ids = append(ids, r.send(t, f, bus.Batch).GetId())
	}
	return ids
}

// A store that fails or is full makes work wait. Readiness and a metric report what the store says, no client gets an
// acknowledgement of what cannot be kept, and when the store is back everything goes on by itself.
func TestBlobStoreAway(t *testing.T) {
	t.Parallel()
	var away atomic.Pointer[func(blobtest.Op) blobtest.Fault] // nil while the store is there
	r := newTestPipeline(t, pipelineOptions{blobs: func(s *blob.Store) *blob.Store {
		return blobtest.NewFaultyStore(s, func(op blobtest.Op, _ string) blobtest.Fault {
			if plan := away.Load(); plan != nil {
				return (*plan)(op)
			}
			return blobtest.Fault{}
		})
	}})
	for _, tt := range []struct {
		name string
		plan func(op blobtest.Op) blobtest.Fault
	}{
		{"failing", func(blobtest.Op) blobtest.Fault { return blobtest.Fault{Err: syscall.EIO} }},
		{"full", func(op blobtest.Op) blobtest.Fault {
			if op == blobtest.Write || op == blobtest.Commit {
				return blobtest.Fault{Err: syscall.ENOSPC}
			}
			return blobtest.Fault{}
		}},
		{"hanging", func(blobtest.Op) blobtest.Fault {
			return blobtest.Fault{Delay: 3 * time.Second, Err: syscall.ETIMEDOUT}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { // one after the other: they share the pipeline
			ids := r.someJobs(t)
			away.Store(&tt.plan)
			r.wantDependency(t, "blobs", false)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := r.upload(ctx, "a.pdf", pdftest.BornDigital(1).PDF, options(bus.Batch))
			if got := status.Code(err); got != codes.Unavailable {
				t.Errorf("upload while the dependency is away: %v, want %s", err, codes.Unavailable)
			}
			await(t, *awayFor)
			away.Store(nil)
			r.wantDependency(t, "blobs", true)
			r.wantDone(t, ids...)
		})
	}
}

// A real disk that is full, where this process may mount one: documents, results and index are on it.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("mount a disk to fill: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := newTestPipeline(t, pipelineOptions{dir: disk})
	first := r.send(t, pdftest.BornDigital(1), bus.Batch)
	r.wantDone(t, first.GetId())
	ids := r.someJobs(t)
	filler := filepath.Join(disk, "filler")
	bustest.EventuallyWithin(t, patience, "the full disk shows", func() bool {
		fill(t, filler) // again: work that it stops removes what it had begun to write
		return r.showsDependency(t, "blobs", false)
	})
	ids = append(ids, r.uploadUntilRefused(t, filler)...)
	await(t, *awayFor)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r.wantDependency(t, "blobs", true)
	r.wantDone(t, ids...)
}

// uploadUntilRefused fills the disk and uploads until an upload is refused: work that the full disk stops removes what it
// had begun to write, and a document that fits there may be taken. It returns the jobs of those.
func (r *testPipeline) uploadUntilRefused(t *testing.T, filler string) (ids []string) {
	t.Helper()
	for pages := 20; pages < 40; pages++ { // each document is another: one that is stored needs no room
		fill(t, filler)
		j, err := r.upload(t.Context(), "a.pdf", pdftest.BornDigital(pages).PDF, options(bus.Batch))
		if status.Code(err) == codes.Unavailable {
			return ids
		}
		if err != nil {
			t.Errorf("upload to a full disk: %v, want %s", err, codes.Unavailable)
			return ids
		}
		ids = append(ids, j.GetId())
	}
	t.Errorf("a full disk took %d uploads, the last of which should have been refused", len(ids))
	return ids
}

// fill writes at the end of a file until the disk takes no more.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2 // down to the last byte
		}
	}
}

// awayIndex is an index that can be away.
type awayIndex struct {
	search.Store
	away *switchable
}

func (i awayIndex) err() error {
	if i.away.isShut() {
		return fault.Wrap(fault.Busy, fault.Unavailable, errors.New("the index is away"))
	}
	return nil
}

func (i awayIndex) PutPages(ctx context.Context, pages []search.Page) error {
	if err := i.err(); err != nil {
		return err
	}
	return i.Store.PutPages(ctx, pages)
}

func (i awayIndex) PutDocument(ctx context.Context, d search.Document) error {
	if err := i.err(); err != nil {
		return err
	}
	return i.Store.PutDocument(ctx, d)
}

func (i awayIndex) PutDocuments(ctx context.Context, docs []search.Document) error {
	if err := i.err(); err != nil {
		return err
	}
	return i.Store.PutDocuments(ctx, docs)
}

func (i awayIndex) Ping(ctx context.Context) error {
	if err := i.err(); err != nil {
		return err
	}
	return i.Store.Ping(ctx)
}

func TestIndexAway(t *testing.T) {
	t.Parallel()
	away := &switchable{}
	r := newTestPipeline(t, pipelineOptions{index: func(s search.Store) search.Store { return awayIndex{s, away} }})
	away.setShut(true)
	ids := r.someJobs(t) // taken all the same: the queues keep them
	r.wantDependency(t, "index", false)
	await(t, *awayFor)
	for _, id := range ids {
		j, err := r.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: id})
		if err != nil || j.GetState() == inkstreamv1.Job_SUCCEEDED || j.GetState() == inkstreamv1.Job_FAILED {
			t.Errorf("without the index: job %s is %s, %v, want it to wait", id, j.GetState(), err)
		}
	}
	away.setShut(false)
	r.wantDependency(t, "index", true)
	r.wantDone(t, ids...)
}

func TestNATSAway(t *testing.T) {
	t.Parallel()
	broker := bustest.NewBroker(t)
	b := broker.Connect()
	if err := b.Provision(t.Context(), bus.Topology{AckWait: 3 * time.Second}); err != nil {
		t.Fatal(err)
	}
	r := newTestPipeline(t, pipelineOptions{bus: b})
	ids := r.someJobs(t)
	broker.StopServer()
	r.wantDependency(t, "nats", false)
	before := r.stored(t)
	_, err := r.upload(t.Context(), "a.pdf", pdftest.BornDigital(1).PDF, options(bus.Batch))
	if got := status.Code(err); got != codes.Unavailable {
		t.Errorf("upload while the dependency is away: %v, want %s", err, codes.Unavailable)
	}
	if got := r.stored(t); got > before {
		t.Errorf("%d blobs after an upload that was refused, want the %d from before", got, before)
	}
	await(t, *awayFor)
	broker.StartServer()
	r.wantDependency(t, "nats", true)
	r.wantDone(t, ids...)
}
