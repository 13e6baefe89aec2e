package structure

import (
	"bytes"
	"errors"
	"iter"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

const (
	freeEntry   = iota // or unknown
	plainEntry         // offset is where it is in the file
	packedEntry        // offset is the number of its object stream
	gapEntry           // said to be free by a newer section: an older one does not count
)

type entry struct {
	offset     int64
	generation uint16
	kind       uint8
}

// maxNumber is the largest object number that PDFium takes.
const maxNumber = 8_388_607

const tablePage = 4096

// table holds the entries by object number, in pages, so that a wild number costs little.
type table struct {
	pages map[int64]*[tablePage]entry
	top   int64 // one more than the largest number
}

func (t *table) at(num int64) entry {
	if p := t.pages[num/tablePage]; p != nil && num >= 0 {
		return p[num%tablePage]
	}
	return entry{}
}

// add sets an entry that no newer section has set; force replaces it anyway.
func (t *table) add(num int64, e entry, force bool) {
	if num < 0 || num > maxNumber {
		return
	}
	if t.pages == nil {
		t.pages = map[int64]*[tablePage]entry{}
	}
	p := t.pages[num/tablePage]
	if p == nil {
		p = &[tablePage]entry{}
		t.pages[num/tablePage] = p
	}
	if force || p[num%tablePage].kind == freeEntry {
		p[num%tablePage] = e
		t.top = max(t.top, num+1)
	}
}

// all goes through the entries of objects that exist, by number.
func (t *table) all() iter.Seq2[int64, entry] {
	return func(yield func(int64, entry) bool) {
		for page := int64(0); page*tablePage < t.top; page++ {
			p := t.pages[page]
			for i := 0; p != nil && i < tablePage; i++ {
				if e := p[i]; (e.kind == plainEntry || e.kind == packedEntry) && !yield(page*tablePage+int64(i), e) {
					return
				}
			}
		}
	}
}

// maxSections bounds the updates of a document.
const maxSections = 4096

// sections reads the section at an offset and those that it leads to.
func (f *File) sections(off int64) error {
	seen := map[int64]bool{}
	first := true
	for off > 0 || first {
		if seen[off] || len(seen) >= maxSections {
			return ErrDamaged
		}
		seen[off] = true
		trailer, streamed, err := f.section(f.base + off)
		if err != nil {
			return err
		}
		if first {
			f.trailer, f.streamed, first = trailer, streamed, false
		}
		for _, key := range []string{"Root", "Info", "ID", "Encrypt"} { // linearised files may have them in the first section only
			if v := trailer.At(key); v.Kind != Null && f.trailer.At(key).Kind == Null {
				f.trailer = f.trailer.With(key, v)
			}
		}
		if hybrid := trailer.At("XRefStm"); hybrid.Kind == Number && !streamed && !seen[hybrid.Num] {
			seen[hybrid.Num] = true
			if _, _, err := f.section(f.base + hybrid.Num); err != nil {
				return err
			}
		}
		prev := trailer.At("Prev")
		if prev.Kind != Number {
			return nil
		}
		off = prev.Num
	}
	return nil
}

// section reads one section and returns its trailer.
func (f *File) section(off int64) (Value, bool, error) {
	head := make([]byte, 64)
	if off < 0 || off >= f.size {
		return Value{}, false, ErrDamaged
	}
	n, err := f.readAt(head, off)
	if err != nil {
		return Value{}, false, err
	}
	p := parser{b: head[:n]}
	p.space()
	if p.at("xref") {
		trailer, err := f.classic(off + int64(p.pos) + int64(len("xref")))
		return trailer, false, err
	}
	o, err := f.objectAt(off)
	if err != nil {
		return Value{}, true, err
	}
	if o.data < 0 {
		return Value{}, true, ErrDamaged
	}
	return o.Value, true, f.xrefStream(o)
}

// classic reads a cross-reference table and the trailer behind it.
func (f *File) classic(off int64) (Value, error) {
	w := &cursor{f: f, off: off}
	for {
		word, err := w.word()
		if err != nil {
			return Value{}, err
		}
		if string(word) == "trailer" {
			return w.trailer()
		}
		num, okA := plainInt(word)
		if word, err = w.word(); err != nil {
			return Value{}, err
		}
		count, okB := plainInt(word)
		if !okA || !okB {
			return Value{}, ErrDamaged
		}
		for i := range count {
			if err := w.entry(num + i); err != nil {
				return Value{}, err
			}
		}
	}
}

func plainInt(b []byte) (int64, bool) {
	n, integer, _ := digits(b)
	return n, integer && n >= 0
}

// cursor reads words from the file through a buffer.
type cursor struct {
	f        *File
	off      int64 // of the byte after buf
	buf      [32 << 10]byte
	pos, end int
}

func (w *cursor) fill() error {
	n, err := w.f.readAt(w.buf[:], w.off)
	if err != nil {
		return err
	}
	w.pos, w.end = 0, n
	w.off += int64(n)
	if n == 0 {
		return ErrDamaged
	}
	return nil
}

// word returns the next run of regular characters, cut to 32 bytes. It is valid until the next call.
func (w *cursor) word() ([]byte, error) {
	var word []byte
	for {
		if w.pos >= w.end {
			if err := w.fill(); err != nil {
				return nil, err
			}
		}
		c := w.buf[w.pos]
		switch {
		case syntax.Class[c] == syntax.Regular:
			if len(word) < 32 {
				word = append(word, c)
			}
			w.pos++
		case len(word) > 0:
			return word, nil
		case syntax.Class[c] == syntax.White:
			w.pos++
		default:
			return nil, ErrDamaged
		}
	}
}

// entry reads the entry of an object: offset, generation, n or f.
func (w *cursor) entry(num int64) error {
	word, err := w.word()
	if err != nil {
		return err
	}
	offset, okA := plainInt(word)
	if word, err = w.word(); err != nil {
		return err
	}
	generation, okB := plainInt(word)
	if word, err = w.word(); err != nil {
		return err
	}
	switch {
	case !okA || !okB || len(word) != 1:
		return ErrDamaged
	case word[0] == 'n' && offset > 0:
		w.f.xref.add(num, entry{offset: offset, generation: uint16(min(generation, 65535)), kind: plainEntry}, false)
	default:
		w.f.xref.add(num, entry{kind: gapEntry}, false)
	}
	return nil
}

func (w *cursor) trailer() (Value, error) {
	at := w.off - int64(w.end-w.pos)
	for size := int64(4 << 10); ; size *= 8 {
		buf := make([]byte, min(size, w.f.size-at))
		n, err := w.f.readAt(buf, at)
		if err != nil {
			return Value{}, err
		}
		p := parser{b: buf[:n]}
		v, err := p.value(0)
		switch {
		case err == nil && v.Kind == Dict:
			return v, nil
		case err == nil, !errors.Is(err, errShort), size >= maxObject, int64(n) < size:
			return Value{}, ErrDamaged
		}
	}
}

// xrefStream reads the entries of a cross-reference stream (ISO 32000-1 §7.5.8).
func (f *File) xrefStream(o Object) error {
	if !o.At("Type").Is("XRef") {
		return ErrDamaged
	}
	widths := o.At("W").List
	if len(widths) < 3 {
		return ErrDamaged
	}
	var w [3]int
	for i := range w {
		if widths[i].Num < 0 || widths[i].Num > 8 {
			return ErrDamaged
		}
		w[i] = int(widths[i].Num)
	}
	row := w[0] + w[1] + w[2]
	if row == 0 {
		return ErrDamaged
	}
	data, err := f.plainStream(o, maxInflated)
	if err != nil {
		return err
	}
	index := o.At("Index").List
	if len(index) < 2 {
		index = []Value{{Kind: Number}, {Kind: Number, Num: o.At("Size").Num}}
	}
	for ; len(index) >= 2; index = index[2:] {
		for i := int64(0); i < index[1].Num && len(data) >= row; i++ {
			kind := int64(1)
			if w[0] > 0 {
				kind = bigEndian(data[:w[0]])
			}
			f.addStreamed(index[0].Num+i, kind, bigEndian(data[w[0]:w[0]+w[1]]), bigEndian(data[w[0]+w[1]:row]))
			data = data[row:]
		}
	}
	return nil
}

func (f *File) addStreamed(num, kind, second, third int64) {
	switch kind {
	case 1:
		f.xref.add(num, entry{offset: second, generation: uint16(min(third, 65535)), kind: plainEntry}, false)
	case 2:
		f.xref.add(num, entry{offset: second, kind: packedEntry}, false)
	default:
		f.xref.add(num, entry{kind: gapEntry}, false)
	}
}

func bigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n & (1<<62 - 1)
}

