package structure

import (
	"bytes"
	"cmp"
	"crypto/md5" // an identifier, no protection
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zlib"
)

// Update is an incremental update as it is being written. What is to be appended to the file comes out of TakeOutput,
// piece by piece, so that only the places of its objects stay in memory.
type Update struct {
	f    *File
	tree *PageTree
	buf  []byte
	// at is the offset behind buf, counted as the file's cross references count.
	at      int64
	next    int
	written map[int]objectPlace
	packer  *zlib.Writer // nil until the first stream
	active  activeContent
}

type objectPlace struct {
	offset     int64
	generation int
}

// BeginUpdate begins an update.
func (f *File) BeginUpdate(t *PageTree) *Update {
	u := &Update{f: f, tree: t, at: f.in.size - f.base, written: map[int]objectPlace{}, active: findActiveContent(f)}
	u.next = int(max(f.xref.top, min(f.trailer.Lookup("Size").Num, maxNumber)))
	u.appendBytes([]byte("\n")) // the original may end anywhere
	return u
}

func (u *Update) appendBytes(b []byte) {
	u.buf = append(u.buf, b...)
	u.at += int64(len(b))
}

// TakeOutput returns what has been written since the last call. It is the caller's to keep.
func (u *Update) TakeOutput() []byte {
	b := u.buf
	u.buf = nil
	return b
}

// NewObject returns the number of an object to be written.
func (u *Update) NewObject() int {
	u.next++
	return u.next - 1
}

// HasObject reports whether the update has an object of that number.
func (u *Update) HasObject(num int) bool {
	_, ok := u.written[num]
	return ok
}

func (u *Update) beginObject(num, generation int) {
	u.written[num] = objectPlace{u.at, generation}
	u.appendBytes(fmt.Appendf(nil, "%d %d obj\n", num, generation))
}

// PutObject writes an object without what is active in it, and with its strings encrypted if the document is.
func (u *Update) PutObject(num, generation int, v Value) {
	v, _ = u.withoutActive(int64(num), v)
	if s := u.f.security; s != nil {
		v.mapStrings(func(b []byte) []byte { return s.encryptBytes(s.strings, b, num, generation) })
	}
	u.beginObject(num, generation)
	u.appendBytes(v.AppendTo(nil))
	u.appendBytes([]byte("\nendobj\n"))
}

// PutStream writes a stream, deflated if that makes it smaller, and encrypted if the document is.
func (u *Update) PutStream(num int, dict Value, data []byte) error {
	packed, err := u.deflateBytes(data)
	if err != nil {
		return err
	}
	if len(packed) < len(data) {
		dict, data = dict.WithEntry("Filter", Value{Kind: Name, Raw: []byte("FlateDecode")}), packed
	}
	if s := u.f.security; s != nil {
		data = s.encryptBytes(s.streams, data, num, 0)
	}
	u.writeStream(num, dict, data)
	return nil
}

func (u *Update) writeStream(num int, dict Value, data []byte) {
	u.beginObject(num, 0)
	u.appendStream(dict, data)
}

func (u *Update) appendStream(dict Value, data []byte) {
	u.appendBytes(dict.WithEntry("Length", NewInteger(len(data))).AppendTo(nil))
	u.appendBytes([]byte("\nstream\n"))
	u.appendBytes(data)
	u.appendBytes([]byte("\nendstream\nendobj\n"))
}

// NewInteger returns a number.
func NewInteger(n int) Value {
	return Value{Kind: Number, Raw: strconv.AppendInt(nil, int64(n), 10), Num: int64(n)}
}

// deflateBytes packs bytes. The packer serves all streams of the update: to make one takes nearly as long as to pack
// a page of text.
func (u *Update) deflateBytes(b []byte) ([]byte, error) {
	var out bytes.Buffer
	if u.packer == nil {
		w, err := zlib.NewWriterLevel(&out, 6)
		if err != nil {
			return nil, fmt.Errorf("deflate: %w", err)
		}
		u.packer = w
	} else {
		u.packer.Reset(&out)
	}
	_, _ = u.packer.Write(b) // to memory
	_ = u.packer.Close()
	return out.Bytes(), nil
}

