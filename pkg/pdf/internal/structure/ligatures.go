package structure

import (
	"strings"
	"unicode/utf8"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

// Ligatures returns what codes stand for in the fonts of page index, from 0, by the fonts' names without the tag of a
// subset: codes below the blank whose glyphs have the names of ligatures (f_f_i: components of one letter, Adobe Glyph
// List Specification, section 2). PDFium does not know such names. Where fonts of one name do not agree on a code, it
// is left out.
func (p *PageLookup) Ligatures(index int) map[string]map[rune]string {
	page, end, ok := p.beginReading(index)
	if !ok {
		return nil
	}
	defer end()
	out := map[string]map[rune]string{}
	for _, font := range p.pageFonts(page) {
		name := syntax.WithoutSubsetTag(p.entryOf(font, "BaseFont").decodedName())
		for code, letters := range p.readLigatures(font) {
			if out[name] == nil {
				out[name] = map[rune]string{}
			}
			if old, ok := out[name][code]; ok && old != letters {
				letters = ""
			}
			out[name][code] = letters
		}
	}
	return out
}

// readLigatures reads the differences of a font's encoding: numbers, each before the names of the glyphs from that
// code on.
func (p *PageLookup) readLigatures(font Value) map[rune]string {
	const firstPrintable = ' '
	differences := p.entryOf(p.entryOf(font, "Encoding"), "Differences").List
	out := map[rune]string{}
	code := rune(0)
	for _, v := range differences[:min(len(differences), 2*maxFontGlyphs)] {
		if v.Kind != Name {
			code = rune(v.FloatValue())
			continue
		}
		if letters := ligatureOf(v.decodedName()); letters != "" && code >= 0 && code < firstPrintable {
			out[code] = letters
		}
		code++
	}
	return out
}

// ligatureOf returns the letters of a ligature's name; nothing for any other name.
func ligatureOf(name string) string {
	name, _, _ = strings.Cut(name, ".") // a variant
	parts := strings.Split(name, "_")
	if len(parts) < 2 {
		return ""
	}
	for _, part := range parts {
		if utf8.RuneCountInString(part) != 1 {
			return ""
		}
	}
	return strings.Join(parts, "")
}