// rebuild puts the table together from the objects that stand in the file: for a document whose own table is lost.
func (f *File) rebuild() error {
	f.xref, f.trailer, f.rebuilt, f.streamed, f.security, f.streams = table{}, Value{}, true, false, nil, nil
	budget := 32*f.size + 64<<20
	f.budget = &budget
	defer func() { f.budget = nil }()
	const window, overlap = 1 << 20, 64
	buf := make([]byte, window+2*overlap) // the window with a little of what is before and behind it
	var packs []int64
	for off := int64(0); off < f.size; off += window {
		from := max(0, off-overlap)
		n, err := f.readAt(buf, from)
		if err != nil {
			return err
		}
		packs = f.scan(buf[:n], from, int(off-from), int(off-from)+window, packs)
	}
	if f.trailer.At("Root").Kind == Null {
		return ErrDamaged
	}
	if e := f.trailer.At("Encrypt"); e.Kind != Null {
		if err := f.ready(); errors.Is(err, ErrPassword) {
			return err
		}
	}
	for _, num := range packs {
		s, err := f.objectStream(num)
		if err != nil {
			continue
		}
		f.streamed = true
		for inner := range s.offsets {
			f.xref.add(inner, entry{offset: num, kind: packedEntry}, false)
		}
	}
	return f.ready()
}

