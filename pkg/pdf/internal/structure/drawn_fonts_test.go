package structure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDrawnFonts(t *testing.T) {
	t.Parallel()
	const resources = "/Resources<</Font<</A 5 0 R/B 6 0 R/C 7 0 R>>>>"
	fonts := []string{
		"<</Subtype/Type3/FontMatrix[.0005 0 0 -.0005 0 0]/FontDescriptor 8 0 R/Widths[1000 0 500]>>",
		"<</Subtype/TrueType/FontDescriptor 8 0 R>>",
		"<</Subtype/Type3/Widths[1]>>",
		"<</FontName/AAAAAA+Sample-BoldItalic/FontWeight 700/Flags 65/ItalicAngle -10>>",
	}
	for _, tt := range []struct{ name, tree, page string }{
		{"the page's own", "<</Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R" + resources + ">>"},
		{"taken over", "<</Kids[3 0 R]/Count 1" + resources + ">>", "<</Type/Page/Parent 2 0 R>>"},
	} {
		pages := openText(t, treeOf(slices.Concat([]string{tt.tree, tt.page, "null"}, fonts)...)).NewPageLookup(1)
		got := pages.DrawnFonts(0)
		want := "[{AAAAAA+Sample-BoldItalic 700 true true [500 250]}]"
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", tt.name, got, want)
		}
	}
}

func TestLigatures(t *testing.T) {
	t.Parallel()
	fonts := []string{
		"<</BaseFont/AAAAAA+Sample/Encoding<</Differences[28/f_f_i/f_l 30/lessequal/f_i 65/T_h]>>>>",
		"<</BaseFont/BBBBBB+Sample/Encoding<</Differences[28/f_f_i 29/f_i]>>>>", // another subset, with another ligature
		"<</BaseFont/Other/Encoding/WinAnsiEncoding>>",
	}
	tree := treeOf(slices.Concat([]string{"<</Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Resources<</Font<</A 5 0 R/B 6 0 R/C 7 0 R>>>>>>", "null"}, fonts)...)
	if got, want := fmt.Sprint(openText(t, tree).NewPageLookup(1).Ligatures(0)), "map[Sample:map[28:ffi 29: 31:fi]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// openText opens a document.
func openText(t *testing.T, pdf string) *File {
	t.Helper()
	f, err := Open(strings.NewReader(pdf), int64(len(pdf)), "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}
