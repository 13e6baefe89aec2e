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

// Update is an incremental update as it is being written. What is to be appended to the file comes out of Take, piece by piece, so that
// only the places of its objects stay in memory.
type Update struct {
	f    *File
	tree *Tree
	buf  []byte
	// at is the offset behind buf, counted as the file's cross references count.
	at      int64
	next    int
	written map[int]place
	packer  *zlib.Writer // nil until the first stream
}

type place struct {
	offset     int64
	generation int
}

// Update begins an update.
func (f *File) Update(t *Tree) *Update {
	u := &Update{f: f, tree: t, at: f.size - f.base, written: map[int]place{}}
	u.next = int(max(f.xref.top, min(f.trailer.At("Size").Num, maxNumber)))
	u.append([]byte("\n")) // the original may end anywhere
	return u
}

func (u *Update) append(b []byte) {
	u.buf = append(u.buf, b...)
	u.at += int64(len(b))
}

// Take returns what has been written since the last call. It is the caller's to keep.
func (u *Update) Take() []byte {
	b := u.buf
	u.buf = nil
	return b
}

// New returns the number of an object to be written.
func (u *Update) New() int {
	u.next++
	return u.next - 1
}

// Done reports whether the update has an object of that number.
func (u *Update) Done(num int) bool {
	_, ok := u.written[num]
	return ok
}

func (u *Update) begin(num, generation int) {
	u.written[num] = place{u.at, generation}
	u.append(fmt.Appendf(nil, "%d %d obj\n", num, generation))
}

// Put writes an object, with its strings encrypted if the document is.
func (u *Update) Put(num, generation int, v Value) {
	if s := u.f.security; s != nil {
		v.texts(func(b []byte) []byte { return s.encrypt(s.strings, b, num, generation) })
	}
	u.begin(num, generation)
	u.append(v.Append(nil))
	u.append([]byte("\nendobj\n"))
}

// PutStream writes a stream, deflated if that makes it smaller, and encrypted if the document is.
func (u *Update) PutStream(num int, dict Value, data []byte) error {
	packed, err := u.deflate(data)
	if err != nil {
		return err
	}
	if len(packed) < len(data) {
		dict, data = dict.With("Filter", Value{Kind: Name, Raw: []byte("FlateDecode")}), packed
	}
	if s := u.f.security; s != nil {
		data = s.encrypt(s.streams, data, num, 0)
	}
	u.stream(num, dict, data)
	return nil
}

func (u *Update) stream(num int, dict Value, data []byte) {
	u.begin(num, 0)
	u.append(dict.With("Length", Integer(len(data))).Append(nil))
	u.append([]byte("\nstream\n"))
	u.append(data)
	u.append([]byte("\nendstream\nendobj\n"))
}

// Integer returns a number.
func Integer(n int) Value {
	return Value{Kind: Number, Raw: strconv.AppendInt(nil, int64(n), 10), Num: int64(n)}
}

// deflate packs bytes. The packer serves all streams of the update: to make one takes nearly as long as to pack a page of text.
func (u *Update) deflate(b []byte) ([]byte, error) {
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
		if v := u.f.trailer.At(key); v.Kind != Null {
			trailer = trailer.With(key, v)
		}
	}
	if id := u.f.trailer.At("ID"); len(id.List) == 2 {
		sum := md5.Sum(binary.BigEndian.AppendUint64(bytes.Clone(id.List[1].Text), uint64(u.at)))
		trailer = trailer.With("ID", Value{Kind: Array, List: []Value{id.List[0], {Kind: String, Text: sum[:]}}})
	}
	if !u.f.rebuilt {
		trailer = trailer.With("Prev", Integer(int(u.f.last)))
	}
	rows := u.rows()
	start := u.at
	if u.f.streamed {
		num := u.New()
		rows = append(rows, row{num: num, entry: entry{offset: start, kind: plainEntry}})
		return u.streamed(num, rows, trailer, start)
	}
	u.append([]byte("xref\n"))
	for run := range runs(rows) {
		u.append(fmt.Appendf(nil, "%d %d\n", run[0].num, len(run)))
		for _, r := range run {
			letter := byte('n')
			if r.kind != plainEntry {
				letter = 'f'
			}
			u.append(fmt.Appendf(nil, "%010d %05d %c \n", r.offset, r.generation, letter))
		}
	}
	u.append([]byte("trailer\n"))
	u.append(trailer.With("Size", Integer(u.next)).Append(nil))
	u.append(fmt.Appendf(nil, "\nstartxref\n%d\n%%%%EOF\n", start))
	return nil
}

// row is an entry of the new cross-reference section.
type row struct {
	num int
	entry
}

// rows returns the entries of the new section by number: of what was written, and in a document whose own table is lost of all else.
func (u *Update) rows() []row {
	var rows []row
	if u.f.rebuilt {
		rows = append(rows, row{entry: entry{generation: 65535, kind: freeEntry}})
		for num, e := range u.f.xref.all() {
			if !u.Done(int(num)) && num > 0 {
				rows = append(rows, row{int(num), e})
			}
		}
	}
	for num, p := range u.written {
		rows = append(rows, row{num, entry{offset: p.offset, generation: uint16(p.generation), kind: plainEntry}})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.num, b.num) })
	return rows
}

// runs cuts rows where numbers are left out.
func runs(rows []row) func(yield func([]row) bool) {
	return func(yield func([]row) bool) {
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

// streamed writes the section as a stream: a document that has one may not go on with a table.
func (u *Update) streamed(num int, rows []row, trailer Value, start int64) error {
	var data []byte
	var index []Value
	for run := range runs(rows) {
		index = append(index, Integer(run[0].num), Integer(len(run)))
		for _, r := range run {
			data = append(data, r.kind)
			third := r.generation
			if r.kind == packedEntry {
				third = u.indexOf(r)
			}
			data = binary.BigEndian.AppendUint32(data, uint32(r.offset))
			data = binary.BigEndian.AppendUint16(data, third)
		}
	}
	packed, err := u.deflate(data)
	if err != nil {
		return err
	}
	dict := trailer.With("Type", Value{Kind: Name, Raw: []byte("XRef")}).With("Size", Integer(u.next)).
		With("Index", Value{Kind: Array, List: index}).
		With("W", Value{Kind: Array, List: []Value{Integer(1), Integer(4), Integer(2)}}).
		With("Filter", Value{Kind: Name, Raw: []byte("FlateDecode")})
	u.stream(num, dict, packed)
	u.append(fmt.Appendf(nil, "startxref\n%d\n%%%%EOF\n", start))
	return nil
}

// indexOf returns the place of an object in its object stream.
func (u *Update) indexOf(r row) uint16 {
	s, err := u.f.objectStream(r.offset)
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