// scan notes the objects and trailers whose words begin in b[at:limit]; b stands at an offset of the file.
func (f *File) scan(b []byte, off int64, at, limit int, packs []int64) []int64 {
	for at < min(limit, len(b)) {
		i := bytes.IndexAny(b[at:], "ot")
		if i < 0 || at+i >= limit {
			break
		}
		at += i
		switch {
		case bytes.HasPrefix(b[at:], []byte("obj")):
			packs = f.found(b, at, off, packs)
		case bytes.HasPrefix(b[at:], []byte("trailer")):
			w := cursor{f: f, off: off + int64(at) + int64(len("trailer"))}
			if v, err := w.trailer(); err == nil {
				f.merge(v)
			}
		}
		at++
	}
	return packs
}

// merge takes over the entries of a later trailer.
func (f *File) merge(v Value) {
	for _, key := range []string{"Root", "Info", "ID", "Encrypt"} {
		if e := v.At(key); e.Kind != Null {
			f.trailer = f.trailer.With(key, e)
		}
	}
}

// found notes the object whose word obj stands at b[at:].
func (f *File) found(b []byte, at int, off int64, packs []int64) []int64 {
	i := at
	back := func(want uint8) int {
		end := i
		for i > 0 && syntax.Class[b[i-1]] == want && (want == syntax.White || b[i-1] >= '0' && b[i-1] <= '9') {
			i--
		}
		return end - i
	}
	if back(syntax.White) == 0 || back(syntax.Regular) == 0 || back(syntax.White) == 0 || back(syntax.Regular) == 0 {
		return packs
	}
	o, err := f.objectAt(off + int64(i))
	if err != nil {
		return packs
	}
	num := int64(o.Number)
	f.xref.add(num, entry{offset: off + int64(i) - f.base, generation: uint16(min(o.Generation, 65535)), kind: plainEntry}, true)
	switch {
	case o.data >= 0 && o.At("Type").Is("XRef"):
		f.merge(o.Value)
	case o.data >= 0 && o.At("Type").Is("ObjStm"):
		packs = append(packs, num)
	}
	return packs
}
