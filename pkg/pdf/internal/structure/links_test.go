package structure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// linkedDocument returns a document of two pages, 3 and 4, the first with those annotations. Its catalogue's entries
// and its objects from 5 on follow.
func linkedDocument(annotations, catalogue string, objects ...string) string {
	return treeOfCatalogue(catalogue, append([]string{
		"<</Kids[3 0 R 4 0 R]/Count 2>>", "<</Type/Page/Parent 2 0 R/Annots[" + annotations + "]>>",
		"<</Type/Page/Parent 2 0 R>>",
	}, objects...)...)
}

// linkAnnotation returns an annotation that leads where its entry says.
func linkAnnotation(entry string) string { return "<</Subtype/Link/Rect[1 2.5 -3 .25]" + entry + ">> " }

func TestLinksThatAreCertain(t *testing.T) {
	t.Parallel()
	const tree = "/Names<</Dests 5 0 R>>"
	named, leaf := linkAnnotation("/Dest(b)"), "<</Names[(a)[3 0 R/Fit](b)[4 0 R/Fit](c)<</D[4 0 R/Fit]>>]>>"
	limited := func(low, high, rest string) string { return fmt.Sprintf("<</Limits[(%s)(%s)]%s>>", low, high, rest) }
	second := []Link{{1, 2.5, -3, .25, "", 2}}
	for _, tt := range []struct {
		name, pdf string
		want      []Link // nil where it is PDFium's to say
	}{
		{"array", linkedDocument(linkAnnotation("/Dest[4 0 R/Fit]"), ""), second},
		{"action with an array", linkedDocument(linkAnnotation("/A<</Type/Action/S/GoTo/D[4 0 R/XYZ]>>"), ""), second},
		{"action by reference", linkedDocument(linkAnnotation("/A 5 0 R"), "", "<</S/GoTo/D 6 0 R>>", "[4 0 R]"), second},
		{"annotations by reference", linkedDocument("5 0 R", "", linkAnnotation("/Dest[4 0 R]")), second},
		{"name in a leaf", linkedDocument(named, tree, leaf), second},
		{"name of a dictionary", linkedDocument(linkAnnotation("/A<</S/GoTo/D(c)>>"), tree, leaf), second},
		{"name by reference", linkedDocument(named, tree, "<</Names[(b)6 0 R]>>", "<</D 7 0 R>>", "[4 0 R]"), second},
		{"name below", linkedDocument(named, tree, "<</Kids[6 0 R 7 0 R]>>",
			limited("a", "aa", "/Names[(a)[3 0 R](aa)[3 0 R]]"), limited("b", "c", "/Kids[8 0 R]"),
			limited("b", "c", "/Names[(b)[4 0 R](c)[3 0 R]]")), second},
		{"address", linkedDocument(linkAnnotation("/A<</S/URI/URI(http://a/)>>"), ""),
			[]Link{{1, 2.5, -3, .25, "http://a/", 0}}},

		{"name in the old dictionary", linkedDocument(named, "/Dests<</b[4 0 R/Fit]>>"), nil},
		{"destination that is a name", linkedDocument(linkAnnotation("/Dest/b"), tree, leaf), nil},
		{"missing name", linkedDocument(linkAnnotation("/Dest(bb)"), tree, leaf), nil},
		{"no tree", linkedDocument(named, ""), nil},
		{"names out of order", linkedDocument(named, tree, "<</Names[(c)[3 0 R](b)[4 0 R]]>>"), nil},
		{"name twice", linkedDocument(named, tree, "<</Names[(b)[3 0 R](b)[4 0 R]]>>"), nil},
		{"limits the wrong way round", linkedDocument(named, tree, "<</Kids[6 0 R]>>", limited("c", "a", "/Kids[7 0 R]"),
			leaf), nil},
		{"name beyond its limits", linkedDocument(named, tree, "<</Kids[6 0 R]>>", limited("c", "d", "/Names[(b)[4 0 R]]")),
			nil},
		{"tree in a circle", linkedDocument(named, tree, "<</Kids[5 0 R]>>"), nil},
		{"node of no object", linkedDocument(named, tree, "<</Kids[99 0 R]>>"), nil},
		{"name in another encoding", linkedDocument(linkAnnotation("/Dest<feff0062>"), tree, leaf), nil},
		{"page out of range", linkedDocument(linkAnnotation("/Dest[9 0 R/Fit]"), ""), nil},
		{"page by its number", linkedDocument(linkAnnotation("/Dest[1/Fit]"), ""), nil},
		{"object that is no page", linkedDocument(linkAnnotation("/Dest[2 0 R/Fit]"), ""), nil},
		{"page of another file", linkedDocument(linkAnnotation("/A<</S/GoToR/F(b.pdf)/D[4 0 R/Fit]>>"), ""), nil},
		{"name of another file", linkedDocument(linkAnnotation("/A<</S/GoToR/F(b.pdf)/D(b)>>"), tree, leaf), nil},
		{"action of another type", linkedDocument(linkAnnotation("/A<</Type/Annot/S/GoTo/D[4 0 R]>>"), ""), nil},
		{"destination and action", linkedDocument(linkAnnotation("/Dest[4 0 R]/A<</S/GoTo/D[3 0 R]>>"), ""), nil},
		{"address without a scheme", linkedDocument(linkAnnotation("/A<</S/URI/URI(a.html)>>"), ""), nil},
		{"nowhere", linkedDocument(linkAnnotation(""), ""), nil},
		{"odd number", linkedDocument("<</Subtype/Link/Rect[1 2 3-4 5]/Dest[4 0 R]>>", ""), nil},
		{"nothing below nothing", linkedDocument("<</Subtype/Link/Rect[1 2 -0 5]/Dest[4 0 R]>>", ""), nil},
		{"note among the links", linkedDocument(linkAnnotation("/Dest[4 0 R]")+"<</Subtype/Text/Rect[1 2 3 4]>>", ""), nil},
	} {
		got, ok := linksOf(t, tt.pdf).PageLinks(0, strings.Count(tt.pdf, "/Subtype"))
		if ok != (tt.want != nil) || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, %t, want %v", tt.name, got, ok, tt.want)
		}
	}
}

