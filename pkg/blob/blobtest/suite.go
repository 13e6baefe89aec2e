// Package blobtest holds the tests that every blob store passes, and stores that fail on demand.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
)

// Run tests a store. Each call of open returns one that is empty; Run closes it.
func Run(t *testing.T, open func(t *testing.T) *blob.Store) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, *blob.Store)
	}{
		{"what was put is read back", testRoundTrip},
		{"a missing blob is ErrNotFound", testMissingBlob},
		{"ranges are cut at the blob's end", testRangeReads},
		{"Bytes refuses more than its limit", testBytesLimit},
		{"a second Put replaces the blob", testOverwriteBlob},
		{"attributes are those of the blob", testAttributes},
		{"File is a read-only file of the blob", testOpenFile},
		{"List goes by prefix, in key order", testListOrder},
		{"List ends where the caller breaks off", testListBreak},
		{"Delete removes one blob, and is repeatable", testDeleteBlob},
		{"DeletePrefix removes a folder and nothing beside it", testDeletePrefix},
		{"an aborted writer leaves nothing", testAbortedWriter},
		{"a done context leaves nothing", testCancelledWrite},
		{"a reader that fails leaves nothing, and its error stays its own", testBadSource},
		{"a writer shows nothing before Close", testNothingBeforeClose},
		{"of many writers of a key one wins whole", testConcurrentWriters},
		{"PutAll stores all", testPutAll},
		{"10 MB go through whole", testLargeBlob},
		{"compressed blobs read as they were written", testCompressedBlobs},
		{"what looks like a compressed blob stays what it is", testLookalikes},
		{"damage to a compressed blob is an error", testDamagedCompression},
		{"a bundle reads as the blobs that it holds", testBundle},
		{"a bundle that is replaced reads on as it was", testReplacedBundle},
		{"blobs are deleted from bundles", testBundleDeletes},
		{"a bundle that is damaged is an error", testBadBundles},
		{"bad keys are refused", testInvalidKeys},
		{"failures are Busy, and leave nothing", testInjectedFailures},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: got %v, want no error", err)
				}
			})
			tt.test(t, s)
		})
	}
}

// mustSucceed fails the test at once if err is one.
func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
}

func putText(t *testing.T, s *blob.Store, key, text string) {
	t.Helper()
	mustSucceed(t, s.PutBytes(t.Context(), key, []byte(text), ""))
}

// wantText fails the test unless the blob holds text.
func wantText(t *testing.T, s *blob.Store, key, text string) {
	t.Helper()
	got, err := s.ReadBytes(t.Context(), key, 1<<20)
	mustSucceed(t, err)
	if string(got) != text {
		t.Errorf("blob %s: got %.40q, want %.40q", key, got, text)
	}
}

// wantKeys fails the test unless List yields exactly those keys.
func wantKeys(t *testing.T, s *blob.Store, prefix string, keys ...string) {
	t.Helper()
	var got []string
	for entry, err := range s.ListBlobs(t.Context(), prefix) {
		mustSucceed(t, err)
		got = append(got, entry.Key)
	}
	if !slices.Equal(got, keys) {
		t.Errorf("List(%q): got %q, want %q", prefix, got, keys)
	}
}

func testRoundTrip(t *testing.T, s *blob.Store) {
	size, err := s.Put(t.Context(), "t/j/source.pdf", iotest.OneByteReader(strings.NewReader("hello")), blob.PutOptions{})
	mustSucceed(t, err)
	if size != 5 {
		t.Errorf("size: got %d, want 5", size)
	}
	wantText(t, s, "t/j/source.pdf", "hello")
	putText(t, s, "empty", "")
	wantText(t, s, "empty", "")
	putText(t, s, "t/j/tmp/run-1/1.pgm", "raster")
	wantText(t, s, "t/j/tmp/run-1/1.pgm", "raster")
	for _, missing := range []string{"t", "t/j", "t/j/sou", "t/j/source.pdf/x"} {
		if ok, err := s.BlobExists(t.Context(), missing); ok || err != nil {
			t.Errorf("Exists(%q): got %v, %v, want false and no error", missing, ok, err)
		}
	}
}

