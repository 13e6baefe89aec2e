package pdf

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// imagesOfPage reads the first page with its images.
func imagesOfPage(t *testing.T, file pdftest.File) *keptImages {
	t.Helper()
	k, pages := imagesOf(t, sharedEngine(t), file.WriteFile(t), "", 1)
	if pages != 1 {
		t.Fatalf("%s: got %d pages, want 1", file.Name, pages)
	}
	return k
}

// A photograph that cannot be decoded is kept as it is.
func TestDamagedPhotoIsKept(t *testing.T) {
	t.Parallel()
	file, want := pdftest.DamagedPhoto()
	k := imagesOfPage(t, file)
	if got := k.embedded[sha256.Sum256(want)]; len(k.embedded) != 1 || k.jpegs != 1 || !bytes.Equal(got, want) {
		t.Errorf("got %d images, %d of them JPEGs, %q; want 1, 1, %q", len(k.embedded), k.jpegs, got, want)
	}
}

// The picture that an annotation shows in place of a film is an image of the page.
func TestImagesOfAnnotationsAreKept(t *testing.T) {
	t.Parallel()
	if k := imagesOfPage(t, pdftest.FilmPoster()); len(k.embedded) != 1 {
		t.Errorf("got %d images, want 1", len(k.embedded))
	}
}
