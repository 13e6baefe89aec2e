package host

import (
	"testing"

	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestPlainPageIsItsContentAlone(t *testing.T) {
	t.Parallel()
	const mark, text = "/P<</MCID 0>>BDC ", "BT/F 12 Tf 72 700 Td(Plain words)Tj ET EMC"
	pdf := pdftest.PDFFromObjects(
		"<</Type/Catalog/Pages 2 0 R/PageLabels<</Nums[0<</S/r>>]>>/MarkInfo<</Marked true>>/StructTreeRoot 6 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/StructParents 0/Annots["+
			"<</Type/Annot/Subtype/Link/Rect[72 690 200 720]/A<</S/URI/URI(http://a/)>>>>"+
			"<</Type/Annot/Subtype/FreeText/Rect[72 500 300 600]/AP<</N 8 0 R>>>>]>>",
		"<</Length 58>>stream\n"+mark+text+"\nendstream",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		"<</Type/StructTreeRoot/K 7 0 R/ParentTree<</Nums[0[7 0 R]]>>>>",
		"<</S/P/P 6 0 R/Pg 3 0 R/K 0>>",
		"<</Type/XObject/Subtype/Form/BBox[0 0 228 100]/Resources<</Font<</F 5 0 R>>>>/Length 36>>stream\nBT/F 12 Tf 9 9 Td(Noted words)Tj ET  \nendstream",
	)
	f := pdftest.File{Name: "plain.pdf", PDF: pdf}.OpenFile(t)
	r := newFixture(t, 512<<20)
	if reply := r.sendRequest(wire.Request{Op: wire.Open}, nil, f); reply.PageCount != 1 {
		t.Fatalf("got %d pages, want 1", reply.PageCount)
	}
	for _, plain := range []bool{true, false} {
		p := &inkstreamv1.Page{}
		if reply := r.sendRequest(wire.Request{Op: wire.Page, Page: 1, NoRaster: true, Plain: plain}, p); reply.Code != "" {
			t.Fatalf("plain %t: %s %s", plain, reply.Code, reply.Message)
		}
		words := 0
		for _, b := range p.GetBlocks() {
			for _, l := range b.GetLines() {
				words += len(l.GetWords())
			}
		}
		want := 2
		if !plain {
			want = 4
		}
		if words != want || (len(p.GetLinks()) == 0) != plain || (len(p.GetTags()) == 0) != plain ||
			(p.GetLabel() == "") != plain {
			t.Errorf("plain %t: got %d words, want %d, links %v, tags %v, label %q", plain, words, want, p.GetLinks(),
				p.GetTags(), p.GetLabel())
		}
	}
}
