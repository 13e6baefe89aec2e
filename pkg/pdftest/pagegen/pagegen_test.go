package pagegen

import (
	"bytes"
	"image"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest/score"
)

// makeDocument makes a document with a browser of the test's own.
func makeDocument(t *testing.T, g *Generator, name string, seed uint64) *Made {
	t.Helper()
	family, err := FindFamily(name)
	if err != nil {
		t.Fatal(err)
	}
	made, err := g.Make(t.Context(), family, seed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// leaders are the dots of a table of contents, which are no text of the truth.
var leaders = regexp.MustCompile(`(\. ?){4,}`)

// plainText returns the text of a document without its formulas, whose letters stand in no certain order.
func plainText(truth *Document) string {
	var out strings.Builder
	for _, b := range truth.Blocks {
		if b.Kind != KindFormula {
			out.WriteString(b.Text + "\n")
		}
	}
	return out.String()
}

func TestTruthStandsInThePDF(t *testing.T) {
	t.Parallel()
	g := &Generator{}
	t.Cleanup(g.Close)
	for _, name := range []string{"newspaper", "paper", "transcript", "tables-half-ruled", "contents"} {
		made := makeDocument(t, g, name, 3)
		dir := t.TempDir()
		if err := made.WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
		truth, err := ReadTruth(filepath.Join(dir, made.Truth.Name+".truth.json"))
		if err != nil || !reflect.DeepEqual(truth, made.Truth) {
			t.Errorf("%s: the truth that was read is not that written (%v)", name, err)
		}
		text, err := exec.CommandContext(t.Context(), "pdftotext", filepath.Join(dir, made.Truth.Name+".pdf"), "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		read := leaders.ReplaceAllString(string(text), " ")
		if got := score.CompareTexts(plainText(truth), read, score.Options{Lenient: true}); got.F1 < 0.985 {
			t.Errorf("%s: the words of the truth and of the PDF agree to %.3f, want 0.985", name, got.F1)
		}
		for _, b := range truth.Blocks {
			for _, p := range b.Parts {
				size := truth.Pages[p.Page-1]
				if p.Box[0] < -1 || p.Box[1] < -1 || p.Box[2] > size.Width+1 || p.Box[3] > size.Height+1 || p.Box[2] <= p.Box[0] {
					t.Errorf("%s: %.30q stands at %v of a page of %v", name, b.Text, p.Box, size)
				}
			}
		}
	}
}

func TestSeedMakesTheDocument(t *testing.T) {
	t.Parallel()
	g := &Generator{}
	t.Cleanup(g.Close)
	first, second, other := makeDocument(t, g, "invoice", 5), makeDocument(t, g, "invoice", 5), makeDocument(t, g, "invoice", 6)
	if !reflect.DeepEqual(first.Truth, second.Truth) {
		t.Error("one seed made two documents")
	}
	if bytes.Equal(first.PDF, other.PDF) {
		t.Error("two seeds made the same document")
	}
	tables := 0
	for _, b := range first.Truth.Blocks {
		if b.Kind == KindTable {
			tables++
			if grid := b.Table.Grid(); grid[0][1] != "Description" || len(grid) != b.Table.Rows {
				t.Errorf("the table's grid is %q", grid)
			}
		}
	}
	if tables != 1 {
		t.Errorf("an invoice has %d tables, want 1", tables)
	}
}

func TestFoldsTestEachFamilyOnce(t *testing.T) {
	t.Parallel()
	tested := map[string]int{}
	for _, fold := range SplitFamilies(Families(), 5) {
		kinOfTest := map[string]bool{}
		for _, f := range fold.Test {
			tested[f.Name]++
			kinOfTest[kinName(f.Name)] = true
		}
		for _, f := range fold.Train {
			if kinOfTest[kinName(f.Name)] {
				t.Errorf("%s is learnt from, and one like it is tested", f.Name)
			}
		}
	}
	for _, f := range Families() {
		if tested[f.Name] != 1 {
			t.Errorf("%s is tested %d times, want once", f.Name, tested[f.Name])
		}
	}
}

func TestScanIsDegradedAsItsRecipeSays(t *testing.T) {
	t.Parallel()
	page := image.NewGray(image.Rect(0, 0, 60, 40))
	for i := range page.Pix {
		page.Pix[i] = 255
	}
	page.Pix[20*60+30] = 0
	data := append([]byte("P5\n60 40\n255\n"), page.Pix...)
	read, rest, err := readPGM(append(data, data...))
	if err != nil || len(rest) != len(data) || !bytes.Equal(read.Pix, page.Pix) {
		t.Fatalf("the image was not read back (%v, %d bytes left)", err, len(rest))
	}
	fax := ScanRecipe{DPI: 100, Noise: 20, Fax: true}.degrade(newChance(1, "fax"), page, page)
	for _, grey := range fax.Pix {
		if grey != 0 && grey != 255 {
			t.Fatalf("a fax has the grey value %d", grey)
		}
	}
	blurred := ScanRecipe{DPI: 100, Blur: 2}.degrade(newChance(1, "blur"), page, page)
	if dot, beside := blurred.Pix[20*60+30], blurred.Pix[20*60+31]; dot < 60 || beside > 245 {
		t.Errorf("a blurred dot is %d and %d next to it, want them alike", dot, beside)
	}
}
