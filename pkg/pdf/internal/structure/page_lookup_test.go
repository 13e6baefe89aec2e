package structure

import (
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// treeOf returns a document of those objects from 2 on, the first of which is the root of the page tree.
func treeOf(objects ...string) string { return treeOfCatalogue("", objects...) }

// treeOfCatalogue is treeOf with more entries in the catalogue.
func treeOfCatalogue(entries string, objects ...string) string {
	return string(pdftest.PDFFromObjects(append([]string{"<</Type/Catalog/Pages 2 0 R" + entries + ">>"}, objects...)...))
}

func TestUserUnits(t *testing.T) {
	t.Parallel()
	page := func(unit string) string { return "<</Type/Page/UserUnit " + unit + ">>" }
	for _, tt := range []struct {
		name, pdf string
		want      []float64
	}{
		{"none", treeOf("<</Kids[3 0 R]/Count 1>>", "<</Type/Page>>"), []float64{1}},
		{"flat", treeOf("<</Kids[3 0 R 4 0 R 3 0 R]/Count 3>>", page("2"), page("0.5")), []float64{2, 0.5, 2}},
		{"nested", treeOf("<</Kids[3 0 R 5 0 R 6 0 R]/Count 5>>", "<</Kids[4 0 R 5 0 R]/Count 2>>", page("2"), page("3"),
			"<</Kids[7 0 R 8 0 R]/Count 2>>", "<</Kids[4 0 R]/Count 1>>", page("4")), []float64{2, 3, 3, 2, 4}},
		{"one page a node", treeOf("<</Kids[3 0 R 4 0 R]/Count 2>>", "<</Kids[5 0 R]/Count 1>>", "<</Kids[6 0 R]/Count 1>>",
			page("2"), page("3")), []float64{2, 3}},
		{"an empty node", treeOf("<</Kids[3 0 R 4 0 R]/Count 1>>", "<</Kids[]/Count 0>>", page("2")), []float64{2}},
		{"by reference", treeOf("<</Kids[3 0 R]/Count 1>>", page("4 0 R"), "2.5"), []float64{2.5}},
		{"not inherited", treeOf("<</Kids[3 0 R]/Count 1/UserUnit 2>>", "<</Type/Page>>"), []float64{1}},
		{"absurd", treeOf("<</Kids[3 0 R 4 0 R 5 0 R 6 0 R]/Count 4>>", page("-3"), page("75001"), page("0"), page("/Two")),
			[]float64{1, 1, 1, 1}},
		{"another count", treeOf("<</Kids[3 0 R]/Count 7>>", page("2")), []float64{1}},
		{"in a circle", treeOf("<</Kids[2 0 R 2 0 R]/Count 2>>"), []float64{1, 1}},
		{"a count too large", treeOf("<</Kids[3 0 R 4 0 R]/Count 1>>", "<</Kids[4 0 R]/Count 9>>", page("2")), []float64{2}},
		{"no object", treeOf("<</Kids[9 0 R]/Count 1>>"), []float64{1}},
	} {
		f, err := OpenStrict(strings.NewReader(tt.pdf), int64(len(tt.pdf)), "")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		pages := f.NewPageLookup(len(tt.want))
		var got []float64
		for i := range tt.want {
			got = append(got, pages.UserUnit(i))
		}
		if !slices.Equal(got, tt.want) || pages.UserUnit(len(tt.want)) != 1 || pages.UserUnit(-1) != 1 {
			t.Errorf("%s: got %v, want %v, and 1 beyond", tt.name, got, tt.want)
		}
	}
	if got := (*PageLookup)(nil).UserUnit(0); got != 1 {
		t.Errorf("of no document: got %v, want 1", got)
	}
}
