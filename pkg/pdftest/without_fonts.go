package pdftest

import "fmt"

// WithoutFonts returns a page of 300 by 300 points with that content stream. None of its fonts is embedded: F is
// Helvetica; V and H are Japanese, written in columns and in lines, of which a machine without Japanese fonts draws
// nothing.
func WithoutFonts(content string) File {
	const head = `%%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F 5 0 R/V 6 0 R/H 7 0 R>>>>/Contents 4 0 R>>endobj
4 0 obj<</Length %d>>stream
%s
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
6 0 obj<</Type/Font/Subtype/Type0/BaseFont/Mincho-Identity-V/Encoding/Identity-V/DescendantFonts[8 0 R]>>endobj
7 0 obj<</Type/Font/Subtype/Type0/BaseFont/Mincho-Identity-H/Encoding/Identity-H/DescendantFonts[8 0 R]>>endobj
8 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/Mincho/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>/DW 1000/FontDescriptor 9 0 R>>endobj
9 0 obj<</Type/FontDescriptor/FontName/Mincho/Flags 6/FontBBox[-170 -331 1024 903]/Ascent 723/Descent -241/CapHeight 709/ItalicAngle 0/StemV 69>>endobj
trailer<</Root 1 0 R>>
`
	return File{Name: "without-fonts", PDF: fmt.Appendf(nil, head, len(content), content)}
}
