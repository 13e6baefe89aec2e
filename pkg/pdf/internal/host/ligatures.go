package host

import (
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/syntax"
)

// nameLigatures puts the letters of ligatures in place of their codes, by what the document says of its fonts: letters
// by the font's name and the code. They share the glyph's box.
func nameLigatures(text *pdfium.Text, byFont map[string]map[rune]string) {
	out := make([]pdfium.Char, 0, len(text.Chars)+len(text.Chars)/16)
	for i := range text.Chars {
		c := text.Chars[i]
		letters := ""
		if isControlCode(&c) && c.Run >= 0 && text.Runs[c.Run].Font >= 0 {
			letters = byFont[syntax.WithoutSubsetTag(text.Fonts[text.Runs[c.Run].Font].Name)][c.Rune]
		}
		if letters == "" {
			out = append(out, c)
			continue
		}
		for _, c.Rune = range letters {
			out = append(out, c)
		}
	}
	text.Chars = out
}

// isControlCode reports whether PDFium gives the code of a glyph, for it does not know what that stands for. What it puts
// in place of a hyphen at the end of a line, which most pages have, is none.
func isControlCode(c *pdfium.Char) bool {
	const hyphenMark = 0x02
	return !c.Generated && c.Rune < ' ' && c.Rune != hyphenMark
}
