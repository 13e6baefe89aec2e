package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/pdftest"
)

// labelledDocument returns a document of as many pages, 3 and so on, whose page labels are at the first object behind
// them.
func labelledDocument(pages int, objects ...string) []byte {
	all := []string{fmt.Sprintf("<</Type/Catalog/Pages 2 0 R/PageLabels %d 0 R>>", pages+3), ""}
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", i+3)
		all = append(all, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>")
	}
	all[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, pages)
	return pdftest.PDFFromObjects(append(all, objects...)...)
}

func TestLabelsWithoutEndAreNone(t *testing.T) {
	t.Parallel()
	doubling := func(levels int) []string { // each node has the next one twice
		var out []string
		for i := range levels {
			out = append(out, fmt.Sprintf("<</Kids[%d 0 R %[1]d 0 R]>>", i+6))
		}
		return append(out, "<</Nums[9<</S/r>>]>>")
	}
	chain := func(levels int) []string {
		var out []string
		for i := range levels {
			out = append(out, fmt.Sprintf("<</Kids[%d 0 R]>>", i+6))
		}
		return append(out, "<</Nums[0<</S/r>>]>>")
	}
	r := newFixture(t, 512<<20)
	for _, tt := range []struct {
		name    string
		objects []string
		want    []string
	}{
		{"plain", []string{"<</Nums[0<</S/r>>]>>"}, []string{"i", "ii"}},
		{"in kids", []string{"<</Kids[6 0 R 7 0 R]>>", "<</Limits[0 0]/Nums[0<</S/A>>]>>",
			"<</Limits[1 1]/Nums[1<</S/D/St 5>>]>>"}, []string{"A", "5"}},
		{"a kid that leads back", []string{"<</Kids[6 0 R]>>", "<</Kids[5 0 R 6 0 R]>>"}, nil},
		{"many levels", chain(20), []string{"i", "ii"}},
		{"100,000 levels", chain(100_000), nil},
		{"the same kid twice on 40 levels", doubling(40), nil},
		{"100,000 ranges", []string{"<</Nums[" + strings.Repeat("0<</S/r>>", 100_000) + "]>>"}, nil},
	} {
		f := pdftest.File{Name: "labels.pdf", PDF: labelledDocument(2, tt.objects...)}.OpenFile(t)
		reply := r.sendRequest(wire.Request{Op: wire.Open}, nil, f)
		if reply.PageCount != 2 || reply.Metadata == nil || !slices.Equal(reply.Metadata.PageLabels, tt.want) {
			t.Errorf("%s: got %d pages, metadata %+v, want 2 and labels %q", tt.name, reply.PageCount, reply.Metadata, tt.want)
		}
		if reply := r.sendRequest(wire.Request{Op: wire.Page, Page: 1, NoRaster: true}, nil); reply.Code != "" {
			t.Errorf("%s: page 1: %s %s", tt.name, reply.Code, reply.Message)
		}
	}
}
