package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
)

// compressible returns so many bytes that shrink, and that no two parts of are alike.
func compressible(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"text":"word %d","bbox":[%d,%d,%d.5]}`, i*i, i%612, i%792, i%100)
	}
	return b.Bytes()[:size]
}

// compressedSizes are sizes at the edges of what is compressed, and of frames.
var compressedSizes = []int{0, 1, 511, 512, 10_000, 256 << 10, 256<<10 + 1, 600_000, 1 << 20, 1<<20 + 1, 3 << 20}

func testCompressedBlobs(t *testing.T, s *blob.Store) {
	for i, size := range compressedSizes {
		data, key := compressible(size), fmt.Sprintf("t/j/run-1/artifacts/%d.json", i)
		switch i % 3 { // the ways to store a blob
		case 0:
			_, err := s.Put(t.Context(), key, bytes.NewReader(data), blob.PutOptions{Compress: true})
			mustSucceed(t, err)
		case 1:
			mustSucceed(t, s.PutAll(t.Context(), []blob.Object{{Key: key, Data: data, Compress: true}}))
		default:
			w, err := s.NewWriter(t.Context(), key, blob.PutOptions{Compress: true})
			mustSucceed(t, err)
			_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{bytes.NewReader(data)}, make([]byte, 7001))
			mustSucceed(t, errors.Join(err, w.Close()))
		}
		wantPlainReads(t, s, key, data, "application/json")
		mustSucceed(t, s.CopyBlob(t.Context(), key, key+".copy"))
		mustSucceed(t, s.CopyBlob(t.Context(), key, "t/j/tmp/copy.json"))
		mustSucceed(t, s.Delete(t.Context(), key))
		wantPlainReads(t, s, key+".copy", data, "")
		wantPlainReads(t, s, "t/j/tmp/copy.json", data, "")
		for e, err := range s.ListBlobs(t.Context(), key+".copy") {
			mustSucceed(t, err)
			if size >= 10_000 && e.Size > int64(size)/4 || e.Size > int64(size) {
				t.Errorf("%d bytes that shrink: got %d stored, want a quarter at most", size, e.Size)
			}
		}
	}
}

// wantPlainReads fails the test unless all ways of reading a blob yield its bytes.
func wantPlainReads(t *testing.T, s *blob.Store, key string, want []byte, contentType string) {
	t.Helper()
	ctx := t.Context()
	attrs, err := s.ReadAttributes(ctx, key)
	mustSucceed(t, err)
	if attrs.Size != int64(len(want)) || contentType != "" && attrs.ContentType != contentType {
		t.Errorf("attributes: got %d bytes of %s, want %d of %s", attrs.Size, attrs.ContentType, len(want), contentType)
	}
	got, err := s.ReadBytes(ctx, key, int64(len(want)))
	mustSucceed(t, err)
	wantBytes(t, "ReadBytes", got, want)
	if _, err := s.ReadBytes(ctx, key, int64(len(want))-1); len(want) > 0 && !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("ReadBytes at a limit of one byte less: got %v, want ErrTooLarge", err)
	}
	for range 8 {
		offset := rand.IntN(len(want) + 2)
		length := rand.IntN(len(want)/2 + 2)
		r, err := s.OpenRange(ctx, key, int64(offset), int64(length))
		mustSucceed(t, err)
		got, err := io.ReadAll(r)
		mustSucceed(t, errors.Join(err, r.Close()))
		part := want[min(offset, len(want)):]
		wantBytes(t, fmt.Sprintf("OpenRange(%d, %d)", offset, length), got, part[:min(length, len(part))])
	}
	r, err := s.Get(ctx, key)
	mustSucceed(t, err)
	got, err = io.ReadAll(r)
	mustSucceed(t, errors.Join(err, r.Close()))
	wantBytes(t, "Get", got, want)
	f, err := s.OpenFile(ctx, key)
	mustSucceed(t, err)
	got, err = io.ReadAll(f)
	mustSucceed(t, errors.Join(err, f.Close()))
	wantBytes(t, "OpenFile", got, want)
	wantSeekableRead(t, s, key, want)
}

// wantSeekableRead fails the test unless OpenBlob reads the blob from any place on, and has it as zstd if it says so.
func wantSeekableRead(t *testing.T, s *blob.Store, key string, want []byte) {
	t.Helper()
	r, err := s.OpenBlob(t.Context(), key)
	mustSucceed(t, err)
	defer r.Close()
	if size, err := r.Seek(0, io.SeekEnd); err != nil || size != int64(len(want)) || r.Size() != size {
		t.Errorf("Seek to the end: got %d and %v, size %d, want %d", size, err, r.Size(), len(want))
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("Read at the end: got %d bytes and %v, want none and io.EOF", n, err)
	}
	for range 4 {
		at := rand.IntN(len(want) + 1)
		_, err := r.Seek(int64(at), io.SeekStart)
		mustSucceed(t, err)
		got := make([]byte, min(len(want)-at, 300_000))
		_, err = io.ReadFull(r, got)
		mustSucceed(t, err)
		wantBytes(t, "OpenBlob", got, want[at:at+len(got)])
		if now, err := r.Seek(0, io.SeekCurrent); err != nil || now != int64(at+len(got)) {
			t.Errorf("place after a read: got %d and %v, want %d", now, err, at+len(got))
		}
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek to before the beginning: got no error, want one")
	}
	stored, compressed := r.Compressed()
	if !compressed {
		return
	}
	d, err := zstd.NewReader(stored)
	mustSucceed(t, err)
	defer d.Close()
	got, err := io.ReadAll(d)
	mustSucceed(t, err)
	wantBytes(t, "the blob as zstd", got, want)
}

func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes %.40q, want %d bytes %.40q", what, len(got), got, len(want), want)
	}
}

// readStored returns what is stored of a blob.
func readStored(t *testing.T, s *blob.Store, key string) []byte {
	t.Helper()
	r, err := s.Driver().OpenRange(t.Context(), key, 0, -1)
	mustSucceed(t, err)
	stored, err := io.ReadAll(r)
	mustSucceed(t, errors.Join(err, r.Close()))
	return stored
}

// putStored stores bytes past what the store does with them.
func putStored(t *testing.T, s *blob.Store, key string, stored []byte) {
	t.Helper()
	up, err := s.Driver().BeginUpload(t.Context(), key, blob.PutOptions{})
	mustSucceed(t, err)
	_, err = up.Write(stored)
	mustSucceed(t, errors.Join(err, up.Commit()))
}

// testLookalikes stores what looks like compressed blobs and is none, as an uploaded document or an attachment may.
func testLookalikes(t *testing.T, s *blob.Store) {
	mustSucceed(t, s.PutAll(t.Context(), []blob.Object{{Key: "a/whole", Data: compressible(300_000), Compress: true}}))
	whole := readStored(t, s, "a/whole")
	foreign := whole[:len(whole)-minTrailer-16] // two frames, whose table has no mark ahead of it
	foreign = append(bytes.Clone(foreign), whole[len(whole)-33:]...)
	for name, data := range map[string][]byte{
		"a compressed blob": whole, "its end": whole[len(whole)-60:], "four bytes of it": whole[len(whole)-4:],
		"the format without a mark": foreign, "short": []byte(strings.Repeat("x", 40)),
	} {
		for i, opts := range []blob.PutOptions{{}, {Compress: true}} {
			key := fmt.Sprintf("a/%d.bin", i)
			_, err := s.Put(t.Context(), key, bytes.NewReader(data), opts)
			mustSucceed(t, err)
			t.Log(name)
			wantPlainReads(t, s, key, data, "")
		}
	}
	putStored(t, s, "a/before", foreign) // by a version that compressed nothing
	wantPlainReads(t, s, "a/before", foreign, "")
	putStored(t, s, "a/before.txt", []byte("text"))
	wantPlainReads(t, s, "a/before.txt", []byte("text"), "")
}

// minTrailer is the mark and a table without entries.
const minTrailer = 8 + 16 + 1 + 8 + 8 + 9

func testDamagedCompression(t *testing.T, s *blob.Store) {
	mustSucceed(t, s.PutAll(t.Context(), []blob.Object{{Key: "a/whole", Data: compressible(600_000), Compress: true}}))
	whole := readStored(t, s, "a/whole")
	for i := range 12 {
		bad := bytes.Clone(whole)
		switch {
		case i == 0:
			bad = bad[100:]
		case i == 1:
			bad = append(bytes.Clone(bad[:100]), bad[200:]...)
		case i < 6: // in the table
			bad[len(bad)-10-rand.IntN(24)] ^= 0x10
		default:
			bad[rand.IntN(len(bad)-100)] ^= 0x10
		}
		putStored(t, s, "a/bad", bad)
		_, bytesErr := s.ReadBytes(t.Context(), "a/bad", 1<<20)
		r, getErr := s.Get(t.Context(), "a/bad")
		if getErr == nil {
			_, getErr = io.ReadAll(r)
			mustSucceed(t, r.Close())
		}
		for _, err := range []error{bytesErr, getErr} {
			if err == nil || errors.Is(err, blob.ErrNotFound) || fault.KindOf(err) != fault.Transient {
				t.Errorf("damage %d: got %v, want a transient error, which is counted", i, err)
			}
		}
	}
	f, err := s.OpenFile(t.Context(), "a/whole")
	mustSucceed(t, err)
	if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrPermission) && !strings.Contains(fmt.Sprint(err), "bad file descriptor") {
		t.Errorf("Write to the file: got %v, want a refusal", err)
	}
	mustSucceed(t, f.Close())
}