func testMissingBlob(t *testing.T, s *blob.Store) {
	ctx := t.Context()
	putText(t, s, "t/there", "x")
	for _, key := range []string{"t/not-there", "not/there", "t", "t/there/below"} {
		_, getErr := s.Get(ctx, key)
		_, bytesErr := s.ReadBytes(ctx, key, 10)
		_, rangeErr := s.OpenRange(ctx, key, 1, 1)
		_, statErr := s.ReadAttributes(ctx, key)
		_, fileErr := s.OpenFile(ctx, key)
		for i, err := range []error{getErr, bytesErr, rangeErr, statErr, fileErr} {
			if !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("read %d of %s: got %v, want ErrNotFound", i, key, err)
			}
			if fault.CodeOf(err) == fault.Unavailable {
				t.Errorf("read %d of %s: got a Busy fault, want none: the blob will not come", i, key)
			}
		}
		mustSucceed(t, s.Delete(ctx, key))
	}
	wantKeys(t, s, "", "t/there")
	wantKeys(t, s, "no/such/")
}

func testRangeReads(t *testing.T, s *blob.Store) {
	putText(t, s, "k", "0123456789")
	for _, tt := range []struct {
		offset, length int64
		want           string
	}{
		{0, -1, "0123456789"}, {0, 3, "012"}, {4, 3, "456"}, {8, 10, "89"}, {5, -1, "56789"}, {3, 0, ""}, {10, 5, ""},
		{50, -1, ""},
	} {
		r, err := s.OpenRange(t.Context(), "k", tt.offset, tt.length)
		mustSucceed(t, err)
		got, err := io.ReadAll(r)
		mustSucceed(t, errors.Join(err, r.Close()))
		if string(got) != tt.want {
			t.Errorf("Range(%d, %d): got %q, want %q", tt.offset, tt.length, got, tt.want)
		}
	}
	if _, err := s.OpenRange(t.Context(), "k", -1, 1); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("Range(-1): got %v, want INVALID_ARGUMENT", err)
	}
}

func testBytesLimit(t *testing.T, s *blob.Store) {
	putText(t, s, "k", "0123456789")
	if got, err := s.ReadBytes(t.Context(), "k", 10); err != nil || len(got) != 10 {
		t.Errorf("Bytes of 10 at limit 10: got %d bytes and %v, want all and no error", len(got), err)
	}
	if _, err := s.ReadBytes(t.Context(), "k", 9); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("Bytes of 10 at limit 9: got %v, want ErrTooLarge", err)
	}
}

func testOverwriteBlob(t *testing.T, s *blob.Store) {
	putText(t, s, "a/k", "first and longer")
	r, err := s.Get(t.Context(), "a/k")
	mustSucceed(t, err)
	defer r.Close()
	putText(t, s, "a/k", "second")
	wantText(t, s, "a/k", "second")
	got, err := io.ReadAll(r)
	mustSucceed(t, err)
	if string(got) != "first and longer" {
		t.Errorf("a reader opened before the second Put: got %q, want the first blob whole", got)
	}
	wantKeys(t, s, "", "a/k")
}

func testAttributes(t *testing.T, s *blob.Store) {
	before := time.Now().Add(-2 * time.Second)
	for key, contentType := range map[string]string{
		"t/j/source.pdf": "application/pdf", "a/text.txt": "text/plain; charset=utf-8", "a/x.json": "application/json",
		"a/none": "application/octet-stream",
	} {
		putText(t, s, key, "12345")
		a, err := s.ReadAttributes(t.Context(), key)
		mustSucceed(t, err)
		if a.Size != 5 || a.ContentType != contentType {
			t.Errorf("Stat(%s): got size %d, type %s, want 5, %s", key, a.Size, a.ContentType, contentType)
		}
		if a.ModTime.Before(before) || a.ModTime.After(time.Now().Add(2*time.Second)) {
			t.Errorf("Stat(%s): got time %v, want about now", key, a.ModTime)
		}
	}
}

func testOpenFile(t *testing.T, s *blob.Store) {
	putText(t, s, "t/j/source.pdf", "contents")
	f, err := s.OpenFile(t.Context(), "t/j/source.pdf")
	mustSucceed(t, err)
	defer f.Close()
	mustSucceed(t, s.Delete(t.Context(), "t/j/source.pdf"))
	got := make([]byte, 4)
	if _, err := f.ReadAt(got, 2); err != nil || string(got) != "nten" {
		t.Errorf("ReadAt(2) after Delete: got %q, %v, want nten", got, err)
	}
	all, err := io.ReadAll(f)
	mustSucceed(t, err)
	if string(all) != "contents" {
		t.Errorf("ReadAll: got %q, want it from the start", all)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("Write to the file: got no error, want one")
	}
}

