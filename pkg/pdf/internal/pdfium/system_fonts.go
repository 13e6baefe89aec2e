package pdfium

import (
	"fmt"
	"strings"
)

// standardFonts are those that readers have to have (ISO 32000-1, 9.6.2.2), in which documents may be without bringing
// them along.
var standardFonts = []string{
	"Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique",
	"Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic",
	"Courier", "Courier-Bold", "Courier-Oblique", "Courier-BoldOblique", "Symbol", "ZapfDingbats",
}

// fontProbeDocument returns a page with a word in a font that no system has, and one in each of the standard fonts. It
// has no cross-reference table: PDFium looks for the objects itself.
func fontProbeDocument() string {
	var fonts, text strings.Builder
	fmt.Fprint(&fonts, "/F<</Type/Font/Subtype/TrueType/BaseFont/Unknown/Encoding/WinAnsiEncoding>>")
	fmt.Fprint(&text, "BT /F 9 Tf 9 9 Td (fonts)Tj ")
	for i, name := range standardFonts {
		fmt.Fprintf(&fonts, "/F%d<</Type/Font/Subtype/Type1/BaseFont/%s>>", i, name)
		fmt.Fprintf(&text, "/F%d 9 Tf (fonts)Tj ", i)
	}
	fmt.Fprint(&text, "ET")
	return fmt.Sprintf(`%%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 999 99]/Contents 4 0 R/Resources<</Font<<%s>>>>>>endobj
4 0 obj<</Length %d>>stream
%s
endstream endobj
trailer<</Size 5/Root 1 0 R>>
%%%%EOF
`, fonts.String(), text.Len(), text.String())
}

// loadSystemFonts has PDFium look what fonts the system has, which it does when the first document needs one that it
// did not bring along, and load its own standard fonts, which stay. A page without fonts of its own takes a third less
// time by that.
func (in *Instance) loadSystemFonts() error {
	probe := fontProbeDocument()
	d, err := in.OpenDocument(strings.NewReader(probe), int64(len(probe)), "")
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
