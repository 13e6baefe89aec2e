package pdf

import (
	"fmt"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// inheritingFile returns a document of one page with a stamp on it, of which those entries stand in the page itself,
// or above it in the page tree.
func inheritingFile(own, above string) pdftest.File {
	content := "/H1 << /MCID 0 >> BDC BT /F7 12 Tf 60 80 Td (Delivery note) Tj ET EMC q 40 0 0 40 200 60 cm /Im7 Do Q"
	look := "BT /F1 12 Tf 4 6 Td (PAID) Tj ET"
	return pdftest.File{Name: "inheriting.pdf", Pages: make([]pdftest.Page, 1), PDF: pdftest.PDFFromObjects(
		"<< /Type /Catalog /Pages 2 0 R /MarkInfo << /Marked true >> /StructTreeRoot 10 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [3 0 R] /Count 1 %s >>", above),
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Annots [5 0 R] /StructParents 0 %s >>", own),
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Annot /Subtype /Stamp /Rect [100 200 180 220] /F 4 /AP << /N 6 0 R >> >>",
		fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 80 20] /Resources << /Font << /F1 7 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(look), look),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
		"<< /Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 4 >>\nstream\n\x00\xff\xff\x00\nendstream",
		"<< /Type /StructTreeRoot /K 11 0 R /ParentTree << /Nums [0 [11 0 R]] >> >>",
		"<< /Type /StructElem /S /H1 /P 10 0 R /Pg 3 0 R /K 0 >>",
	)}
}

// A page that is drawn again with its stamps keeps what it has from the nodes above it.
func TestStampedPageInherits(t *testing.T) {
	t.Parallel()
	resources := "/Resources << /Font << /F7 8 0 R >> /XObject << /Im7 9 0 R >> >>"
	for _, boxes := range []string{
		"/MediaBox [0 0 420 595]",
		"/MediaBox [0 0 420 595] /Rotate 90",
		"/MediaBox [20 30 420 595] /CropBox [40 50 400 560]",
		"/MediaBox [20 30 420 595] /CropBox [0 0 1000 560] /Rotate 270",
		"/MediaBox [0 0 420 595] /ArtBox [0 0 90 90]",
	} {
		t.Run(boxes, func(t *testing.T) {
			t.Parallel()
			want, _, drawn := drawAndRead(t, inheritingFile(boxes+resources, ""), 72)
			if text := textOf(want.Page); !strings.Contains(text, "PAID") || !strings.Contains(text, "Delivery note") ||
				len(want.Page.GetImages()) != 1 || len(want.Page.GetTags()) != 1 {
				t.Fatalf("got %q, images %v, tags %v; want the note, the stamp, the picture and a tag", text,
					want.Page.GetImages(), want.Page.GetTags())
			}
			for _, where := range [][2]string{{resources, boxes}, {boxes, resources}, {"", boxes + resources}} {
				got, info, picture := drawAndRead(t, inheritingFile(where[0], where[1]), 72)
				if a, b := fmt.Sprint(boxesOf(got.Page)), fmt.Sprint(boxesOf(want.Page)); a != b {
					t.Errorf("boxes: got %s, want %s", a, b)
				}
				if a, b := fmt.Sprint(got.Page.GetFonts()), fmt.Sprint(want.Page.GetFonts()); a != b {
					t.Errorf("fonts: got %s, want %s", a, b)
				}
				if a, b := fmt.Sprint(got.Page.GetTags()), fmt.Sprint(want.Page.GetTags()); a != b {
					t.Errorf("tags: got %s, want %s", a, b)
				}
				if size := info.PageSizes[0]; size.Width != got.Page.GetWidth() || size.Height != got.Page.GetHeight() {
					t.Errorf("size: got %v x %v, want %v", got.Page.GetWidth(), got.Page.GetHeight(), size)
				}
				if a, b := fmt.Sprint(picture), fmt.Sprint(drawn); a != b {
					t.Errorf("drawn: the page looks different")
				}
			}
		})
	}
}