func testListOrder(t *testing.T, s *blob.Store) {
	keys := []string{"a-b/1", "a.x", "a/1", "a/10", "a/2", "a/b/c/d", "a0", "b", "b-1/x/tmp/y"}
	for _, i := range rand.Perm(len(keys)) {
		putText(t, s, keys[i], keys[i])
	}
	for prefix, want := range map[string][]string{
		"": keys, "a/": keys[2:6], "a": keys[:7], "a/1": {"a/1", "a/10"}, "a/b": {"a/b/c/d"}, "a/b/c/d": {"a/b/c/d"},
		"a/b/c/d/": nil,
		"b":        keys[7:], "c": nil, "a/x/y/": nil,
	} {
		wantKeys(t, s, prefix, want...)
	}
	for entry, err := range s.ListBlobs(t.Context(), "a/1") {
		mustSucceed(t, err)
		if entry.Size != int64(len(entry.Key)) || entry.ModTime.IsZero() {
			t.Errorf("entry %s: got size %d, time %v, want %d and its time", entry.Key, entry.Size, entry.ModTime,
				len(entry.Key))
		}
	}
}

func testListBreak(t *testing.T, s *blob.Store) {
	for i := range 30 {
		putText(t, s, fmt.Sprintf("f%d/k%d", i%3, i), "x")
	}
	seen := 0
	for _, err := range s.ListBlobs(t.Context(), "") {
		mustSucceed(t, err)
		if seen++; seen == 12 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.ListBlobs(ctx, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List with a context that is done: got %v, want context.Canceled", err)
		}
	}
}

func testDeleteBlob(t *testing.T, s *blob.Store) {
	putText(t, s, "a/1", "x")
	putText(t, s, "a/2", "y")
	mustSucceed(t, s.Delete(t.Context(), "a/1"))
	mustSucceed(t, s.Delete(t.Context(), "a/1"))
	mustSucceed(t, s.Delete(t.Context(), "a"))
	wantKeys(t, s, "", "a/2")
	mustSucceed(t, s.Delete(t.Context(), "a/2"))
	mustSucceed(t, s.Delete(t.Context(), "a")) // where blobs are files, an empty folder now
	putText(t, s, "a/1", "again")
	wantText(t, s, "a/1", "again")
}

func testDeletePrefix(t *testing.T, s *blob.Store) {
	ctx := t.Context()
	for _, key := range []string{"t/j/run-1/a", "t/j/run-1/p/1", "t/j/run-1/p/2", "t/j/run-10/a", "t/j/source.pdf",
		"t/j2/tmp/x", "t/z"} {
		putText(t, s, key, "x")
	}
	mustSucceed(t, s.DeletePrefix(ctx, "t/j/run-1"))
	wantKeys(t, s, "", "t/j/run-10/a", "t/j/source.pdf", "t/j2/tmp/x", "t/z")
	mustSucceed(t, s.DeletePrefix(ctx, "t/j/run-1"))
	mustSucceed(t, s.DeletePrefix(ctx, "t/j2/tmp/"))
	mustSucceed(t, s.DeletePrefix(ctx, "t/z")) // a blob, not a folder
	mustSucceed(t, s.DeletePrefix(ctx, "t/z/deeper"))
	mustSucceed(t, s.DeletePrefix(ctx, "never/was"))
	wantKeys(t, s, "", "t/j/run-10/a", "t/j/source.pdf", "t/z")
	for _, bad := range []string{"", "/", "..", "t//"} {
		if err := s.DeletePrefix(ctx, bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("DeletePrefix(%q): got %v, want INVALID_ARGUMENT", bad, err)
		}
	}
	putText(t, s, "t/j/run-1/a", "again")
	wantText(t, s, "t/j/run-1/a", "again")
}

