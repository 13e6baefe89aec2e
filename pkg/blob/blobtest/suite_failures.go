package blobtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
)

func testAbortedWriter(t *testing.T, s *blob.Store) {
	w, err := s.NewWriter(t.Context(), "a/k", blob.PutOptions{})
	mustSucceed(t, err)
	_, err = w.WriteString(strings.Repeat("x", 200_000))
	mustSucceed(t, err)
	mustSucceed(t, w.Abort())
	mustSucceed(t, w.Abort())
	if err := w.Close(); err == nil {
		t.Error("Close after Abort: got no error, want one")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Abort: got no error, want one")
	}
	wantKeys(t, s, "")

	putText(t, s, "a/k", "kept")
	w, err = s.NewWriter(t.Context(), "a/k", blob.PutOptions{})
	mustSucceed(t, err)
	_, err = w.WriteString("dropped")
	mustSucceed(t, err)
	mustSucceed(t, w.Abort())
	wantText(t, s, "a/k", "kept")
}

func testCancelledWrite(t *testing.T, s *blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.NewWriter(ctx, "a/writer", blob.PutOptions{})
	mustSucceed(t, err)
	_, err = w.WriteString("x")
	mustSucceed(t, err)
	// The source cancels while it is being read, as an uploader does who hangs up.
	source := io.MultiReader(strings.NewReader("some"),
		readerFunc(func(p []byte) (int, error) { cancel(); return copy(p, "more"), nil }))
	_, putErr := s.Put(ctx, "a/put", source, blob.PutOptions{})
	_, createErr := s.NewWriter(ctx, "a/late", blob.PutOptions{})
	for what, err := range map[string]error{
		"Put": putErr, "Close": w.Close(), "NewWriter": createErr, "PutBytes": s.PutBytes(ctx, "a/bytes", []byte("x"), ""),
	} {
		if !errors.Is(err, context.Canceled) || fault.CodeOf(err) == fault.Unavailable {
			t.Errorf("%s: got %v, want context.Canceled, unsorted", what, err)
		}
	}
	wantKeys(t, s, "")
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func testBadSource(t *testing.T, s *blob.Store) {
	errHungUp := errors.New("hung up")
	source := io.MultiReader(strings.NewReader(strings.Repeat("x", 300_000)), iotest.ErrReader(errHungUp))
	_, err := s.Put(t.Context(), "a/k", source, blob.PutOptions{})
	if !errors.Is(err, errHungUp) || fault.CodeOf(err) == fault.Unavailable {
		t.Errorf("Put: got %v, want the source's error and no Busy fault", err)
	}
	wantKeys(t, s, "")
}

func testNothingBeforeClose(t *testing.T, s *blob.Store) {
	w, err := s.NewWriter(t.Context(), "a/k", blob.PutOptions{})
	mustSucceed(t, err)
	_, err = w.Write(make([]byte, 300_000))
	mustSucceed(t, err)
	if ok, err := s.BlobExists(t.Context(), "a/k"); ok || err != nil {
		t.Errorf("Exists before Close: got %v, %v, want false and no error", ok, err)
	}
	wantKeys(t, s, "")
	mustSucceed(t, w.Close())
	wantKeys(t, s, "", "a/k")
	if err := w.Close(); err == nil {
		t.Error("second Close: got no error, want one")
	}
	mustSucceed(t, w.Abort())
	wantKeys(t, s, "", "a/k")
}

func testInvalidKeys(t *testing.T, s *blob.Store) {
	ctx := t.Context()
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "../a", "a b", "a\x00b", "a\\b", "ä", "a~b",
		"~incoming/x", "a%2fb",
		strings.Repeat("a", 256), strings.Repeat("a/", 256) + "b",
	} {
		_, getErr := s.Get(ctx, key)
		_, statErr := s.ReadAttributes(ctx, key)
		_, fileErr := s.OpenFile(ctx, key)
		_, writerErr := s.NewWriter(ctx, key, blob.PutOptions{})
		_, putErr := s.Put(ctx, key, strings.NewReader("x"), blob.PutOptions{})
		for i, err := range []error{getErr, statErr, fileErr, writerErr, putErr, s.PutBytes(ctx, key, nil, ""),
			s.Delete(ctx, key)} {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("call %d with key %.20q: got %v, want INVALID_ARGUMENT", i, key, err)
			}
		}
	}
	for _, prefix := range []string{"/", "../", "a//", "ä"} {
		for _, err := range s.ListBlobs(ctx, prefix) {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("List(%q): got %v, want INVALID_ARGUMENT", prefix, err)
			}
		}
	}
	for _, key := range []string{"...", ".hidden", "a..b/-_.", strings.Repeat("a", 255),
		strings.Repeat("ab/", 170) + "ab"} {
		putText(t, s, key, key)
		wantText(t, s, key, key)
	}
}

func testInjectedFailures(t *testing.T, s *blob.Store) {
	for _, tt := range []struct {
		op  Op
		err error
	}{
		{Create, nil}, {Write, syscall.ENOSPC}, {Commit, syscall.EIO}, {Commit, syscall.EDQUOT},
	} {
		bad := NewFaultyStore(s, FailFirst(2, tt.op, tt.err))
		putErr := bad.PutBytes(t.Context(), "a/k", []byte("x"), "")
		_, streamErr := bad.Put(t.Context(), "a/k", strings.NewReader("x"), blob.PutOptions{})
		for _, err := range []error{putErr, streamErr} {
			if fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable || tt.err != nil &&
				!errors.Is(err, tt.err) {
				t.Errorf("%v fails: got %v, want a Busy fault UNAVAILABLE that wraps %v", tt.op, err, tt.err)
			}
		}
		wantKeys(t, s, "")
		mustSucceed(t, bad.PutBytes(t.Context(), "a/k", []byte("x"), "")) // it passed
		mustSucceed(t, s.Delete(t.Context(), "a/k"))
	}

	disk := &Disk{}
	full := NewFaultyStore(s, disk.DiskPlan)
	w, err := full.NewWriter(t.Context(), "a/w", blob.PutOptions{})
	mustSucceed(t, err)
	_, err = w.WriteString("before")
	mustSucceed(t, err)
	disk.SetDiskFull(true)
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Busy {
		t.Errorf("Close on a full disk: got %v, want a Busy fault that wraps ENOSPC", err)
	}
	wantKeys(t, s, "")

	putText(t, s, "a/k", "contents")
	bad := NewFaultyStore(s, FailFirst(1, Read, syscall.EIO))
	if _, err := bad.ReadBytes(t.Context(), "a/k", 100); fault.KindOf(err) != fault.Busy || !errors.Is(err, syscall.EIO) {
		t.Errorf("read fails: got %v, want a Busy fault that wraps EIO", err)
	}
	wantText(t, bad, "a/k", "contents")

	lost := NewFaultyStore(s, func(op Op, _ string) Fault {
		if op == Commit {
			return Fault{Err: ErrInjected, Lost: true}
		}
		return Fault{}
	})
	if err := lost.PutBytes(t.Context(), "a/lost", []byte("x"), ""); !errors.Is(err, ErrInjected) {
		t.Errorf("an answer gets lost: got %v, want ErrInjected", err)
	}
	wantText(t, s, "a/lost", "x")
}
