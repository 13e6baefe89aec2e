package textlayer

import (
	"encoding/binary"
	"slices"
	"strings"
)

const unitsPerEm = 1000

// face is a size to write in: how far the font's glyph, which is as wide as the em, reaches above and below the base
// line.
type face struct{ ascent, descent int }

var (
	// regularFace makes the font as large as the words were printed, going by their boxes, which are tight. Readers go
	// by that size when they put lines and columns together.
	regularFace = face{ascent: 850}
	// smallFace makes it a fifth of that. Readers that go by sizes and base lines keep words in it apart from any text
	// of an ordinary size, and from each other where there is hardly a gap. 1.9 is the most that some believe of either
	// extent.
	smallFace = face{ascent: 1890, descent: 1890}
)

// faces are those that every text layer has.
var faces = [...]face{regularFace, smallFace}

func (f face) totalHeight() int { return f.ascent + f.descent }

// buildGlyphlessFont returns a TrueType font of an empty glyph and a rectangle. Readers want an embedded font to be a
// sound one even if nothing of it is drawn: without, they take another in its place, with other widths. The rectangle
// is never painted either, but gives characters an extent: PDFium, and so Chrome, leaves out text without one where
// it runs up or down.
func buildGlyphlessFont(f face) []byte {
	be := binary.BigEndian
	u16 := func(v ...int) (b []byte) {
		for _, n := range v {
			b = be.AppendUint16(b, uint16(n))
		}
		return b
	}
	u32 := func(v ...uint32) (b []byte) {
		for _, n := range v {
			b = be.AppendUint32(b, n)
		}
		return b
	}
	const created = 0 // the epoch of such fonts, 1904: the same bytes every time
	tables := map[string][]byte{
		"cmap": slices.Concat(u16(0, 1, 3, 1), u32(12), u16(6, 12, 0, 32, 1, 1)), // one mapping, the blank's, in format 6
		"glyf": slices.Concat(u16(1, 0, -f.descent, unitsPerEm, f.ascent, 3, 0), []byte{1, 1, 1, 1},
			u16(0, 0, unitsPerEm, 0), u16(-f.descent, f.totalHeight(), 0, -f.totalHeight())),
		"head": slices.Concat(u32(0x00010000, 0x00010000, 0, 0x5F0F3CF5), u16(0, unitsPerEm), u32(0, created, 0, created),
			u16(0, -f.descent, unitsPerEm, f.ascent, 0, 8, 2, 0, 0)),
		"hhea": slices.Concat(u32(0x00010000), u16(f.ascent, -max(1, f.descent), 0, unitsPerEm, 0, 0, unitsPerEm, 1, 0, 0, 0,
			0, 0, 0, 0, 2)),
		"hmtx": u16(unitsPerEm, 0, unitsPerEm, 0),
		"loca": u16(0, 0, 34/2), // of a glyph of 34 bytes, in pairs of them
		"maxp": slices.Concat(u32(0x00010000), u16(2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)),
		"name": u16(0, 0, 6),
		"post": u32(0x00030000, 0, 0, 0, 0, 0, 0, 0),
	}
	return assembleTables(tables)
}

// assembleTables puts tables together with their directory and checksums.
func assembleTables(tables map[string][]byte) []byte {
	be := binary.BigEndian
	var tags []string
	for tag := range tables {
		tags = append(tags, tag)
	}
	slices.SortFunc(tags, strings.Compare)
	const powerOfTwo, exponent = 8, 3 // the largest within the number of tables
	n := len(tags)
	out := be.AppendUint32(nil, 0x00010000)
	for _, v := range []int{n, powerOfTwo * 16, exponent, (n - powerOfTwo) * 16} {
		out = be.AppendUint16(out, uint16(v))
	}
	offset := len(out) + 16*n
	var body []byte
	head := 0
	for _, tag := range tags {
		data := tables[tag]
		if tag == "head" {
			head = offset + len(body)
		}
		out = append(out, tag...)
		out = be.AppendUint32(out, tableChecksum(data))
		out = be.AppendUint32(out, uint32(offset+len(body)))
		out = be.AppendUint32(out, uint32(len(data)))
		body = append(body, data...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	out = append(out, body...)
	be.PutUint32(out[head+8:], 0xB1B0AFBA-tableChecksum(out))
	return out
}

func tableChecksum(b []byte) (sum uint32) {
	for len(b)%4 != 0 {
		b = append(slices.Clip(b), 0)
	}
	for i := 0; i < len(b); i += 4 {
		sum += binary.BigEndian.Uint32(b[i:])
	}
	return sum
}
