package tesseract

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/services/ocr/recognise"
)

// Of each group of English scans in the corpus the first is read, at 300 dpi as the tesseract command reads it. All
// together must not be read worse; make quality holds every file of every group to the same.
func TestGroupsReadNoWorseThanByTheCommand(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"pdftoppm", "tesseract"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (make test installs it)", tool)
		}
	}
	corpus := pdftest.OpenCorpus(t)
	h := englishHandle(t)
	done := map[string]bool{}
	var ours, theirs float64
	for _, group := range []string{"typescript", "letter", "book", "receipt", "report", "table", "clean", "rotated"} {
		for _, f := range corpus.FilesWithTags("ocr-truth", "scanned", "lang-eng", group) {
			if !corpus.HasTruth(f) || f.Pages != 1 || done[f.Path] {
				continue
			}
			done[f.Path] = true
			name := filepath.Join(t.TempDir(), "p")
			runTesseract(t, nil, "pdftoppm", "-r", "300", "-gray", "-singlefile", f.Abs, name)
			var theirText strings.Builder
			runTesseract(t, &theirText, "tesseract", name+".pgm", "-", "--dpi", "300")
			a, b := score.CharErrorRate(corpus.TruthText(f), readFile(t, h, name+".pgm")),
				score.CharErrorRate(corpus.TruthText(f), theirText.String())
			t.Logf("%-12s %-32s CER %.4f, command %.4f", group, f.Path, a, b)
			ours, theirs = ours+a, theirs+b
			break
		}
	}
	const tolerance = 1.02
	if ours > tolerance*theirs {
		t.Errorf("CER %.4f, command %.4f, summed over the groups", ours, theirs)
	}
}

// runTesseract runs a command on one thread.
func runTesseract(t *testing.T, out io.Writer, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	c.Stdout = out
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// readFile returns the text of a raster at 300 dpi.
func readFile(t *testing.T, h *Handle, name string) string {
	t.Helper()
	img := mapFile(t, name)
	got, err := readWith(h, img, 300)
	if err != nil {
		t.Fatal(err)
	}
	return recognise.Sanitize(got.toPage(img, 300), recognise.Size{Width: img.width, Height: img.height}, 300).GetText()
}

// mapFile maps a raster until the test ends.
func mapFile(t *testing.T, name string) greyImage {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, unmap, err := mapRaster(recognise.Image{File: f, DPI: 300})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmap)
	return img
}
