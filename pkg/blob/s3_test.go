package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/fault"
)

func TestS3(t *testing.T) {
	t.Parallel()
	server := blobtest.NewS3Server(t)
	t.Run("suite", func(t *testing.T) {
		t.Parallel()
		blobtest.Run(t, func(t *testing.T) *blob.Store { return open(t, server.NewBucket(t)) })
	})
	t.Run("suite in a folder of the bucket", func(t *testing.T) {
		t.Parallel()
		blobtest.Run(t, func(t *testing.T) *blob.Store { return open(t, server.NewBucket(t)+"&prefix=ink/stream") })
	})
	t.Run("folders of one bucket are apart", func(t *testing.T) {
		t.Parallel()
		testS3Prefix(t, server)
	})
	t.Run("a bucket that is not there is no missing blob", func(t *testing.T) {
		t.Parallel()
		testS3NoBucket(t, server)
	})
	t.Run("DeletePrefix goes on after the first thousand", func(t *testing.T) {
		t.Parallel()
		testS3DeleteMany(t, server)
	})
	t.Run("uploads that were cut are swept", func(t *testing.T) {
		t.Parallel()
		testS3Sweep(t, server)
	})
	t.Run("a large upload comes through in parts", func(t *testing.T) {
		t.Parallel()
		testS3Parts(t, server)
	})
	t.Run("a large upload that is dropped leaves nothing", func(t *testing.T) {
		t.Parallel()
		testS3AbortLarge(t, server)
	})
}

// wantNames fails the test unless the store has exactly those keys.
func wantNames(t *testing.T, s *blob.Store, want ...string) {
	t.Helper()
	var got []string
	for entry, err := range s.ListBlobs(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.Key)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("keys: got %q, want %q", got, want)
	}
}