func testPutAll(t *testing.T, s *blob.Store) {
	var objects []blob.Object
	for i := range 50 {
		objects = append(objects, blob.Object{Key: fmt.Sprintf("t/j/run-1/pages/%d.json", i+1),
			Data: fmt.Append(nil, "page ", i+1)})
	}
	mustSucceed(t, s.PutAll(t.Context(), objects))
	for _, o := range objects {
		wantText(t, s, o.Key, string(o.Data))
	}
	mustSucceed(t, s.PutAll(t.Context(), nil))

	s.PrepareDirs("t/k/run-1/expected", "../bad")
	writer := func(key string) *blob.Writer {
		w, err := s.NewWriter(t.Context(), key, blob.PutOptions{})
		mustSucceed(t, err)
		_, err = w.WriteString("written to " + key)
		mustSucceed(t, err)
		return w
	}
	var open []*blob.Writer
	for i := range 70 { // more than are committed at once
		open = append(open, writer(fmt.Sprintf("t/k/run-1/artifacts/%d.txt", i)))
	}
	mustSucceed(t, s.PutAll(t.Context(), []blob.Object{
		{Key: "t/k/run-1/copy", From: "t/j/run-1/pages/7.json"}, {Key: "t/k/run-1/plan.bin", Data: []byte("plan")},
		{Key: "t/k/tmp/x", Data: []byte("tmp")},
	}, open...))
	for i := range open {
		key := fmt.Sprintf("t/k/run-1/artifacts/%d.txt", i)
		wantText(t, s, key, "written to "+key)
	}
	wantText(t, s, "t/k/run-1/copy", "page 7")
	wantText(t, s, "t/k/run-1/plan.bin", "plan")
	wantText(t, s, "t/k/tmp/x", "tmp")
	if err := open[0].Close(); err == nil {
		t.Error("Close of a writer that PutAll has ended: got no error, want one")
	}

	w := writer("t/k/bad")
	err := s.PutAll(t.Context(), []blob.Object{{Key: "good"}, {Key: "../bad"}}, w)
	if fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("PutAll with a bad key: got %v, want INVALID_ARGUMENT", err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close of a writer after a PutAll that failed: got no error, want one")
	}
}

func testLargeBlob(t *testing.T, s *blob.Store) {
	const size = 10 << 20
	sum := sha256.New()
	w, err := s.NewWriter(t.Context(), "t/j/big", blob.PutOptions{})
	mustSucceed(t, err)
	random := rand.NewChaCha8([32]byte{1})
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(w, sum)}, io.LimitReader(random, size), make([]byte, 3000))
	mustSucceed(t, errors.Join(err, w.Close()))
	if w.Size() != size {
		t.Errorf("Size: got %d, want %d", w.Size(), size)
	}
	r, err := s.Get(t.Context(), "t/j/big")
	mustSucceed(t, err)
	got := sha256.New()
	n, err := io.Copy(got, r)
	mustSucceed(t, errors.Join(err, r.Close()))
	if n != size || !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
		t.Errorf("read back: got %d bytes, sum %x, want %d, %x", n, got.Sum(nil), size, sum.Sum(nil))
	}
}

func testConcurrentWriters(t *testing.T, s *blob.Store) {
	var all sync.WaitGroup
	for i := range 8 {
		text := strings.Repeat(string(rune('a'+i)), 100_000)
		all.Go(func() {
			if _, err := s.Put(t.Context(), "one/key", strings.NewReader(text), blob.PutOptions{}); err != nil {
				t.Errorf("Put: got %v, want no error", err)
			}
		})
		all.Go(func() {
			got, err := s.ReadBytes(t.Context(), "one/key", 1<<20)
			if err == nil {
				wantOneWriter(t, got)
			} else if !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Bytes: got %v, want a blob or ErrNotFound", err)
			}
		})
	}
	all.Wait()
	got, err := s.ReadBytes(t.Context(), "one/key", 1<<20)
	mustSucceed(t, err)
	wantOneWriter(t, got)
	wantKeys(t, s, "", "one/key")
}

// wantOneWriter fails the test unless got is what one writer of testConcurrentWriters wrote.
func wantOneWriter(t *testing.T, got []byte) {
	t.Helper()
	if len(got) != 100_000 || bytes.Count(got, got[:1]) != len(got) {
		t.Errorf("got %d bytes of several writers, want 100000 of one", len(got))
	}
}
