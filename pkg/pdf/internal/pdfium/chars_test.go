package pdfium

import (
	"encoding/binary"
	"math"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// singleCharRecord asks PDFium for what the loop writes of character i, one call at a time.
func singleCharRecord(in *Instance, page uint64, i int) []byte {
	out, s, n := make([]byte, charSize), in.scratch, uint64(i)
	char := in.callFunction(fnTextUnicode, page, n)
	binary.LittleEndian.PutUint32(out, uint32(char))
	flags := uint32(0)
	if blank := uint32(char) == ' ' || uint32(char) == '\r' || uint32(char) == '\n'; blank &&
		in.callInt(fnTextIsGenerated, page, n) == 1 {
		flags = charGenerated
		for j, at := range map[int]int{i - 1: 16, i + 1: 32} {
			if uint32(char) == ' ' && in.callBool(fnTextLooseBox, page, uint64(uint32(j)), s) {
				copy(out[at:at+16], in.memoryView(s, 16))
				flags |= map[int]uint32{16: charBefore, 32: charAfter}[at]
			}
		}
	} else {
		binary.LittleEndian.PutUint32(out[4:], uint32(in.callFunction(fnTextObject, page, n)))
		if i%mappingSampleStep == 0 && in.callInt(fnTextUnicodeError, page, n) == 1 {
			flags |= charUnmapped
		}
		if in.callBool(fnTextCharBox, page, n, s, s+8, s+16, s+24) {
			copy(out[16:], in.memoryView(s, 32))
			flags |= charBoxed
		}
	}
	binary.LittleEndian.PutUint32(out[8:], flags)
	return out
}

func TestLoopTellsWhatCallsTell(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	for _, f := range []pdftest.File{pdftest.BornDigital(1), pdftest.GarbledText(pdftest.PrivateUse),
		pdftest.RotatedPages()} {
		d := openFile(t, in, f)
		p, ok := d.LoadPage(0)
		if !ok {
			t.Fatalf("%s: page 1 does not load", f.Name)
		}
		page := in.callFunction(fnTextLoadPage, p.handle) & math.MaxUint32
		n := in.callInt(fnTextCountChars, page)
		records := make([]byte, n*charSize)
		room := in.allocate(len(records))
		in.readCharBatch(page, room, 0, records)
		seen := uint32(0)
		for i := range n {
			got, want := charRecord(records[i*charSize:][:charSize]), charRecord(singleCharRecord(in, page, i))
			seen |= got.charFlags()
			_, _, around := want.looseNeighbours()
			generated, boxed := want.charFlags()&charGenerated != 0, want.charFlags()&charBoxed != 0
			if got.codePoint() != want.codePoint() || got.charFlags() != want.charFlags() || !generated &&
				got.textObject() != want.textObject() ||
				boxed && got.tightBox() != want.tightBox() || around && string(got[16:]) != string(want[16:]) {
				t.Fatalf("%s, character %d: got % x, want % x", f.Name, i, []byte(got), []byte(want))
			}
		}
		if n < 100 || seen&(charGenerated|charBoxed) != charGenerated|charBoxed {
			t.Errorf("%s: %d characters with flags %b, want more of both", f.Name, n, seen)
		}
		in.freeMemory(room)
		in.callFunction(fnTextClosePage, page)
		p.Close()
		d.Close()
	}
}
