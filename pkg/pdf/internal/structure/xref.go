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

type xrefEntry struct {
	offset     int64
	generation uint16
	kind       uint8
}

// maxNumber is the largest object number that PDFium takes.
const maxNumber = 8_388_607

const tablePage = 4096

// xrefTable holds the entries by object number, in pages, so that a wild number costs little.
type xrefTable struct {
	pages map[int64]*[tablePage]xrefEntry
	top   int64 // one more than the largest number
}

func (t *xrefTable) lookup(num int64) xrefEntry {
	if p := t.pages[num/tablePage]; p != nil && num >= 0 {
		return p[num%tablePage]
	}
	return xrefEntry{}
}

// addEntry sets an entry that no newer section has set; force replaces it anyway.
func (t *xrefTable) addEntry(num int64, e xrefEntry, force bool) {
	if num < 0 || num > maxNumber {
		return
	}
	if t.pages == nil {
		t.pages = map[int64]*[tablePage]xrefEntry{}
	}
	p := t.pages[num/tablePage]
	if p == nil {
		p = &[tablePage]xrefEntry{}
		t.pages[num/tablePage] = p
	}
	if force || p[num%tablePage].kind == freeEntry {
		p[num%tablePage] = e
		t.top = max(t.top, num+1)
	}
}

// allEntries goes through the entries of objects that exist, by number.
func (t *xrefTable) allEntries() iter.Seq2[int64, xrefEntry] {
	return func(yield func(int64, xrefEntry) bool) {
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

// readSections reads the section at an offset and those that it leads to.
func (f *File) readSections(off int64) error {
	seen := map[int64]bool{}
	first := true
	for off > 0 || first {
		if seen[off] || len(seen) >= maxSections {
			return ErrDamaged
		}
		seen[off] = true
		trailer, streamed, err := f.readSection(f.base + off)
		if err != nil {
			return err
		}
		if first {
			f.trailer, f.streamed, first = trailer, streamed, false
		}
		for _, key := range []string{"Root", "Info", "ID", "Encrypt"} { // linearised files may have them in the first section only
			if v := trailer.Lookup(key); v.Kind != Null && f.trailer.Lookup(key).Kind == Null {
				f.trailer = f.trailer.WithEntry(key, v)
			}
		}
		if hybrid := trailer.Lookup("XRefStm"); hybrid.Kind == Number && !streamed && !seen[hybrid.Num] {
			seen[hybrid.Num] = true
			if _, _, err := f.readSection(f.base + hybrid.Num); err != nil {
				return err
			}
		}
		prev := trailer.Lookup("Prev")
		if prev.Kind != Number {
			return nil
		}
		off = prev.Num
	}
	return nil
}

// readSection reads one section and returns its trailer.
func (f *File) readSection(off int64) (Value, bool, error) {
	head := make([]byte, 64)
	if off < 0 || off >= f.size {
		return Value{}, false, ErrDamaged
	}
	n, err := f.readAt(head, off)
	if err != nil {
		return Value{}, false, err
	}
	p := parser{b: head[:n]}
	p.skipSpace()
	if p.hasPrefix("xref") {
		trailer, err := f.readClassicTable(off + int64(p.pos) + int64(len("xref")))
		return trailer, false, err
	}
	o, err := f.readObjectAt(off)
	if err != nil {
		return Value{}, true, err
	}
	if o.data < 0 {
		return Value{}, true, ErrDamaged
	}
	return o.Value, true, f.readXrefStream(o)
}

// readClassicTable reads a cross-reference table and the trailer behind it.
func (f *File) readClassicTable(off int64) (Value, error) {
	w := &wordReader{f: f, off: off}
	for {
		word, err := w.nextWord()
		if err != nil {
			return Value{}, err
		}
		if string(word) == "trailer" {
			return w.readTrailer()
		}
		num, okA := parsePlainInt(word)
		if word, err = w.nextWord(); err != nil {
			return Value{}, err
		}
		count, okB := parsePlainInt(word)
		if !okA || !okB {
			return Value{}, ErrDamaged
		}
		for i := range count {
			if err := w.readEntry(num + i); err != nil {
				return Value{}, err
			}
		}
	}
}

func parsePlainInt(b []byte) (int64, bool) {
	n, integer, _ := parseNumber(b)
	return n, integer && n >= 0
}

// wordReader reads words from the file through a buffer.
type wordReader struct {
	f        *File
	off      int64 // of the byte after buf
	buf      [32 << 10]byte
	pos, end int
}

func (w *wordReader) fillBuffer() error {
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

// nextWord returns the next run of regular characters, cut to 32 bytes. It is valid until the next call.
func (w *wordReader) nextWord() ([]byte, error) {
	var word []byte
	for {
		if w.pos >= w.end {
			if err := w.fillBuffer(); err != nil {
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

// readEntry reads the entry of an object: offset, generation, n or f.
func (w *wordReader) readEntry(num int64) error {
	word, err := w.nextWord()
	if err != nil {
		return err
	}
	offset, okA := parsePlainInt(word)
	if word, err = w.nextWord(); err != nil {
		return err
	}
	generation, okB := parsePlainInt(word)
	if word, err = w.nextWord(); err != nil {
		return err
	}
	switch {
	case !okA || !okB || len(word) != 1:
		return ErrDamaged
	case word[0] == 'n' && offset > 0:
		w.f.xref.addEntry(num, xrefEntry{offset: offset, generation: uint16(min(generation, 65535)), kind: plainEntry}, false)
	default:
		w.f.xref.addEntry(num, xrefEntry{kind: gapEntry}, false)
	}
	return nil
}

func (w *wordReader) readTrailer() (Value, error) {
	at := w.off - int64(w.end-w.pos)
	for size := int64(4 << 10); ; size *= 8 {
		buf := make([]byte, min(size, w.f.size-at))
		n, err := w.f.readAt(buf, at)
		if err != nil {
			return Value{}, err
		}
		p := parser{b: buf[:n]}
		v, err := p.readValue(0)
		switch {
		case err == nil && v.Kind == Dict:
			return v, nil
		case err == nil, !errors.Is(err, errShort), size >= maxObject, int64(n) < size:
			return Value{}, ErrDamaged
		}
	}
}

// readXrefStream reads the entries of a cross-reference stream (ISO 32000-1 §7.5.8).
func (f *File) readXrefStream(o Object) error {
	if !o.Lookup("Type").IsName("XRef") {
		return ErrDamaged
	}
	widths := o.Lookup("W").List
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
	data, err := f.readPlainStream(o, maxInflated)
	if err != nil {
		return err
	}
	index := o.Lookup("Index").List
	if len(index) < 2 {
		index = []Value{{Kind: Number}, {Kind: Number, Num: o.Lookup("Size").Num}}
	}
	for ; len(index) >= 2; index = index[2:] {
		for i := int64(0); i < index[1].Num && len(data) >= row; i++ {
			kind := int64(1)
			if w[0] > 0 {
				kind = decodeBigEndian(data[:w[0]])
			}
			f.addStreamedEntry(index[0].Num+i, kind, decodeBigEndian(data[w[0]:w[0]+w[1]]), decodeBigEndian(data[w[0]+w[1]:row]))
			data = data[row:]
		}
	}
	return nil
}

func (f *File) addStreamedEntry(num, kind, second, third int64) {
	switch kind {
	case 1:
		f.xref.addEntry(num, xrefEntry{offset: second, generation: uint16(min(third, 65535)), kind: plainEntry}, false)
	case 2:
		f.xref.addEntry(num, xrefEntry{offset: second, kind: packedEntry}, false)
	default:
		f.xref.addEntry(num, xrefEntry{kind: gapEntry}, false)
	}
}

func decodeBigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n & (1<<62 - 1)
}

// rebuildTable puts the table together from the objects that stand in the file: for a document whose own table is lost.
func (f *File) rebuildTable() error {
	f.xref, f.trailer, f.rebuilt, f.streamed, f.security, f.streams = xrefTable{}, Value{}, true, false, nil, nil
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
		packs = f.scanObjects(buf[:n], from, int(off-from), int(off-from)+window, packs)
	}
	if f.trailer.Lookup("Root").Kind == Null {
		return ErrDamaged
	}
	if e := f.trailer.Lookup("Encrypt"); e.Kind != Null {
		if err := f.prepareCatalogue(); errors.Is(err, ErrPassword) {
			return err
		}
	}
	for _, num := range packs {
		s, err := f.loadObjectStream(num)
		if err != nil {
			continue
		}
		f.streamed = true
		for inner := range s.offsets {
			f.xref.addEntry(inner, xrefEntry{offset: num, kind: packedEntry}, false)
		}
	}
	return f.prepareCatalogue()
}

// scanObjects notes the objects and trailers whose words begin in b[at:limit]; b stands at an offset of the file.
func (f *File) scanObjects(b []byte, off int64, at, limit int, packs []int64) []int64 {
	for at < min(limit, len(b)) {
		i := bytes.IndexAny(b[at:], "ot")
		if i < 0 || at+i >= limit {
			break
		}
		at += i
		switch {
		case bytes.HasPrefix(b[at:], []byte("obj")):
			packs = f.addFoundObject(b, at, off, packs)
		case bytes.HasPrefix(b[at:], []byte("trailer")):
			w := wordReader{f: f, off: off + int64(at) + int64(len("trailer"))}
			if v, err := w.readTrailer(); err == nil {
				f.mergeTrailer(v)
			}
		}
		at++
	}
	return packs
}

// mergeTrailer takes over the entries of a later trailer.
func (f *File) mergeTrailer(v Value) {
	for _, key := range []string{"Root", "Info", "ID", "Encrypt"} {
		if e := v.Lookup(key); e.Kind != Null {
			f.trailer = f.trailer.WithEntry(key, e)
		}
	}
}

// addFoundObject notes the object whose word obj stands at b[at:].
func (f *File) addFoundObject(b []byte, at int, off int64, packs []int64) []int64 {
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
	o, err := f.readObjectAt(off + int64(i))
	if err != nil {
		return packs
	}
	num := int64(o.Number)
	f.xref.addEntry(num, xrefEntry{offset: off + int64(i) - f.base, generation: uint16(min(o.Generation, 65535)),
		kind: plainEntry}, true)
	switch {
	case o.data >= 0 && o.Lookup("Type").IsName("XRef"):
		f.mergeTrailer(o.Value)
	case o.data >= 0 && o.Lookup("Type").IsName("ObjStm"):
		packs = append(packs, num)
	}
	return packs
}
