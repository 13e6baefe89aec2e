// Package pdftest builds PDFs for tests, in code: born-digital, scanned, mixed, rotated, encrypted, garbled, damaged
// and hostile ones. The same call gives the same bytes every time, and every file carries the text that its pages
// show, so that a test can compare what was read with what was written. No external tool and no file is needed.
//
// It also finds the shared corpus of real PDFs ([OpenCorpus]). How texts are compared is in its subpackage score.
package pdftest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Kind says where the text of a page is.
type Kind string

// The kinds of pages.
const (
	NativePage  Kind = "native"  // as characters that a reader can take as they are
	ScannedPage Kind = "scanned" // in an image only
	MixedPage   Kind = "mixed"   // partly as characters, partly in an image
	GarbledPage Kind = "garbled" // characters that look right, but whose codes mean nothing
	BlankPage   Kind = "blank"   // there is none
)

// Page is what is known of one page of a File.
type Page struct {
	Kind Kind
	// Text is what a person reads on the page, in reading order: lines end with a line feed, blocks are set apart by a
	// blank line.
	Text string
	// ImageText is the part of Text that stands in an image. On a scanned page it is the whole.
	ImageText string
	// Width and Height are in points as displayed, rotation applied.
	Width, Height float64
	// Rotate is the page's /Rotate: degrees clockwise.
	Rotate int
	// UprightTurn is how many degrees clockwise the displayed page has to be turned for its text to stand upright.
	UprightTurn int
	// Marker is a word that stands on this page and on no other of the file; empty where there is none.
	Marker string
}

// File is a test PDF and what is known of it.
type File struct {
	// Name is short and fit for a file name: "born-digital-3.pdf".
	Name string
	// PDF holds the bytes of the file. They belong to the caller.
	PDF []byte
	// Pages says what the pages hold. It is empty where the file has none that a reader could find.
	Pages []Page
	// Password opens the file; empty if none is needed.
	Password string
}

// madeFiles keeps the files that take long to draw, by what they are made of: the tests of a process ask for the same
// ones again and again.
var madeFiles sync.Map

// makeOnce makes the file of a key on the first call, and returns a copy that belongs to the caller.
func makeOnce(key any, draw func() File) File {
	value, _ := madeFiles.LoadOrStore(key, sync.OnceValue(draw))
	f := value.(func() File)()
	f.PDF, f.Pages = slices.Clone(f.PDF), slices.Clone(f.Pages)
	return f
}

// Text returns the text of all pages, with a form feed between pages.
func (f File) Text() string {
	texts := make([]string, len(f.Pages))
	for i, p := range f.Pages {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\f")
}

// WriteFile puts the file into the test's own folder, and returns its path.
func (f File) WriteFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), f.Name)
	if err := os.WriteFile(path, f.PDF, 0o600); err != nil {
		t.Fatalf("write test PDF: %v", err)
	}
	return path
}

// OpenFile returns the file, open for reading and closed when the test ends.
func (f File) OpenFile(t testing.TB) *os.File {
	t.Helper()
	file, err := os.Open(f.WriteFile(t))
	if err != nil {
		t.Fatalf("open test PDF: %v", err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
