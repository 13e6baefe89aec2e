package pdfium

import (
	"encoding/binary"
	"math"
)

// The loop over the characters of a page is in module/chars.c: 1 call for charBatch of them.
const (
	charBatch = 512
	charSize  = 48 // of a character's record: rune, text object, flags, nothing, and the box or the two loose boxes around a blank
)

// The flags of a record.
const (
	charGenerated = 1 << iota
	charUnmapped
	charBoxed // its box stands in the record, as 4 doubles: left, right, bottom, top
	// The loose boxes of the characters before and after a generated blank stand in the record, as 4 floats each.
	charBefore
	charAfter
)

// readCharBatch fills the records of the characters from first on, in records. It uses the room at p in the module's
// memory, of the same size.
func (in *Instance) readCharBatch(page, p uint64, first int, records []byte) {
	in.callFunction(fnReadChars, page, uint64(first), uint64(len(records)/charSize), p)
	copy(records, in.memoryView(p, len(records)))
}

// charRecord is what the loop wrote of a character. What does not apply to it, as the text object of a generated one,
// is left as it was in memory.
type charRecord []byte

func (r charRecord) codePoint() rune    { return rune(binary.LittleEndian.Uint32(r)) } //nolint:gosec // checked by who reads it
func (r charRecord) textObject() uint64 { return uint64(binary.LittleEndian.Uint32(r[4:])) }
func (r charRecord) charFlags() uint32  { return binary.LittleEndian.Uint32(r[8:]) }

// tightBox is the box of a character that is charBoxed.
func (r charRecord) tightBox() Rect {
	at := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r[16+8*i:])) }
	return Rect{Left: at(0), Right: at(1), Bottom: at(2), Top: at(3)}
}

// glyphBox is the box of a character; empty where it has none.
func (r charRecord) glyphBox() Rect {
	if r.charFlags()&charBoxed == 0 {
		return Rect{}
	}
	if box := r.tightBox(); box.IsFinite() {
		return box
	}
	return Rect{}
}

// looseNeighbours are the loose boxes of the characters around a generated blank, if they have any.
func (r charRecord) looseNeighbours() (before, after Rect, ok bool) {
	before, after = parseLooseBox(r[16:]), parseLooseBox(r[32:])
	return before, after, r.charFlags()&charBefore != 0 && r.charFlags()&charAfter != 0 && isUsableRect(before) &&
		isUsableRect(after)
}

// parseLooseBox reads an FS_RECTF: left, top, right, bottom.
func parseLooseBox(b []byte) Rect {
	at := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))) }
	return Rect{Left: at(0), Top: at(1), Right: at(2), Bottom: at(3)}
}

func isUsableRect(r Rect) bool { return r.IsFinite() && !r.IsEmpty() }
