package textlayer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"

	"inkstream.dev/pkg/pdf/internal/structure"
)

// Font is the one font of a text layer, in its two faces. Its codes are the characters themselves; those beyond the basic plane, and marked
// ones, get codes where no character is, among the surrogates and then the private ones.
type Font struct {
	numbers [len(faces)]int // of its objects
	used    map[uint16]rune
	high    map[rune]uint16 // codes of characters that have none of their own
	next    int             // the next code for one of them
}

// Marks are invisible characters that say in which direction the characters beside them run. They are written with a character, as one glyph.
const (
	marksLeft  = 1 << 24 // added to a character: with a right-to-left mark on its left
	marksRight = 1 << 25 // with a left-to-right mark on its right

	leftToRightMark, rightToLeftMark = 0x200E, 0x200F
)

// NewFont returns a font whose objects the update is to have.
func NewFont(u *structure.Update) *Font {
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	for i := range f.numbers {
		f.numbers[i] = u.New()
	}
	return f
}

const (
	firstSurrogate = 0xD800
	lastPrivate    = 0xF8FF
	replacement    = 0xFFFD
)

// code returns the code of a character.
func (f *Font) code(r rune) uint16 {
	switch {
	case r <= 0, utf16.IsSurrogate(unmarked(r)), unmarked(r) > 0x10FFFF:
		r = replacement
	case r > 0xFFFF:
		c, ok := f.high[r]
		if !ok {
			for f.next <= lastPrivate && f.used[uint16(f.next)] != 0 {
				f.next++
			}
			if f.next > lastPrivate && unmarked(r) != r {
				return f.code(unmarked(r))
			}
			if f.next > lastPrivate {
				r = replacement
				break
			}
			c = uint16(f.next)
			f.high[r] = c
		}
		f.used[c] = r
		return c
	}
	c := uint16(r)
	if have, ok := f.used[c]; ok && have != r { // a private character whose code is taken
		c, r = replacement, replacement
	}
	f.used[c] = r
	return c
}

func unmarked(r rune) rune { return r &^ (marksLeft | marksRight) }

// withMarks returns a character with its marks.
func withMarks(r rune) []rune {
	out := []rune{unmarked(r)}
	if r&marksLeft != 0 {
		out = append([]rune{rightToLeftMark}, out...)
	}
	if r&marksRight != 0 {
		out = append(out, leftToRightMark)
	}
	return out
}

// Write writes the font's objects.
func (f *Font) Write(u *structure.Update) error {
	toUnicode, toGlyph := u.New(), u.New()
	if err := u.PutStream(toUnicode, dict(), f.toUnicode()); err != nil {
		return err
	}
	// Every code is glyph 1: glyph 0 stands for a missing one, which some readers draw, or look for elsewhere.
	if err := u.PutStream(toGlyph, dict(), bytes.Repeat([]byte{0, 1}, 1<<16)); err != nil {
		return err
	}
	for i, number := range f.numbers {
		if err := faces[i].write(u, number, toUnicode, toGlyph); err != nil {
			return err
		}
	}
	return nil
}

// write writes what is a face's own as object number.
func (f face) write(u *structure.Update, number, toUnicode, toGlyph int) error {
	const base = "InkstreamGlyphless"
	file, descriptor, descendant := u.New(), u.New(), u.New()
	data := glyphless(f)
	if err := u.PutStream(file, dict("Length1", structure.Integer(len(data))), data); err != nil {
		return err
	}
	const symbolic = 4
	u.Put(descriptor, 0, dict(
		"Type", name("FontDescriptor"), "FontName", name(base), "Flags", structure.Integer(symbolic),
		"FontBBox", array(structure.Integer(0), structure.Integer(-f.descent), structure.Integer(unitsPerEm), structure.Integer(f.ascent)),
		"ItalicAngle", structure.Integer(0), "Ascent", structure.Integer(f.ascent), "Descent", structure.Integer(-max(1, f.descent)),
		"CapHeight", structure.Integer(f.ascent), "StemV", structure.Integer(80), "FontFile2", structure.Reference(file)))
	u.Put(descendant, 0, dict(
		"Type", name("Font"), "Subtype", name("CIDFontType2"), "BaseFont", name(base),
		"CIDSystemInfo", dict("Registry", text("Adobe"), "Ordering", text("Identity"), "Supplement", structure.Integer(0)),
		"FontDescriptor", structure.Reference(descriptor), "DW", structure.Integer(unitsPerEm),
		"W", array(structure.Integer(' '), array(structure.Integer(blank*unitsPerEm))), "CIDToGIDMap", structure.Reference(toGlyph)))
	u.Put(number, 0, dict(
		"Type", name("Font"), "Subtype", name("Type0"), "BaseFont", name(base), "Encoding", name("Identity-H"),
		"DescendantFonts", array(structure.Reference(descendant)), "ToUnicode", structure.Reference(toUnicode)))
	return nil
}

const (
	cmapHead = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
	cmapTail = "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
	// cmapBlock is how many entries a block may have.
	cmapBlock = 100
)

// toUnicode returns the CMap that says which character each code stands for.
func (f *Font) toUnicode() []byte {
	type span struct {
		from, to uint16
		first    rune
	}
	var spans []span
	for _, c := range slices.Sorted(maps.Keys(f.used)) {
		r := f.used[c]
		// A range may not leave the codes that share their first byte.
		if n := len(spans) - 1; n >= 0 && spans[n].to+1 == c && c&0xff != 0 && spans[n].first+rune(c-spans[n].from) == r && r <= 0xFFFF {
			spans[n].to = c
			continue
		}
		spans = append(spans, span{c, c, r})
	}
	var b bytes.Buffer
	b.WriteString(cmapHead)
	for block := range slices.Chunk(spans, cmapBlock) {
		fmt.Fprintf(&b, "%d beginbfrange\n", len(block))
		for _, s := range block {
			fmt.Fprintf(&b, "<%04X> <%04X> <", s.from, s.to)
			for _, unit := range utf16.Encode(withMarks(s.first)) {
				fmt.Fprintf(&b, "%04X", unit)
			}
			b.WriteString(">\n")
		}
		b.WriteString("endbfrange\n")
	}
	b.WriteString(cmapTail)
	return b.Bytes()
}
