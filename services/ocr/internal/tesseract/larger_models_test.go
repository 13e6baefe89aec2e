package tesseract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestLanguagesWithLarger finds the larger models that there are, and none of Latin letters where those stand beside
// another script.
func TestLanguagesWithLarger(t *testing.T) {
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
	for _, tt := range []struct {
		languages string
		want      []string
	}{
		{"eng", []string{"eng"}}, {"deu", nil}, {"deu+eng", []string{"eng"}}, {"rus+eng", []string{"rus"}}, {"osd", nil},
	} {
		if got := languagesWithLarger(dir, tt.languages); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.languages, got, tt.want)
		}
	}
	if got := languagesWithLarger(modelFolder(t, "eng.traineddata"), "eng"); len(got) > 0 {
		t.Errorf("without the folder: got %q, want none", got)
	}
	known, err := listLanguages(dir)
	if got := strings.Join(known, " "); err != nil || got != "deu eng rus" {
		t.Errorf("got the languages %s, %v; want none of the larger models among them", got, err)
	}
}

// TestLargerNetworkReadsWhatIsDoubted reads a page that is hard to read, and one that is not, with a larger model, which
// for this purpose is the installed one once more, with none, with what is no model, and with one of other letters.
func TestLargerNetworkReadsWhatIsDoubted(t *testing.T) {
	installed := DefaultDataPath()
	if !hasModel(installed, "eng") || !hasModel(installed, osdModel) {
		t.Skip("the models of eng and osd are not installed (make deps installs them)")
	}
	if !replaceForward() {
		t.Skip("larger_network.cc is not for this processor or this version of Tesseract")
	}
	sound, _ := printedPage(pdftest.ScanOptions{Size: 18})
	bad, _ := printedPage(pdftest.ScanOptions{Size: 7, Noise: 40})
	english := filepath.Join(installed, "eng"+modelExt)
	for _, tt := range []struct {
		name   string
		larger string // the larger model's file; no file if empty
		page   greyImage
		want   bool
	}{
		{"a page that is hard to read", english, bad, true},
		{"a page that is not", english, sound, false},
		{"no larger model", "", bad, false},
		{"no model", "larger_models_test.go", bad, false},
		{"other letters", filepath.Join(installed, osdModel+modelExt), bad, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := modelFolder(t)
			linkModel(t, english, filepath.Join(dir, "eng"+modelExt))
			if tt.larger != "" {
				if err := os.Mkdir(filepath.Join(dir, largerFolder), 0o700); err != nil {
					t.Fatal(err)
				}
				linkModel(t, tt.larger, filepath.Join(dir, largerFolder, "eng"+modelExt))
			}
			h, err := OpenHandle(dir, "eng")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			before := largerReadings()
			h.SetImage(tt.page, 150, wholePage)
			defer h.ClearImage()
			if err := h.RecogniseImage(); err != nil {
				t.Fatal(err)
			}
			lines := len((&reading{blocks: h.readBlocks()}).placedLines())
			if got := largerReadings() - before; (got > lines/4) != tt.want {
				t.Errorf("parts of %d of %d lines are read by a larger network; want more than a quarter: %v", got, lines, tt.want)
			}
		})
	}
}

// linkModel has a file stand for a model under another name.
func linkModel(t *testing.T, from, to string) {
	t.Helper()
	from, err := filepath.Abs(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}
