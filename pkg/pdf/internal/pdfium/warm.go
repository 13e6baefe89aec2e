package pdfium

import (
	"bytes"
	"fmt"
)

// warmDocument is a page with a word in a font that nobody has.
func warmDocument() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for _, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
		"<</Length 28>>stream\nBT /F 9 Tf 9 9 Td (fonts)Tj ET\nendstream",
		"<</Type/Font/Subtype/TrueType/BaseFont/Unknown/Encoding/WinAnsiEncoding>>",
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

// warm has PDFium look what fonts the system has, which it does when the first document needs one that it did not bring along.
func (in *Instance) warm() error {
	doc := warmDocument()
	d, err := in.Open(bytes.NewReader(doc), int64(len(doc)), "")
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
