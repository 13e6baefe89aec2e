package tesseract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestWithLargerModels loads the larger models that there are behind the others, and none of Latin letters where those
// stand beside another script.
func TestWithLargerModels(t *testing.T) {
	t.Parallel()
	dir := modelFolder(t, "eng.traineddata", "deu.traineddata", "rus.traineddata", "osd.traineddata")
	if err := os.Mkdir(filepath.Join(dir, largerFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"eng", "rus", "osd"} {
		if err := os.WriteFile(filepath.Join(dir, largerFolder, name+modelExt), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ languages, want string }{
		{"eng", "eng+best/eng"}, {"deu", "deu"}, {"eng+deu", "eng+deu+best/eng"}, {"rus+eng", "rus+eng+best/rus"}, {"osd", "osd"},
	} {
		if got := withLargerModels(dir, tt.languages); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.languages, got, tt.want)
		}
	}
	if got := withLargerModels(modelFolder(t, "eng.traineddata"), "eng"); got != "eng" {
		t.Errorf("without the folder: got %s, want eng", got)
	}
	known, err := listLanguages(dir)
	if got := strings.Join(known, " "); err != nil || got != "deu eng rus" {
		t.Errorf("got the languages %s, %v; want none of the larger models among them", got, err)
	}
}

// TestLargerModelsAreUsed reads what a folder holds that has a model of another language as the larger one, in letters
// that the first model lacks, and a folder whose larger model is none.
func TestLargerModelsAreUsed(t *testing.T) {
	installed := DefaultDataPath()
	if !hasModel(installed, "eng") || !hasModel(installed, "rus") {
		t.Skip("the models of eng and rus are not installed (make quality installs them)")
	}
	page, _ := printedPage(pdftest.ScanOptions{Size: 11})
	folder := func(larger func(path string) error) string {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, largerFolder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(installed, "rus"+modelExt), filepath.Join(dir, "rus"+modelExt)); err != nil {
			t.Fatal(err)
		}
		if err := larger(filepath.Join(dir, largerFolder, "rus"+modelExt)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	read := func(dir string) float64 {
		h, err := OpenHandle(dir, "rus")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		defer h.ClearImage()
		h.SetImage(page, 150, wholePage)
		if err := h.RecogniseImage(); err != nil {
			t.Fatal(err)
		}
		return (&reading{blocks: h.readBlocks()}).meanConfidence()
	}
	used := read(folder(func(path string) error { return os.Symlink(filepath.Join(installed, "eng"+modelExt), path) }))
	unused := read(folder(func(path string) error { return os.WriteFile(path, []byte("no model"), 0o600) }))
	if used < 0.8 || unused > 0.6 {
		t.Errorf("English is read with a confidence of %.2f with a larger model that knows it, and %.2f with none; want ≥ 0.8 and ≤ 0.6", used, unused)
	}
}
