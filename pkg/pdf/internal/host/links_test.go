package host

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/pdftest"
)

// linkedDocument returns a document of two pages, 3 and 4, the first with those annotations. Its catalogue's entries
// and its objects from 5 on follow.
func linkedDocument(annotations, catalogue string, objects ...string) []byte {
	const page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
	return pdftest.PDFFromObjects(append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalogue + ">>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>",
		page + "/Annots[" + annotations + "]>>", page + ">>",
	}, objects...)...)
}

// linksBothWays returns the links of the first page as they are read of the structure, if that is sure of them, and
// as PDFium reads them.
func linksBothWays(r *fixture, pdf []byte) (got, want []pdfium.Link) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "links.pdf")
	if err := os.WriteFile(path, pdf, 0o600); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if reply := r.sendRequest(wire.Request{Op: wire.Open}, nil, f); reply.PageCount != 2 {
		r.t.Fatalf("got %d pages, want 2", reply.PageCount)
	}
	for _, out := range []*[]pdfium.Link{&got, &want} {
		p, ok := r.host.doc.LoadPage(0)
		if !ok {
			r.t.Fatal("the page does not load")
		}
		*out = slices.Clone(p.ReadLinks())
		p.Close()
		r.host.doc.SetLinkReader(nil)
	}
	return got, want
}

func TestLinksAreThoseOfPDFium(t *testing.T) {
	t.Parallel()
	goTo := func(entry string) string { return "<</Type/Annot/Subtype/Link/Rect[10 20.5 -3 .25]" + entry + ">> " }
	const tree, leaf = "/Names<</Dests 5 0 R>>", "<</Names[(a)[3 0 R/Fit](b)[4 0 R/Fit](c)<</D[4 0 R/Fit]>>]>>"
	named := goTo("/Dest(b)")
	r := newFixture(t, 512<<20)
	for _, tt := range []struct {
		name string
		pdf  []byte
		page int // where the last link leads
	}{
		{"array", linkedDocument(goTo("/Dest[4 0 R/Fit]"), ""), 2},
		{"actions", linkedDocument(goTo("/A<</S/URI/URI(http://a/)>>")+goTo("/A<</S/GoTo/D[4 0 R/Fit]>>"), ""), 2},
		{"name in the tree", linkedDocument(named+goTo("/A<</S/GoTo/D(c)>>"), tree, leaf), 2},
		{"name below", linkedDocument(named, tree, "<</Kids[6 0 R 7 0 R]>>",
			"<</Limits[(a)(aa)]/Names[(a)[3 0 R](aa)[3 0 R]]>>",
			"<</Limits[(b)(c)]/Names[(b)[4 0 R](c)[3 0 R]]>>"), 2},
		{"name in the old dictionary", linkedDocument(named, "/Dests<</b[4 0 R/Fit]>>"), 2},
		{"name in both", linkedDocument(named, tree+"/Dests<</b[3 0 R]>>", leaf), 2},
		{"names out of order", linkedDocument(named, tree, "<</Names[(c)[3 0 R](b)[4 0 R]]>>"), 0},
		{"name twice", linkedDocument(named, tree, "<</Names[(b)[4 0 R](b)[3 0 R]]>>"), 2},
		{"limits the wrong way round", linkedDocument(named, tree, "<</Kids[6 0 R]>>",
			"<</Limits[(c)(a)]/Names[(b)[4 0 R]]>>"), 2},
		{"missing name", linkedDocument(goTo("/Dest(bb)"), tree, leaf), 0},
		{"tree in a circle", linkedDocument(named, tree, "<</Kids[5 0 R]>>"), 0},
		{"name in another encoding", linkedDocument(goTo("/Dest<feff0062>"), tree, leaf), 2},
		{"page out of range", linkedDocument(goTo("/Dest[9 0 R/Fit]"), ""), 0},
		{"object that is no page", linkedDocument(goTo("/Dest[2 0 R/Fit]"), ""), 0},
		{"address of a base", linkedDocument(goTo("/A<</S/URI/URI(a.html)>>"), "/URI<</Base(http://b/)>>"), 0},
		{"note among the links", linkedDocument("<</Subtype/Text/Rect[1 2 3 4]>>"+named, tree, leaf), 2},
	} {
		got, want := linksBothWays(r, tt.pdf)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v as PDFium", tt.name, got, want)
		}
		page := 0
		if len(got) > 0 {
			page = got[len(got)-1].Page
		}
		if page != tt.page {
			t.Errorf("%s: got page %d, want %d", tt.name, page, tt.page)
		}
	}
	for _, dest := range []string{"(b)", "(bb)", "[4 0 R/Fit]", "[1/Fit]"} {
		for _, action := range []string{"/S/GoToR/F(b.pdf)", "/S/GoToE/T<</R/C/N(b.pdf)>>"} {
			if got, want := linksBothWays(r, linkedDocument(goTo("/A<<"+action+"/D"+dest+">>"), tree, leaf)); len(got)+
				len(want) > 0 {
				t.Errorf("%s %s: got %v, %v as PDFium, want no link, for it leads to another file", action, dest, got, want)
			}
		}
	}
}

// TestLinksHaveTheEdgesOfPDFium reads many spellings of numbers both ways.
func TestLinksHaveTheEdgesOfPDFium(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	number := func() string {
		s := fmt.Sprintf("%.*f", rng.IntN(6), (rng.Float64()-.2)*[]float64{1, 100, 10_000}[rng.IntN(3)])
		if strings.Trim(s, "-0.") == "" {
			return "0" // nothing below nothing is PDFium's affair
		}
		return strings.Replace(s, "0.", ".", rng.IntN(2))
	}
	var annotations strings.Builder
	const count = 900
	for range count {
		fmt.Fprintf(&annotations, "<</Subtype/Link/Rect[%s %s %s %s]/Dest[4 0 R]>> ", number(), number(), number(), number())
	}
	r := newFixture(t, 512<<20)
	got, want := linksBothWays(r, linkedDocument(annotations.String(), ""))
	if _, sure := r.host.structure.NewLinkReader(2).PageLinks(0, count); !sure {
		t.Error("the numbers were left to PDFium")
	}
	if len(got) != count || !slices.Equal(got, want) {
		t.Errorf("got %d links, %d as PDFium, want %d alike", len(got), len(want), count)
	}
}
