package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"inkstream.dev/pkg/blob"
)

// Op is something that a store is asked to do.
type Op int

// The operations that a Plan is asked about. Write and Read are asked about once for every piece.
const (
	Create Op = iota
	Write
	Commit
	Open
	Read
	Stat
	List
	Delete
)

// ErrInjected is what injected failures wrap where no other error is named.
var ErrInjected = errors.New("injected storage failure")

// Fault is what happens to an operation. The zero Fault lets it pass.
type Fault struct {
	// Delay comes first. It ends early with the context.
	Delay time.Duration
	// Err, if any, is returned in place of doing the operation.
	Err error
	// Lost makes a Commit happen and still return Err, as when the answer of a server is lost.
	Lost bool
}

// Plan decides what happens to an operation on a key. It is called from many goroutines.
type Plan func(op Op, key string) Fault

// NewFaultyStore returns a Store over the same blobs as s, with plan in between. It needs no Close of its own.
func NewFaultyStore(s *blob.Store, plan Plan) *blob.Store {
	return blob.New(&faultyDriver{Driver: s.Driver(), plan: plan})
}

// FailFirst returns a Plan that fails the first n operations of kind op with err; ErrInjected if err is nil.
func FailFirst(n int, op Op, err error) Plan {
	if err == nil {
		err = ErrInjected
	}
	var left atomic.Int64
	left.Store(int64(n))
	return func(asked Op, _ string) Fault {
		if asked == op && left.Add(-1) >= 0 {
			return Fault{Err: err}
		}
		return Fault{}
	}
}

// Disk is a Plan that can be full: writes fail with "no space left on device" while it is. The zero Disk has room.
type Disk struct {
	mu   sync.Mutex // guards full
	full bool
}

// SetDiskFull fills the disk, or makes room.
func (d *Disk) SetDiskFull(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// DiskPlan is the Plan of the disk.
func (d *Disk) DiskPlan(op Op, key string) Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full && (op == Write || op == Commit) {
		return Fault{Err: &os.PathError{Op: "write", Path: key, Err: syscall.ENOSPC}}
	}
	return Fault{}
}

// DelayAll returns a Plan that delays every operation.
func DelayAll(delay time.Duration) Plan {
	return func(Op, string) Fault { return Fault{Delay: delay} }
}

type faultyDriver struct {
	blob.Driver
	plan Plan
}

// injectFault does what the plan says about an operation.
func (f *faultyDriver) injectFault(ctx context.Context, op Op, key string) (Fault, error) {
	what := f.plan(op, key)
	if what.Delay > 0 {
		timer := time.NewTimer(what.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return what, ctx.Err()
		}
	}
	return what, what.Err
}

func (f *faultyDriver) BeginUpload(ctx context.Context, key string, opts blob.PutOptions) (blob.Upload, error) {
	if _, err := f.injectFault(ctx, Create, key); err != nil {
		return nil, err
	}
	up, err := f.Driver.BeginUpload(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return &faultyUpload{Upload: up, ctx: ctx, faulty: f, key: key}, nil
}

type faultyUpload struct {
	blob.Upload
	ctx    context.Context // that of Create
	faulty *faultyDriver
	key    string
}

func (u *faultyUpload) Write(p []byte) (int, error) {
	if _, err := u.faulty.injectFault(u.ctx, Write, u.key); err != nil {
		return 0, err
	}
	return u.Upload.Write(p)
}

func (u *faultyUpload) Commit() error {
	what, err := u.faulty.injectFault(u.ctx, Commit, u.key)
	switch {
	case err == nil:
		return u.Upload.Commit()
	case what.Lost:
		return errors.Join(err, u.Upload.Commit())
	default:
		return errors.Join(err, u.Upload.Abort())
	}
}

func (f *faultyDriver) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if _, err := f.injectFault(ctx, Open, key); err != nil {
		return nil, err
	}
	r, err := f.Driver.OpenRange(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	return &faultyReader{ReadCloser: r, ctx: ctx, faulty: f, key: key}, nil
}

type faultyReader struct {
	io.ReadCloser
	ctx    context.Context // that of Open
	faulty *faultyDriver
	key    string
}

func (r *faultyReader) Read(p []byte) (int, error) {
	if _, err := r.faulty.injectFault(r.ctx, Read, r.key); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

func (f *faultyDriver) OpenFile(ctx context.Context, key string) (*os.File, error) {
	if _, err := f.injectFault(ctx, Open, key); err != nil {
		return nil, err
	}
	return f.Driver.OpenFile(ctx, key)
}

func (f *faultyDriver) ReadTail(ctx context.Context, key string, n int) ([]byte, blob.Attributes, error) {
	if _, err := f.injectFault(ctx, Stat, key); err != nil {
		return nil, blob.Attributes{}, err
	}
	return f.Driver.ReadTail(ctx, key, n)
}

func (f *faultyDriver) ListEntries(ctx context.Context, prefix string) iter.Seq2[blob.Entry, error] {
	if _, err := f.injectFault(ctx, List, prefix); err != nil {
		return func(yield func(blob.Entry, error) bool) { yield(blob.Entry{}, err) }
	}
	return f.Driver.ListEntries(ctx, prefix)
}

func (f *faultyDriver) DeleteBlob(ctx context.Context, key string) error {
	if _, err := f.injectFault(ctx, Delete, key); err != nil {
		return err
	}
	return f.Driver.DeleteBlob(ctx, key)
}

func (f *faultyDriver) DeleteFolder(ctx context.Context, folder string) error {
	if _, err := f.injectFault(ctx, Delete, folder); err != nil {
		return err
	}
	return f.Driver.DeleteFolder(ctx, folder)
}

// Close leaves the driver below open: it belongs to the Store that NewFaultyStore was given.
func (f *faultyDriver) Close() error { return nil }

// String names the operation in test failures.
func (op Op) String() string {
	names := [...]string{"create", "write", "commit", "open", "read", "stat", "list", "delete"}
	if op < 0 || int(op) >= len(names) {
		return fmt.Sprintf("operation %d", int(op))
	}
	return names[op]
}
