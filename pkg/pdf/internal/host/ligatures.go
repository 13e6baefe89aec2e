package host

import (
	"strings"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// nameLigatures puts the letters of ligatures in place of their codes, by what the document says of its fonts: letters
// by the font's name and the code. They share the glyph's box.
func nameLigatures(text *pdfium.Text, byFont map[string]map[rune]string) {
	out := make([]pdfium.Char, 0, len(text.Chars)+len(text.Chars)/16)
	for i := range text.Chars {
		c := text.Chars[i]
		letters := ""
		if isControlCode(&c) && c.Run >= 0 && text.Runs[c.Run].Font >= 0 {
			name := text.Fonts[text.Runs[c.Run].Font].Name
			letters = byFont[name[strings.Index(name, "+")+1:]][c.Rune]
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

// isControlCode reports whether PDFium gives the code of a glyph, for it does not know what that stands for.
func isControlCode(c *pdfium.Char) bool { return !c.Generated && c.Rune < ' ' }
