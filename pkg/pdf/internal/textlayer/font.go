package textlayer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"

	"inkstream.dev/pkg/pdf/internal/structure"
)

// Font is the one font of a text layer, in its two faces. Its codes are the characters themselves; those beyond the
// basic plane, and marked ones, get codes where no character is, among the surrogates and then the private ones.
type Font struct {
	numbers [len(faces)]int // of its objects
	used    map[uint16]rune
	high    map[rune]uint16 // codes of characters that have none of their own
	next    int             // the next code for one of them
}

// Marks are invisible characters that say in which direction the characters beside them run. They are written with a
// character, as one glyph.
const (
	marksLeft  = 1 << 24 // added to a character: with a right-to-left mark on its left
	marksRight = 1 << 25 // with a left-to-right mark on its right

	leftToRightMark, rightToLeftMark = 0x200E, 0x200F
)

// NewFont returns a font whose objects the update is to have.
func NewFont(u *structure.Update) *Font {
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	for i := range f.numbers {
		f.numbers[i] = u.NewObject()
	}
	return f
}

const (
	firstSurrogate = 0xD800
	lastPrivate    = 0xF8FF
	replacement    = 0xFFFD
)

// charCode returns the code of a character.
func (f *Font) charCode(r rune) uint16 {
	switch {
	case r <= 0, utf16.IsSurrogate(stripMarks(r)), stripMarks(r) > 0x10FFFF:
		r = replacement
	case r > 0xFFFF:
		c, ok := f.high[r]
		if !ok {
			for f.next <= lastPrivate && f.used[uint16(f.next)] != 0 {
				f.next++
			}
			if f.next > lastPrivate && stripMarks(r) != r {
				return f.charCode(stripMarks(r))
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

func stripMarks(r rune) rune { return r &^ (marksLeft | marksRight) }

// appendMarks returns a character with its marks.
func appendMarks(r rune) []rune {
	out := []rune{stripMarks(r)}
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
	toUnicode, toGlyph := u.NewObject(), u.NewObject()
	if err := u.PutStream(toUnicode, dictValue(), f.unicodeCMap()); err != nil {
		return err
	}
	// Every code is glyph 1: glyph 0 stands for a missing one, which some readers draw, or look for elsewhere.
	if err := u.PutStream(toGlyph, dictValue(), bytes.Repeat([]byte{0, 1}, 1<<16)); err != nil {
		return err
	}
	for i, number := range f.numbers {
		if err := faces[i].writeObject(u, number, toUnicode, toGlyph); err != nil {
			return err
		}
	}
	return nil
}

// writeObject writes what is a face's own as object number.
func (f face) writeObject(u *structure.Update, number, toUnicode, toGlyph int) error {
	const base = "InkstreamGlyphless"
	file, descriptor, descendant := u.NewObject(), u.NewObject(), u.NewObject()
	data := buildGlyphlessFont(f)
	if err := u.PutStream(file, dictValue("Length1", structure.NewInteger(len(data))), data); err != nil {
		return err
	}
	const symbolic = 4
	u.PutObject(descriptor, 0, dictValue(
		"Type", nameValue("FontDescriptor"), "FontName", nameValue(base), "Flags", structure.NewInteger(symbolic),
		"FontBBox", arrayValue(structure.NewInteger(0), structure.NewInteger(-f.descent), structure.NewInteger(unitsPerEm),
			structure.NewInteger(f.ascent)),
		"ItalicAngle", structure.NewInteger(0), "Ascent", structure.NewInteger(f.ascent), "Descent",
		structure.NewInteger(-max(1, f.descent)),
		"CapHeight", structure.NewInteger(f.ascent), "StemV", structure.NewInteger(80), "FontFile2",
		structure.NewReference(file)))
	u.PutObject(descendant, 0, dictValue(
		"Type", nameValue("Font"), "Subtype", nameValue("CIDFontType2"), "BaseFont", nameValue(base),
		"CIDSystemInfo", dictValue("Registry", stringValue("Adobe"), "Ordering", stringValue("Identity"), "Supplement",
			structure.NewInteger(0)),
		"FontDescriptor", structure.NewReference(descriptor), "DW", structure.NewInteger(unitsPerEm),
		"W", arrayValue(structure.NewInteger(' '), arrayValue(structure.NewInteger(blankWidth*unitsPerEm))), "CIDToGIDMap",
		structure.NewReference(toGlyph)))
	u.PutObject(number, 0, dictValue(
		"Type", nameValue("Font"), "Subtype", nameValue("Type0"), "BaseFont", nameValue(base), "Encoding",
		nameValue("Identity-H"),
		"DescendantFonts", arrayValue(structure.NewReference(descendant)), "ToUnicode", structure.NewReference(toUnicode)))
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

// unicodeCMap returns the CMap that says which character each code stands for.
func (f *Font) unicodeCMap() []byte {
	type span struct {
		from, to uint16
		first    rune
	}
	var spans []span
	for _, c := range slices.Sorted(maps.Keys(f.used)) {
		r := f.used[c]
		// A range may not leave the codes that share their first byte.
		if n := len(spans) - 1; n >= 0 && spans[n].to+1 == c && c&0xff != 0 && spans[n].first+rune(c-spans[n].from) == r &&
			r <= 0xFFFF {
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
			for _, unit := range utf16.Encode(appendMarks(s.first)) {
				fmt.Fprintf(&b, "%04X", unit)
			}
			b.WriteString(">\n")
		}
		b.WriteString("endbfrange\n")
	}
	b.WriteString(cmapTail)
	return b.Bytes()
}
