package structure

import (
	"math"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

// DrawnFont is a font whose glyphs are drawings of their own (Type 3), as its descriptor tells it. PDFium does not
// look there.
type DrawnFont struct {
	Name          string
	Weight        int
	Italic, Fixed bool
	// Widths are the advance widths of its glyphs in thousandths of an em.
	Widths []float64
}

// HasStyleOf reports whether text looks alike in both fonts: large documents have several of one name, each with other
// glyphs.
func (f DrawnFont) HasStyleOf(o DrawnFont) bool {
	return f.Weight == o.Weight && f.Italic == o.Italic && f.Fixed == o.Fixed &&
		syntax.WithoutSubsetTag(f.Name) == syntax.WithoutSubsetTag(o.Name)
}

// maxPageFonts bounds the fonts of a page, and maxFontGlyphs the glyphs of one: their codes are bytes.
const maxPageFonts, maxFontGlyphs = 200, 256

// DrawnFonts returns the fonts of page index, from 0, whose glyphs are drawings, and which have a descriptor.
func (p *PageLookup) DrawnFonts(index int) []DrawnFont {
	page, end, ok := p.beginReading(index)
	if !ok {
		return nil
	}
	defer end()
	var out []DrawnFont
	for _, font := range p.pageFonts(page) {
		if !font.Lookup("Subtype").IsName("Type3") {
			continue
		}
		if d, err := p.f.ResolveEntry(font, "FontDescriptor"); err == nil && d.Kind == Dict {
			out = append(out, p.readDrawnFont(font, d))
		}
	}
	return out
}

// pageFonts returns the dictionaries of a page's fonts that can be read.
func (p *PageLookup) pageFonts(page Value) []Value {
	list, err := p.f.ResolveEntry(p.inheritedEntry(p.fieldAncestors(page), "Resources"), "Font")
	if err != nil {
		return nil
	}
	var out []Value
	for _, e := range list.Entries[:min(len(list.Entries), maxPageFonts)] {
		if font, err := p.f.Resolve(e.Value); err == nil {
			out = append(out, font)
		}
	}
	return out
}

func (p *PageLookup) readDrawnFont(font, descriptor Value) DrawnFont {
	const fixed, italic = 1 << 0, 1 << 6
	flags := p.f.integerEntry(descriptor, "Flags")
	out := DrawnFont{Name: p.entryOf(descriptor, "FontName").decodedName(), Weight: int(max(0, p.f.integerEntry(descriptor, "FontWeight"))),
		Italic: flags > 0 && flags&italic != 0 || p.entryOf(descriptor, "ItalicAngle").FloatValue() != 0, Fixed: flags > 0 && flags&fixed != 0}
	scale := 1.0
	if m := p.entryOf(font, "FontMatrix").List; len(m) == 6 && m[0].FloatValue() != 0 {
		scale = 1000 * math.Abs(m[0].FloatValue())
	}
	widths := p.entryOf(font, "Widths").List
	for _, w := range widths[:min(len(widths), maxFontGlyphs)] {
		if v, err := p.f.Resolve(w); err == nil && v.FloatValue() != 0 {
			out.Widths = append(out.Widths, scale*v.FloatValue())
		}
	}
	return out
}

// entryOf returns an entry of a dictionary; nothing where it cannot be read.
func (p *PageLookup) entryOf(dict Value, key string) Value {
	v, err := p.f.ResolveEntry(dict, key)
	if err != nil {
		return Value{}
	}
	return v
}
