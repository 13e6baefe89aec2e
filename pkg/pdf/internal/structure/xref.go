package structure

import (
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

func (t *xrefTable) addStreamedEntry(num, kind, second, third int64) {
	switch kind {
	case 1:
		t.addEntry(num, xrefEntry{offset: second, generation: uint16(min(third, 65535)), kind: plainEntry}, false)
	case 2:
		t.addEntry(num, xrefEntry{offset: second, kind: packedEntry}, false)
	default:
		t.addEntry(num, xrefEntry{kind: gapEntry}, false)
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
	if off < 0 || off >= f.in.size {
		return Value{}, false, ErrDamaged
	}
	n, err := f.in.readAt(head, off)
	if err != nil {
		return Value{}, false, err
	}
	p := parser{b: head[:n]}
	p.skipSpace()
	if p.hasPrefix("xref") {
		w := wordReader{in: &f.in, off: off + int64(p.pos) + int64(len("xref"))}
		trailer, err := w.readTable(&f.xref)
		return trailer, false, err
	}
	o, err := f.in.readObjectAt(off)
	if err != nil {
		return Value{}, true, err
	}
	if o.data < 0 {
		return Value{}, true, ErrDamaged
	}
	return o.Value, true, f.readXrefStream(o)
}

func parsePlainInt(b []byte) (int64, bool) {
	n, integer, _ := parseNumber(b)
	return n, integer && n >= 0
}

// wordReader reads words from the file through a buffer.
type wordReader struct {
	in       *boundedReader
	off      int64 // of the byte after buf
	buf      [32 << 10]byte
	pos, end int
}

func (w *wordReader) fillBuffer() error {
	n, err := w.in.readAt(w.buf[:], w.off)
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
func (w *wordReader) readEntry(table *xrefTable, num int64) error {
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
		table.addEntry(num, xrefEntry{offset: offset, generation: uint16(min(generation, 65535)), kind: plainEntry}, false)
	default:
		table.addEntry(num, xrefEntry{kind: gapEntry}, false)
	}
	return nil
}

// readTable reads a cross-reference table and the trailer behind it.
func (w *wordReader) readTable(table *xrefTable) (Value, error) {
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
			if err := w.readEntry(table, num+i); err != nil {
				return Value{}, err
			}
		}
	}
}

func (w *wordReader) readTrailer() (Value, error) {
	at := w.off - int64(w.end-w.pos)
	for size := int64(4 << 10); ; size *= 8 {
		buf := make([]byte, min(size, w.in.size-at))
		n, err := w.in.readAt(buf, at)
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
			f.xref.addStreamedEntry(index[0].Num+i, kind, decodeBigEndian(data[w[0]:w[0]+w[1]]), decodeBigEndian(data[w[0]+w[1]:row]))
			data = data[row:]
		}
	}
	return nil
}

func decodeBigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n & (1<<62 - 1)
}
