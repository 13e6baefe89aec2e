package tesseract

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestForwardIsTesseracts reads printed lines with every model that is installed, the larger ones by themselves, and
// scans with the English ones, and has Tesseract compute each layer once more: not a bit may differ. It runs before the tests that run beside each
// other, as all handles are concerned. With INKSTREAM_ALL_SCANS in the environment it reads every scan of the corpus,
// which takes minutes.
func TestForwardIsTesseracts(t *testing.T) {
	if !replaceForward() {
		t.Skip("forward.cc is not for this processor or this version of Tesseract")
	}
	page, _ := printedPage(pdftest.ScanOptions{Size: 11, Noise: 6, Skew: 0.3})
	page.height /= 3 // some lines are enough
	page.pix = page.pix[:page.width*page.height]
	languages, err := listLanguages(DefaultDataPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range languages {
		if larger := path.Join(largerFolder, language); hasModel(DefaultDataPath(), larger) {
			languages = append(languages, larger)
		}
	}
	for _, language := range languages {
		checkForward(t, language, func(h *Handle) error { return recogniseAlone(h, page, 150) })
	}
	if _, err := exec.LookPath("pdftoppm"); err != nil {
		t.Skip("pdftoppm is not installed (make test installs it)")
	}
	corpus := pdftest.OpenCorpus(t)
	scans := corpus.FilesWithTags("ocr-truth", "scanned")
	if os.Getenv("INKSTREAM_ALL_SCANS") == "" {
		scans = scans[:2]
	}
	for _, f := range scans {
		dir := t.TempDir()
		runTesseract(t, nil, "pdftoppm", "-r", "300", "-gray", f.Abs, filepath.Join(dir, "p"))
		names, err := filepath.Glob(filepath.Join(dir, "p*.pgm"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no pages: %v", f.Path, err)
		}
		for _, name := range names {
			img := mapFile(t, name)
			checkForward(t, "eng", func(h *Handle) error { return recogniseAlone(h, img, 300) })
		}
	}
}

// checkForward reads something with the models of a language.
func checkForward(t *testing.T, language string, read func(*Handle) error) {
	t.Helper()
	h, err := OpenHandle(DefaultDataPath(), language)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var readError error
	layers, different := compareForward(func() { readError = read(h) })
	if readError != nil {
		t.Fatalf("%s: %v", language, readError)
	}
	t.Logf("%s: %d layers, %d different", language, layers, different)
	if different != 0 || layers == 0 {
		t.Errorf("%s: of %d layers %d differ, want some, and none to differ", language, layers, different)
	}
}

// recogniseAlone reads an image once, as it is.
func recogniseAlone(h *Handle, img greyImage, dpi int) error {
	defer h.ClearImage()
	h.SetImage(img, dpi, wholePage)
	return h.RecogniseImage()
}
