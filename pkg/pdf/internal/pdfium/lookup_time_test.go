package pdfium

import (
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// What PDFium has no more time to look for leads nowhere; all else is read.
func TestLookupTimeIsBounded(t *testing.T) {
	t.Parallel()
	pdf := pdftest.PDFFromObjects(
		"<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R/Names<</Dests<</Names[(b)[3 0 R/Fit]]>>>>>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Annots[<</Type/Annot/Subtype/Link/Rect[1 2 3 4]/Dest(b)>>"+
			"<</Type/Annot/Subtype/Link/Rect[1 2 3 4]/A<</S/GoTo/D(b)>>>><</Type/Annot/Subtype/Link/Rect[1 2 3 4]/A<</S/URI/URI(http://a/)>>>>]>>",
		"<</First 5 0 R/Last 6 0 R/Count 2>>",
		"<</Title(One)/Parent 4 0 R/Next 6 0 R/Dest(b)>>",
		"<</Title(Two)/Parent 4 0 R/Prev 5 0 R/A<</S/GoTo/D(b)>>>>",
	)
	in := newInstance(t, 256<<20)
	for _, tt := range []struct {
		name  string
		late  bool
		page  int // where the entries of the outline lead
		links int
	}{
		{"in time", false, 1, 3},
		{"too late", true, 0, 1},
	} {
		d := openFile(t, in, pdftest.File{Name: tt.name, PDF: pdf})
		if tt.late {
			d.lookupTime = maxLookupTime
		}
		outline := d.ReadOutline(10, 10)
		if len(outline) != 2 || outline[0].Page != tt.page || outline[1].Page != tt.page {
			t.Errorf("%s: got outline %+v, want two entries that lead to page %d", tt.name, outline, tt.page)
		}
		p, ok := d.LoadPage(0)
		if !ok {
			t.Fatalf("%s: the page does not load", tt.name)
		}
		if links := p.ReadLinks(); len(links) != tt.links || links[len(links)-1].URI != "http://a/" {
			t.Errorf("%s: got links %+v, want %d", tt.name, links, tt.links)
		}
		if d.lookupTime == 0 {
			t.Errorf("%s: no time was counted", tt.name)
		}
		p.Close()
		d.Close()
	}
}
