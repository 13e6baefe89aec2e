package blob_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, s := range map[string]*blob.Store{
		"folder": open(t, "file://"+dir), "memory": open(t, "mem://"),
		"through another driver": blobtest.NewFaultyStore(open(t, "mem://"), blobtest.DelayAll(0)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			put := func(key, data string) {
				if err := s.PutBytes(t.Context(), key, []byte(data), ""); err != nil {
					t.Fatal(err)
				}
			}
			want := func(key, want string) {
				t.Helper()
				if got, err := s.ReadBytes(t.Context(), key, 100); err != nil || string(got) != want {
					t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
				}
			}
			put("a/one.txt", "1")
			put("b/taken.txt", "old")
			for range 2 { // a repeat is no error
				for _, to := range []string{"b/c/one.txt", "b/taken.txt", "b/tmp/one.txt"} {
					if err := s.CopyBlob(t.Context(), "a/one.txt", to); err != nil {
						t.Fatalf("copy to %s: %v", to, err)
					}
				}
			}
			put("a/one.txt", "2")
			want("b/c/one.txt", "1")
			if err := s.DeletePrefix(t.Context(), "a/"); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"b/c/one.txt", "b/taken.txt", "b/tmp/one.txt"} {
				want(key, "1")
			}
			if err := s.CopyBlob(t.Context(), "a/one.txt", "c/one.txt"); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("copy of a missing blob: %v, want ErrNotFound", err)
			}
			if ok, err := s.BlobExists(t.Context(), "c/one.txt"); ok || err != nil {
				t.Errorf("a missing blob was copied: %t, %v", ok, err)
			}
		})
	}
}

func TestCopyInFolderIsLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	if err := s.PutBytes(t.Context(), "a/one.txt", []byte("1"), ""); err != nil {
		t.Fatal(err)
	}
	if err := s.CopyBlob(t.Context(), "a/one.txt", "b/one.txt"); err != nil {
		t.Fatal(err)
	}
	a, errA := os.Stat(filepath.Join(dir, "a/one.txt"))
	b, errB := os.Stat(filepath.Join(dir, "b/one.txt"))
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		t.Errorf("two files (%v, %v), want one with two names", errA, errB)
	}
}