func linksOf(t *testing.T, pdf string) *LinkReader {
	t.Helper()
	f, err := OpenStrict(strings.NewReader(pdf), int64(len(pdf)), "")
	if err != nil {
		t.Fatal(err)
	}
	return f.NewLinkReader(2)
}

func TestLinksOfDoubtfulPages(t *testing.T) {
	t.Parallel()
	annotated := "<</Type/Page/Annots[" + linkAnnotation("/Dest[4 0 R]") + "]>>"
	for _, tt := range []struct {
		name, pdf          string
		index, annotations int
	}{
		{"another number of annotations", linkedDocument(linkAnnotation("/Dest[4 0 R]"), ""), 0, 2},
		{"no such page", linkedDocument(linkAnnotation("/Dest[4 0 R]"), ""), 2, 1},
		{"page before the first", linkedDocument(linkAnnotation("/Dest[4 0 R]"), ""), -1, 1},
		{"page in the tree twice", treeOf("<</Kids[3 0 R 3 0 R]/Count 2>>", annotated), 0, 1},
		{"another count", treeOf("<</Kids[3 0 R 4 0 R 5 0 R]/Count 3>>", annotated, annotated, annotated), 0, 1},
		{"count that is wrong", treeOf("<</Kids[3 0 R 4 0 R]/Count 7>>", "<</Kids[4 0 R]/Count 2>>", annotated), 0, 1},
		{"tree in a circle", treeOf("<</Kids[2 0 R 2 0 R 3 0 R]/Count 2>>", annotated), 0, 1},
		{"node for a page", treeOf("<</Kids[3 0 R 4 0 R]/Count 2>>", "<</Kids[4 0 R]/Count 1>>", annotated), 0, 1},
	} {
		if got, ok := linksOf(t, tt.pdf).PageLinks(tt.index, tt.annotations); ok {
			t.Errorf("%s: got %v, want nothing certain", tt.name, got)
		}
	}
}

// TestLinksAreBounded reads a name tree of 30 levels whose nodes all lead to the next twice: 2^30 ways to the bottom.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	var objects []string
	for i := range 30 {
		objects = append(objects, fmt.Sprintf("<</Limits[(a)(z)]/Kids[%d 0 R %[1]d 0 R]>>", 6+i))
	}
	objects = append(objects, "<</Names[(c)[4 0 R]]>>")
	l := linksOf(t, linkedDocument(linkAnnotation("/Dest(b)"), "/Names<</Dests 5 0 R>>", objects...))
	l.budget = 1 << 20
	if got, ok := l.PageLinks(0, 1); ok {
		t.Errorf("got %v, want nothing certain", got)
	}
	if l.budget > 0 {
		t.Errorf("budget left: %d, want none", l.budget)
	}
}
