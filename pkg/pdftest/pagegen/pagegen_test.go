package pagegen

import (
	"bytes"
	"fmt"
	"image"
	"math"
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
	for _, name := range []string{"newspaper", "paper", "transcript", "tables-half-ruled", "contents", "data-sheet", "tables-beside",
		"departures", "display-ads", "statement", "condensed"} {
		checkTruth(t, makeDocument(t, g, name, 3))
	}
}

func TestTruthOfLaTeXStandsInThePDF(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath(LuaLaTeX); err != nil {
		t.Skip("LuaLaTeX is not installed (pkg/tools/deps.sh quality installs it)")
	}
	for _, name := range []string{"tex-paper", "tex-tables"} {
		checkTruth(t, makeDocument(t, &Generator{}, name, 3))
	}
}

func TestTruthOfOfficeStandsInThePDF(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath(officeProgram); err != nil {
		t.Skip("LibreOffice is not installed (pkg/tools/deps.sh quality installs it)")
	}
	g := &Generator{}
	t.Cleanup(g.Close)
	for _, name := range []string{"office-report", "office-minutes"} {
		checkTruth(t, makeDocument(t, g, name, 3))
	}
}

func TestOfficeTablesArePartedByPages(t *testing.T) {
	t.Parallel()
	c := newODTComposer(1, "office-report", "eng")
	c.pageHeight = 800
	table := c.beginTable(Ruled, []string{"Name", "Age"}, []int{1, 1}, []bool{false, true})
	table.addRow([]string{"Ann", "40"})
	table.addRow([]string{"Ben", "41"})
	table.endTable()
	found, err := c.placeBlocks("Page  Destination  Name\n   1 [ XYZ   57  785 null      ] \"b1\"\n   1 [ XYZ   57  770 null      ] \"b1-1\"\n"+
		"   2 [ XYZ   57  755 null      ] \"b1-2\"\n   2 [ XYZ   90  755 null      ] \"e1\"\n", 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range found.Blocks {
		if b.Kind == KindTable {
			got = append(got, fmt.Sprint(b.Page(), b.Table.Grid()))
		}
	}
	if want := []string{"1 [[Name Age] [Ann 40]]", "2 [[Name Age] [Ben 41]]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the table's parts are %q, want %q", got, want)
	}
	if _, err := newComposed("nothing was set").placeBlocks("", 1); err == nil {
		t.Error("a block that was not set went unseen")
	}
}

func newComposed(text string) *odtComposer {
	c := newODTComposer(1, "office-report", "eng")
	c.plain(KindParagraph, "Text", text)
	return c
}

// checkTruth checks that the words of the truth are those of the PDF, stand where the truth says, and are read back from
// the files that are written.
func checkTruth(t *testing.T, made *Made) {
	t.Helper()
	dir, name := t.TempDir(), made.Truth.Name
	if err := made.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	truth, err := ReadTruth(filepath.Join(dir, name+".truth.json"))
	if err != nil || !reflect.DeepEqual(truth, made.Truth) {
		t.Errorf("%s: the truth that was read is not that written (%v)", name, err)
	}
	file := filepath.Join(dir, name+".pdf")
	text, err := exec.CommandContext(t.Context(), "pdftotext", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	read := leaders.ReplaceAllString(string(text), " ")
	if got := score.CompareTexts(plainText(truth), read, score.Options{Lenient: true}); got.F1 < 0.98 {
		t.Errorf("%s: the words of the truth and of the PDF agree to %.3f, want 0.98", name, got.F1)
	}
	for _, b := range truth.Blocks {
		for _, p := range b.Parts {
			size := truth.Pages[p.Page-1]
			if p.Box[0] < -1 || p.Box[1] < -1 || p.Box[2] > size.Width+1 || p.Box[3] > size.Height+1 || p.Box[2] <= p.Box[0] {
				t.Errorf("%s: %.30q stands at %v of a page of %v", name, b.Text, p.Box, size)
			}
		}
	}
	boxes, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := score.ReadBoxes(bytes.NewReader(boxes))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range truth.Blocks {
		if first, _, _ := strings.Cut(b.Text, " "); b.Kind == KindParagraph && !standsIn(pages, b.Parts[0], first) {
			t.Errorf("%s: %q of %.30q does not stand in its first line", name, first, b.Text)
		}
	}
}

// standsIn reports whether a word stands in the first line of a part.
func standsIn(pages [][]score.Box, part Part, word string) bool {
	line := part.Box // LibreOffice tells where a block begins and ends alone
	line[2] = math.Inf(1)
	if len(part.Lines) > 0 {
		line = part.Lines[0]
	}
	for _, w := range pages[part.Page-1] {
		x, y := (w.At[0]+w.At[2])/2, (w.At[1]+w.At[3])/2
		if x > line[0] && x < line[2] && y > line[1] && y < line[3] && strings.HasPrefix(word, strings.TrimRight(strings.ReplaceAll(w.Text, "\u00ad", ""), "-")) {
			return true
		}
	}
	return false
}

func TestPlacesOfLaTeXBecomeParts(t *testing.T) {
	t.Parallel()
	c := &latexComposer{header: "Head", first: 7, blocks: []Block{
		{Kind: KindParagraph, Text: "runs on in the next column", Flow: "main"},
		{Kind: KindFootnote, Text: "1 Note", Flow: "note"},
		{Kind: KindTable, Text: "a b", Table: &Table{Ruling: Ruled, Rows: 1, Columns: 2, Cells: []Cell{{Text: "a"}, {Column: 1, Text: "b"}}}},
	}}
	found, err := c.placeBlocks("size 1 500 700\ntext 1 1 0 50 20 90 30\ntext 1 3 0 50 600 150 610\ntext 1 3 0 160 600 200 610\n" +
		"text 1 3 0 50 612 200 622\nrule 1 5 0 240 100 400 100.4\ntext 1 5 1 250 102 260 112\ntext 1 5 2 270 102 280 112\ntext 1 3 0 250 60 400 70\n" +
		"text 1 4 0 50 630 90 640\ntext 1 2 0 240 680 250 690\n")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, b := range found.Blocks {
		kinds = append(kinds, b.Kind)
	}
	if want := []Kind{KindHeader, KindParagraph, KindTable, KindFootnote, KindPageNumber}; !reflect.DeepEqual(kinds, want) {
		t.Fatalf("the blocks are %v, want %v", kinds, want)
	}
	want := []Part{{Page: 1, Box: Rect{50, 600, 200, 622}, Lines: []Rect{{50, 600, 200, 610}, {50, 612, 200, 622}}},
		{Page: 1, Box: Rect{250, 60, 400, 70}, Lines: []Rect{{250, 60, 400, 70}}}}
	if got := found.Blocks[1].Parts; !reflect.DeepEqual(got, want) {
		t.Errorf("the paragraph stands in %v, want %v", got, want)
	}
	if b := found.Blocks[2]; b.Parts[0].Box != (Rect{240, 100, 400, 112}) || b.Table.Cells[1].Box != (Rect{270, 102, 280, 112}) {
		t.Errorf("the table stands at %v, its second cell at %v", b.Parts, b.Table.Cells[1].Box)
	}
	if found.Blocks[4].Text != "7" {
		t.Errorf("the first page has the number %s, want 7", found.Blocks[4].Text)
	}
	if _, err := c.placeBlocks("size 1 500 700\n"); err == nil {
		t.Error("a block that was not set went unseen")
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
