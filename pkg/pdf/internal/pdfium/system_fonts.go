package pdfium

import (
	"fmt"
	"strings"
)

// fontProbeDocument is a page with a word in a font that no system has. It has no cross-reference table: PDFium looks
// for the objects itself.
const fontProbeDocument = `%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 28>>stream
BT /F 9 Tf 9 9 Td (fonts)Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/TrueType/BaseFont/Unknown/Encoding/WinAnsiEncoding>>endobj
trailer<</Size 6/Root 1 0 R>>
%%EOF
`

// loadSystemFonts has PDFium look what fonts the system has, which it does when the first document needs one that it
// did not bring along.
func (in *Instance) loadSystemFonts() error {
	d, err := in.OpenDocument(strings.NewReader(fontProbeDocument), int64(len(fontProbeDocument)), "")
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	defer d.Close()
	if page, ok := d.LoadPage(0); ok {
		defer page.Close()
		page.ReadText(100)
	}
	return nil
}
