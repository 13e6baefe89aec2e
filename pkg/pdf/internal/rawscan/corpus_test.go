package rawscan

import (
	"os"
	"slices"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

func scanFile(tb testing.TB, path string) Report {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	r, err := Scan(tb.Context(), f, info.Size(), Limits{})
	if err != nil {
		tb.Fatalf("Scan(%s): %v", path, err)
	}
	return r
}

// notInflating are files tagged as bombs whose bomb is not in a PDF filter: a character map of nine lines that names
// four billion characters, which the engine's own limits answer, and a zip file attached as it is, which nothing here
// opens (clamd does).
var notInflating = []string{"hostile/own-tounicode-bomb-a.pdf", "hostile/own-zipbomb-attachment-a.pdf"}

// loose are tags that the manifest's maker drew from words in the bytes or from pdfinfo, and that mean less than the
// finding of that name: links inside the document, /AA where the tag says openaction, the letters of /3D within
// compressed data.
var loose = map[string]string{
	"pdf/pdfbox-cweb.pdf":                  "links",
	"pdf/pdfium-get_page_aaction.pdf":      "openaction",
	"pdf/pdfjs-bug1863910.pdf":             "openaction",
	"hostile/pdf101-02-via-javascript.pdf": "openaction",
	"pdf/pdfjs-issue12963.pdf":             "richmedia",
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		"javascript": JavaScript, "launch": LaunchAction, "links": URIAction, "submitform": SubmitFormAction,
		"attachment":  EmbeddedFile,
		"remote-goto": RemoteGoToAction, "importdata": ImportDataAction, "openaction": OpenAction, "xfa": XFA,
		"richmedia": RichMedia,
		"signature": Signature, "form": AcroForm,
	}
	for _, f := range pdftest.OpenCorpus(t).Files {
		t.Run(f.Path, func(t *testing.T) {
			t.Parallel()
			r := scanFile(t, f.Abs)
			want := f.HasTags("bomb") && !slices.Contains(notInflating, f.Path)
			if r.Bomb != want {
				t.Errorf("bomb: got %v (%s), want %v", r.Bomb, r.BombDetail, want)
			}
			for _, tag := range f.Tags {
				if kind, ok := kinds[tag]; ok && loose[f.Path] != tag && r.Counts[kind] == 0 {
					t.Errorf("tag %s: got no %s in %v, want one (encrypted %v, opaque %d of %d object streams)",
						tag, kind, r.Counts, r.Encrypted, r.OpaqueObjectStreams, r.ObjectStreams)
				}
			}
		})
	}
}
