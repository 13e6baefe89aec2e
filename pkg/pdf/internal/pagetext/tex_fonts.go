package pagetext

import (
	"strings"
	"unicode"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// TeX's fonts, where they are drawings (Type 3) as dvips made them for decades, have neither names for their glyphs
// nor a table of what they stand for: PDFium gives their codes. Letters have the codes of ASCII; ligatures, quotation
// marks and dashes do not, in either of the encodings of text (OT1: D. E. Knuth, The TeXbook, appendix F; T1: the Cork
// encoding, TUGboat 11(4), 1990). Which one a font has its ligatures tell.
const firstLigatureOT1, firstLigatureT1 = 0x0B, 0x1B

var texLigatures = [...]string{"ff", "fi", "fl", "ffi", "ffl"}

// texSigns are the signs of both encodings that ASCII has otherwise, or not at all.
var texSigns = map[rune]map[rune]string{
	firstLigatureOT1: {
		0x10: "ı", 0x19: "ß", 0x1A: "æ", 0x1B: "œ", 0x1C: "ø", 0x1D: "Æ", 0x1E: "Œ", 0x1F: "Ø",
		'"': "”", '<': "¡", '>': "¿", '\\': "“", '{': "–", '|': "—",
	},
	firstLigatureT1: {0x10: "“", 0x11: "”", 0x12: "„", 0x13: "«", 0x14: "»", 0x15: "–", 0x16: "—", 0x19: "ı"},
}

// texEvidence is what the words around the codes of ligatures say of a font's encoding.
type texEvidence struct{ confirming, against int }

// decodeTeXFonts puts the characters of TeX's encodings of text in place of the codes, in fonts without names that the
// words they stand in show to have one. What one glyph stands for shares its box.
func decodeTeXFonts(text *pdfium.Text) {
	encodings := findTeXEncodings(text)
	if len(encodings) == 0 {
		return
	}
	out := make([]pdfium.Char, 0, len(text.Chars)+len(text.Chars)/16)
	for i := range text.Chars {
		c := text.Chars[i]
		first, ok := encodings[fontOf(text, &c)]
		if !ok {
			out = append(out, c)
			continue
		}
		for _, r := range decodeTeX(c.Rune, first) {
			c.Rune = r
			out = append(out, c)
		}
	}
	text.Chars = out
}

func decodeTeX(r, first rune) string {
	if isLigatureCode(r, first) {
		return texLigatures[r-first]
	}
	if s, ok := texSigns[first][r]; ok {
		return s
	}
	return string(r)
}

func isLigatureCode(r, first rune) bool { return r >= first && r < first+rune(len(texLigatures)) }

// fontOf returns the index of a character's font; -1 for one that PDFium made up, or whose font has a name.
func fontOf(text *pdfium.Text, c *pdfium.Char) int {
	if c.Generated || c.Run < 0 || int(c.Run) >= len(text.Runs) {
		return -1
	}
	font := text.Runs[c.Run].Font
	if font < 0 || font >= len(text.Fonts) || text.Fonts[font].Name != "" && text.Fonts[font].Unnamed == 0 {
		return -1
	}
	return font
}

// findTeXEncodings returns the first code of the ligatures of the fonts that have one of the encodings.
func findTeXEncodings(text *pdfium.Text) map[int]rune {
	evidence := map[rune]map[int]texEvidence{firstLigatureOT1: {}, firstLigatureT1: {}}
	for i := range text.Chars {
		c := &text.Chars[i]
		if c.Rune >= ' ' {
			continue
		}
		font := fontOf(text, c)
		if font < 0 {
			continue
		}
		for first, fonts := range evidence {
			e := fonts[font]
			switch {
			case !isLigatureCode(c.Rune, first):
				if first == firstLigatureOT1 && c.Rune < first {
					e.against++ // a Greek capital is no part of a word: a code of the file's own
				}
			case endsWord(text.Chars, i): // "off" ends so, "sin α" too
			case !isLigatureInWord(text.Chars, i, first):
				e.against++
			case !isWithL(c.Rune, first): // fl is rarer by far than fi: alone it is another letter's code
				e.confirming++
			}
			fonts[font] = e
		}
	}
	out := map[int]rune{}
	for _, first := range []rune{firstLigatureT1, firstLigatureOT1} {
		for font, e := range evidence[first] {
			if e.confirming > 4*e.against {
				out[font] = first
			}
		}
	}
	return out
}

// isLigatureInWord reports whether a code stands in a word as the ligature would: with letters around, and before a
// vowel if it ends with an l.
func isLigatureInWord(chars []pdfium.Char, at int, first rune) bool {
	before, after := 0, 0
	for before < 3 && at > before && isWordPart(&chars[at-before-1], first) {
		before++
	}
	for after < 3 && at+after+1 < len(chars) && isWordPart(&chars[at+after+1], first) {
		after++
	}
	return before+after >= 3 && after > 0 &&
		(!isWithL(chars[at].Rune, first) || strings.ContainsRune("aeiouyäöü", chars[at+1].Rune))
}

// isWithL reports whether a ligature's code is that of one that ends with an l.
func isWithL(code, first rune) bool { return strings.HasSuffix(texLigatures[code-first], "l") }

func isWordPart(c *pdfium.Char, first rune) bool {
	return !c.Generated && (unicode.IsLetter(c.Rune) || isLigatureCode(c.Rune, first))
}

// endsWord reports whether a code has a letter before it and none behind.
func endsWord(chars []pdfium.Char, at int) bool {
	return at > 0 && unicode.IsLetter(chars[at-1].Rune) && (at+1 == len(chars) || !unicode.IsLetter(chars[at+1].Rune))
}