// Finish writes the cross references and the trailer.
func (u *Update) Finish() error {
	trailer := Value{Kind: Dict}
	for _, key := range []string{"Root", "Info", "Encrypt"} {
		if v := u.f.trailer.Lookup(key); v.Kind != Null {
			trailer = trailer.WithEntry(key, v)
		}
	}
	if id := u.f.trailer.Lookup("ID"); len(id.List) == 2 {
		sum := md5.Sum(binary.BigEndian.AppendUint64(bytes.Clone(id.List[1].Text), uint64(u.at)))
		trailer = trailer.WithEntry("ID", Value{Kind: Array, List: []Value{id.List[0], {Kind: String, Text: sum[:]}}})
	}
	if !u.f.rebuilt {
		trailer = trailer.WithEntry("Prev", NewInteger(int(u.f.last)))
	}
	rows := u.xrefRows()
	start := u.at
	if u.f.streamed {
		num := u.NewObject()
		rows = append(rows, xrefRow{num: num, xrefEntry: xrefEntry{offset: start, kind: plainEntry}})
		return u.writeXrefStream(num, rows, trailer, start)
	}
	u.appendBytes([]byte("xref\n"))
	for run := range splitConsecutive(rows) {
		u.appendBytes(fmt.Appendf(nil, "%d %d\n", run[0].num, len(run)))
		for _, r := range run {
			letter := byte('n')
			if r.kind != plainEntry {
				letter = 'f'
			}
			u.appendBytes(fmt.Appendf(nil, "%010d %05d %c \n", r.offset, r.generation, letter))
		}
	}
	u.appendBytes([]byte("trailer\n"))
	u.appendBytes(trailer.WithEntry("Size", NewInteger(u.next)).AppendTo(nil))
	u.appendBytes(fmt.Appendf(nil, "\nstartxref\n%d\n%%%%EOF\n", start))
	return nil
}

// xrefRow is an entry of the new cross-reference section.
type xrefRow struct {
	num int
	xrefEntry
}

// xrefRows returns the entries of the new section by number: of what was written, and in a document whose own table
// is lost of all else.
func (u *Update) xrefRows() []xrefRow {
	var rows []xrefRow
	if u.f.rebuilt {
		rows = append(rows, xrefRow{xrefEntry: xrefEntry{generation: 65535, kind: freeEntry}})
		for num, e := range u.f.xref.allEntries() {
			if !u.HasObject(int(num)) && num > 0 {
				rows = append(rows, xrefRow{int(num), e})
			}
		}
	}
	for num, p := range u.written {
		rows = append(rows, xrefRow{num, xrefEntry{offset: p.offset, generation: uint16(p.generation), kind: plainEntry}})
	}
	slices.SortFunc(rows, func(a, b xrefRow) int { return cmp.Compare(a.num, b.num) })
	return rows
}

// splitConsecutive cuts rows where numbers are left out.
func splitConsecutive(rows []xrefRow) func(yield func([]xrefRow) bool) {
	return func(yield func([]xrefRow) bool) {
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n].num == rows[n-1].num+1 {
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// writeXrefStream writes the section as a stream: a document that has one may not go on with a table.
func (u *Update) writeXrefStream(num int, rows []xrefRow, trailer Value, start int64) error {
	var data []byte
	var index []Value
	for run := range splitConsecutive(rows) {
		index = append(index, NewInteger(run[0].num), NewInteger(len(run)))
		for _, r := range run {
			data = append(data, r.kind)
			third := r.generation
			if r.kind == packedEntry {
				third = u.indexInStream(r)
			}
			data = binary.BigEndian.AppendUint32(data, uint32(r.offset))
			data = binary.BigEndian.AppendUint16(data, third)
		}
	}
	packed, err := u.deflateBytes(data)
	if err != nil {
		return err
	}
	dict := trailer.WithEntry("Type", Value{Kind: Name, Raw: []byte("XRef")}).WithEntry("Size", NewInteger(u.next)).
		WithEntry("Index", Value{Kind: Array, List: index}).
		WithEntry("W", Value{Kind: Array, List: []Value{NewInteger(1), NewInteger(4), NewInteger(2)}}).
		WithEntry("Filter", Value{Kind: Name, Raw: []byte("FlateDecode")})
	u.writeStream(num, dict, packed)
	u.appendBytes(fmt.Appendf(nil, "startxref\n%d\n%%%%EOF\n", start))
	return nil
}

// indexInStream returns the place of an object in its object stream.
func (u *Update) indexInStream(r xrefRow) uint16 {
	s, err := u.f.loadObjectStream(r.offset)
	if err != nil {
		return 0
	}
	at, n := s.offsets[int64(r.num)], 0
	for _, other := range s.offsets {
		if other < at {
			n++
		}
	}
	return uint16(min(n, 65535))
}