func testS3Prefix(t *testing.T, server *blobtest.S3Server) {
	url := server.NewBucket(t)
	a, b, all := open(t, url+"&prefix=a"), open(t, url+"&prefix=ab/"), open(t, url)
	for _, s := range []*blob.Store{a, b} {
		if err := s.PutBytes(t.Context(), "t/j/k", []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	wantNames(t, a, "t/j/k")
	wantNames(t, all, "a/t/j/k", "ab/t/j/k")
	if err := a.DeletePrefix(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	wantNames(t, a)
	wantNames(t, b, "t/j/k")
}

func testS3NoBucket(t *testing.T, server *blobtest.S3Server) {
	s := open(t, server.BucketURL("never-made"))
	_, statErr := s.ReadAttributes(t.Context(), "t/k")
	_, getErr := s.Get(t.Context(), "t/k")
	_, fileErr := s.OpenFile(t.Context(), "t/k")
	_, existsErr := s.BlobExists(t.Context(), "t/k")
	for name, err := range map[string]error{
		"Stat": statErr, "Get": getErr, "File": fileErr, "Exists": existsErr,
		"PutBytes": s.PutBytes(t.Context(), "t/k", nil, ""),
		"Delete":   s.Delete(t.Context(), "t/k"), "DeletePrefix": s.DeletePrefix(t.Context(), "t"),
	} {
		if errors.Is(err, blob.ErrNotFound) || fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: got %v, want a Busy fault UNAVAILABLE that is no ErrNotFound", name, err)
		}
	}
}

func testS3DeleteMany(t *testing.T, server *blobtest.S3Server) {
	s := open(t, server.NewBucket(t))
	objects := []blob.Object{{Key: "t/other"}}
	for i := range 1030 {
		objects = append(objects, blob.Object{Key: fmt.Sprintf("t/j/%d", i)})
	}
	if err := s.PutAll(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	if err := s.DeletePrefix(t.Context(), "t/j"); err != nil {
		t.Fatal(err)
	}
	wantNames(t, s, "t/other")
}

func testS3Sweep(t *testing.T, server *blobtest.S3Server) {
	url := server.NewBucket(t)
	s := open(t, url+"&prefix=mine")
	bucket := strings.TrimPrefix(url[:strings.IndexByte(url, '?')], "s3://")
	for _, key := range []string{"mine/t/j/source.pdf", "others/t/j/source.pdf"} {
		up, err := server.NewClient().CreateMultipartUpload(t.Context(),
			&s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = server.NewClient().UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: &bucket, Key: &key, UploadId: up.UploadId, PartNumber: aws.Int32(1),
			Body: bytes.NewReader(make([]byte, 1000)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantNames(t, s)
	wantSwept(t, s, 0, 0) // it may be at work still
	blob.SetAbandonedAgeZero(s)
	wantSwept(t, s, time.Hour, 0)
	wantSwept(t, s, 0, 1)
	wantSwept(t, s, 0, 0)
}

// Bytes come in pieces of any size, parts go out two at a time, with checksums or without.
func testS3Parts(t *testing.T, server *blobtest.S3Server) {
	want := make([]byte, 33<<20+7)
	for i := range want {
		want[i] = byte(i ^ i>>11 ^ i>>19)
	}
	url := server.NewBucket(t)
	for _, checksums := range []string{"on", "off"} {
		s := open(t, url+"&checksums="+checksums)
		for _, size := range []int{8 << 20, 8<<20 + 1, 16 << 20, len(want)} {
			w, err := s.NewWriter(t.Context(), "t/j/source.pdf", blob.PutOptions{ContentType: "application/pdf"})
			if err != nil {
				t.Fatal(err)
			}
			for left := want[:size]; len(left) > 0; left = left[min(len(left), 1_300_000):] {
				if _, err := w.Write(left[:min(len(left), 1_300_000)]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatalf("checksums %s, %d bytes: %v", checksums, size, err)
			}
			got, err := s.ReadBytes(t.Context(), "t/j/source.pdf", int64(len(want)))
			if err != nil || !bytes.Equal(got, want[:size]) {
				t.Errorf("checksums %s, %d bytes: got %d, error %v, want the same", checksums, size, len(got), err)
			}
			a, err := s.ReadAttributes(t.Context(), "t/j/source.pdf")
			if err != nil || a.Size != int64(size) || a.ContentType != "application/pdf" {
				t.Errorf("checksums %s, %d bytes: got %+v, error %v", checksums, size, a, err)
			}
		}
	}
}

func testS3AbortLarge(t *testing.T, server *blobtest.S3Server) {
	url := server.NewBucket(t)
	s := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	source := &cancelAfter{left: 20 << 20, cancel: cancel}
	if _, err := s.Put(ctx, "t/j/source.pdf", source, blob.PutOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: got %v, want context.Canceled", err)
	}
	w, err := s.NewWriter(t.Context(), "t/j/other.pdf", blob.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 20<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort: got %v, want no error", err)
	}
	wantNames(t, s)
	bucket := strings.TrimPrefix(url[:strings.IndexByte(url, '?')], "s3://")
	left, err := server.NewClient().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil || len(left.Uploads) > 0 {
		t.Errorf("uploads that the server still keeps parts of: got %v, %v, want none", left, err)
	}
}

// cancelAfter reads as zeros, and cancels after some.
type cancelAfter struct {
	left   int
	cancel func()
}

func (c *cancelAfter) Read(p []byte) (int, error) {
	if c.left -= len(p); c.left <= 0 {
		c.cancel()
	}
	clear(p)
	return len(p), nil
}

// A server that is away is waited for.
func TestS3Unreachable(t *testing.T) {
	t.Parallel()
	server := blobtest.NewS3Server(t)
	s := open(t, server.NewBucket(t))
	if err := s.PutBytes(t.Context(), "t/k", []byte("contents"), ""); err != nil {
		t.Fatal(err)
	}
	r, err := s.Get(t.Context(), "t/k")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "contents" {
		t.Errorf("read: got %q, %v, want the contents", got, err)
	}
	r.Close()
	server.Stop()
	_, statErr := s.ReadAttributes(t.Context(), "t/k")
	for name, err := range map[string]error{"Stat": statErr, "PutBytes": s.PutBytes(t.Context(), "t/k", nil, "")} {
		if errors.Is(err, blob.ErrNotFound) || fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: got %v, want a Busy fault UNAVAILABLE", name, err)
		}
	}
}

func TestS3RefusesInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"s3://", "s3:///bucket", "s3://bucket/folder", "s3://key:secret@bucket", "s3://bucket?endpoint=localhost:9000",
		"s3://bucket?nope=1",
		"s3://bucket?endpoint=http://k:secret@host", "s3://bucket?endpoint=ftp://host", "s3://bucket?endpoint=",
		"s3://bucket?path_style=maybe",
		"s3://bucket?prefix=../x", "s3://bucket?region=a&region=b", "s3://bucket?checksums=2",
	} {
		s, err := blob.Open(t.Context(), url)
		if err == nil {
			t.Errorf("Open(%q): got %v, want an error", url, s)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): the error %v gives the password away", url, err)
		}
	}
}
