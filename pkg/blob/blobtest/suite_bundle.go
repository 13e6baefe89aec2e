package blobtest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"inkstream.dev/pkg/blob"
)

const bundledRun = "t/j/run-1/"

// storeBundle stores blobs of a run as a bundle, and one that is the same as the run's source.
func storeBundle(t *testing.T, s *blob.Store, texts map[string][]byte) {
	t.Helper()
	putText(t, s, "t/j/source.pdf", "%PDF-")
	objects := []blob.Object{{Key: bundledRun + "artifacts/searchable.pdf", From: "t/j/source.pdf"}}
	for name, data := range texts {
		objects = append(objects, blob.Object{Key: bundledRun + name, Data: data, Compress: true})
	}
	bundle, err := s.Bundle(t.Context(), bundledRun, objects)
	mustSucceed(t, err)
	mustSucceed(t, s.PutAll(t.Context(), []blob.Object{bundle}))
}

func testBundle(t *testing.T, s *blob.Store) {
	ctx := t.Context()
	large := compressible(600_000)
	putText(t, s, bundledRun+"info.json", "{}")
	storeBundle(t, s, map[string][]byte{"plan.bin": []byte("plan"), "artifacts/text.txt": []byte("text"),
		"artifacts/empty.txt": nil, "artifacts/document.json": large})
	wantPlainReads(t, s, bundledRun+"artifacts/document.json", large, "application/json")
	wantPlainReads(t, s, bundledRun+"artifacts/empty.txt", nil, "text/plain; charset=utf-8")
	wantPlainReads(t, s, bundledRun+"artifacts/searchable.pdf", []byte("%PDF-"), "application/pdf")
	wantKeys(t, s, bundledRun+"artifacts/", bundledRun+"artifacts/document.json", bundledRun+"artifacts/empty.txt",
		bundledRun+"artifacts/searchable.pdf", bundledRun+"artifacts/text.txt")
	wantKeys(t, s, bundledRun+"p", bundledRun+"plan.bin")

	// A blob of its own counts, also after the one in the bundle.
	putText(t, s, bundledRun+"artifacts/text.txt", "another")
	wantText(t, s, bundledRun+"artifacts/text.txt", "another")
	all := []string{
		"t/j/run-1/artifacts/document.json", "t/j/run-1/artifacts/empty.txt", "t/j/run-1/artifacts/searchable.pdf",
		"t/j/run-1/artifacts/text.txt", "t/j/run-1/info.json", "t/j/run-1/plan.bin", "t/j/source.pdf",
	}
	wantKeys(t, s, "", all...)

	// A copy of the bundle is one of all that is in it, in a folder of any name.
	putText(t, s, "u/k/source.pdf", "%PDF-2")
	mustSucceed(t, s.CopyBlob(ctx, blob.BundleKey(bundledRun), blob.BundleKey("u/k/run-7/")))
	wantText(t, s, "u/k/run-7/artifacts/text.txt", "text")
	wantText(t, s, "u/k/run-7/artifacts/searchable.pdf", "%PDF-2")
	mustSucceed(t, s.CopyBlob(ctx, bundledRun+"plan.bin", "t/j/run-2/plan.bin"))
	mustSucceed(t, s.PutAll(ctx, []blob.Object{{Key: "t/j/run-2/d.json", From: bundledRun + "artifacts/document.json"}}))
	if err := s.CopyBlob(ctx, bundledRun+"none", "t/j/run-2/none"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("copy of what is not in the bundle: got %v, want ErrNotFound", err)
	}
	mustSucceed(t, s.DeletePrefix(ctx, bundledRun))
	wantText(t, s, "t/j/run-2/plan.bin", "plan")
	wantPlainReads(t, s, "t/j/run-2/d.json", large, "")
	wantKeys(t, s, "t/", "t/j/run-2/d.json", "t/j/run-2/plan.bin", "t/j/source.pdf")
}

// testReplacedBundle reads on from a bundle that another has taken the place of.
func testReplacedBundle(t *testing.T, s *blob.Store) {
	storeBundle(t, s, map[string][]byte{"artifacts/a.txt": []byte("first"), "artifacts/b.txt": []byte("second")})
	r, err := s.OpenBlob(t.Context(), bundledRun+"artifacts/b.txt")
	mustSucceed(t, err)
	defer r.Close()
	storeBundle(t, s, map[string][]byte{"artifacts/a.txt": []byte("a longer text"), "artifacts/b.txt": []byte("another")})
	got, err := io.ReadAll(r)
	mustSucceed(t, err)
	if string(got) != "second" {
		t.Errorf("got %q, want what was there when it was opened", got)
	}
	wantText(t, s, bundledRun+"artifacts/b.txt", "another")
}

func testBundleDeletes(t *testing.T, s *blob.Store) {
	storeBundle(t, s, map[string][]byte{"plan.bin": []byte("plan"), "artifacts/a.txt": []byte("a"), "artifacts/b.txt": []byte("b"),
		"artifacts/tables/1-1.csv": []byte("1")})
	for range 2 {
		mustSucceed(t, s.Delete(t.Context(), bundledRun+"artifacts/a.txt"))
		mustSucceed(t, s.DeletePrefix(t.Context(), bundledRun+"artifacts/tables"))
	}
	wantKeys(t, s, bundledRun, bundledRun+"artifacts/b.txt", bundledRun+"artifacts/searchable.pdf", bundledRun+"plan.bin")
	wantText(t, s, bundledRun+"artifacts/b.txt", "b")
	wantText(t, s, bundledRun+"artifacts/searchable.pdf", "%PDF-")
	if ok, err := s.BlobExists(t.Context(), bundledRun+"artifacts/a.txt"); ok || err != nil {
		t.Errorf("a deleted blob of a bundle: got %v, %v, want none", ok, err)
	}
}

func testBadBundles(t *testing.T, s *blob.Store) {
	objects := []blob.Object{{Key: bundledRun + "a.txt", Data: []byte("a")}}
	whole, err := s.Bundle(t.Context(), bundledRun, objects)
	mustSucceed(t, err)
	for _, bad := range [][]byte{
		nil, []byte("x"), whole.Data[:len(whole.Data)-1],
		bytes.Replace(whole.Data, []byte(`"size":1`), []byte(`"size":9`), 1),
		bytes.Replace(whole.Data, []byte(`"size":1`), []byte(`"at":-12`), 1),
		bytes.Replace(whole.Data, []byte("\x00\x00\x00inkstream"), []byte("\xff\xff\xffinkstream"), 1),
	} {
		if bytes.Equal(bad, whole.Data) {
			t.Fatal("the damaged bundle is whole")
		}
		mustSucceed(t, s.PutBytes(t.Context(), blob.BundleKey(bundledRun), bad, ""))
		if got, err := s.ReadBytes(t.Context(), bundledRun+"a.txt", 10); err == nil || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("bundle %.60q: got %q, %v, want an error that does not say that nothing is there", bad, got, err)
		}
	}
	putText(t, s, "u/j/source.pdf", "%PDF-")
	for _, o := range []blob.Object{{Key: "t/j/run-2/a.txt"}, {Key: "t/j/tmp/run-1/a.txt"}, {Key: blob.BundleKey(bundledRun)},
		{Key: bundledRun + "b.pdf", From: "t/j/none.pdf"}, {Key: bundledRun + "b.pdf", From: "u/j/source.pdf"}} {
		if _, err := s.Bundle(t.Context(), bundledRun, []blob.Object{o}); err == nil {
			t.Errorf("bundle of %s: got no error, want one", o.Key)
		}
	}
}
