package structure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// File is a PDF whose cross references have been read.
type File struct {
	r    io.ReaderAt
	size int64
	// base is where the header begins; offsets in the file count from there.
	base    int64
	xref    xrefTable
	trailer Value
	// last is the offset of the newest cross-reference section, and streamed says that it is a stream. rebuilt says that
	// there was none worth believing, so that the table was put together from the objects that were found.
	last              int64
	streamed, rebuilt bool
	security          *Security
	password          string
	// budget is how many bytes may still be read while the document is searched, or its links are read; nil otherwise.
	// Objects without an end are read to that of the file, each of them, and those of object streams as often as they
	// are asked for.
	budget *int64

	streams []objectStream // recently used, the last one last
}

// Errors that say what is wrong with a document. ErrPassword says that its password is another one, or that its
// encryption is not known.
var (
	ErrDamaged  = errors.New("the document's structure is damaged")
	ErrPassword = errors.New("the document's encryption cannot be opened")
)

// Open reads the cross references of a document, or searches it for its objects where those are damaged. The file
// must stay readable as long as the File is used.
func Open(r io.ReaderAt, size int64, password string) (*File, error) {
	f, err := OpenStrict(r, size, password)
	if f == nil || err == nil || errors.Is(err, ErrPassword) {
		return f, err
	}
	if err := f.rebuildTable(); err != nil {
		return nil, err
	}
	return f, nil
}

// OpenStrict is Open without the search, which takes as long as reading all of the file. With its error it may return
// a File that is of no use yet.
func OpenStrict(r io.ReaderAt, size int64, password string) (*File, error) {
	f := &File{r: r, size: size, password: password}
	head := make([]byte, min(size, 1024))
	if _, err := f.readAt(head, 0); err != nil {
		return nil, err
	}
	if at := bytes.Index(head, []byte("%PDF-")); at > 0 {
		f.base = int64(at)
	}
	return f, f.loadSections()
}

// readAt reads up to len(b) bytes; the end of the file is no error.
func (f *File) readAt(b []byte, off int64) (int, error) {
	n, err := f.r.ReadAt(b, off)
	if !f.spendBudget(n) {
		return 0, ErrDamaged
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return n, fmt.Errorf("read the document: %w", err)
	}
	return n, nil
}

// spendBudget takes bytes off the budget, and reports whether it held them.
func (f *File) spendBudget(bytes int) bool {
	if f.budget == nil {
		return true
	}
	*f.budget -= int64(bytes)
	return *f.budget >= 0
}

// loadSections follows the cross-reference sections from the newest on.
func (f *File) loadSections() error {
	f.xref, f.trailer = xrefTable{}, Value{}
	tail := make([]byte, min(f.size, 2048))
	n, err := f.readAt(tail, f.size-int64(len(tail)))
	if err != nil {
		return err
	}
	tail = tail[:n]
	at := bytes.LastIndex(tail, []byte("startxref"))
	if at < 0 {
		return ErrDamaged
	}
	p := parser{b: tail, pos: at + len("startxref")}
	v, err := p.readValue(0)
	if err != nil || v.Kind != Number {
		return ErrDamaged
	}
	f.last = v.Num
	if err := f.readSections(v.Num); err != nil {
		return err
	}
	return f.prepareCatalogue()
}

// prepareCatalogue looks whether what was read leads to a page tree, and opens the encryption.
func (f *File) prepareCatalogue() error {
	f.security, f.streams = nil, nil
	if e := f.trailer.Lookup("Encrypt"); e.Kind != Null {
		dict, err := f.Resolve(e)
		if err != nil {
			return err
		}
		if f.security, err = OpenSecurity(dict, FirstFileID(f.trailer), f.password); err != nil {
			return err
		}
		f.streams = nil
	}
	root, err := f.Resolve(f.trailer.Lookup("Root"))
	if err != nil {
		return err
	}
	if root.Kind != Dict || root.Lookup("Pages").Kind != Ref {
		return ErrDamaged
	}
	pages, err := f.Resolve(root.Lookup("Pages"))
	if err != nil {
		return err
	}
	if pages.Lookup("Kids").Kind == Null {
		return ErrDamaged
	}
	return nil
}

// FirstFileID returns the first element of a trailer's /ID, which is a part of the key; nil where there is none.
func FirstFileID(trailer Value) []byte {
	if id := trailer.Lookup("ID").List; len(id) > 0 {
		return id[0].Text
	}
	return nil
}

// Trailer returns the entries of the newest trailer.
func (f *File) Trailer() Value { return f.trailer }

// Object is an object of the file.
type Object struct {
	Value
	Number, Generation int
	// data is the offset of its stream's first byte, -1 where it has none.
	data int64
}

// maxObject bounds the bytes of an object without its stream.
const maxObject = 8 << 20

// FetchObject returns an object, Null where the file has none of that number. Its strings are decrypted.
func (f *File) FetchObject(num int64) (Object, error) {
	e := f.xref.lookup(num)
	switch e.kind {
	case plainEntry:
		o, err := f.readObjectAt(f.base + e.offset)
		if err == nil && int64(o.Number) != num {
			err = ErrDamaged
		}
		if err != nil {
			return o, err
		}
		if f.security != nil && !f.isEncryptDict(num) {
			o.mapStrings(func(b []byte) []byte { return f.security.decryptText(b, o.Number, o.Generation) })
		}
		return o, nil
	case packedEntry:
		v, err := f.fetchPacked(e, num)
		return Object{Value: v, Number: int(num), data: -1}, err
	default:
		return Object{Number: int(num), data: -1}, nil
	}
}

// isEncryptDict reports whether an object is the encryption dictionary, whose own strings are plain.
func (f *File) isEncryptDict(num int64) bool {
	e := f.trailer.Lookup("Encrypt")
	return e.Kind == Ref && e.Num == num
}

// readObjectAt reads the object that begins at an offset of the file, as it is there.
func (f *File) readObjectAt(off int64) (Object, error) {
	o := Object{data: -1}
	if off < 0 || off >= f.size {
		return o, ErrDamaged
	}
	for size := 2 << 10; ; size *= 4 {
		buf := make([]byte, min(int64(size), f.size-off))
		n, err := f.readAt(buf, off)
		if err != nil {
			return o, err
		}
		whole := n < size || int64(n) == f.size-off
		o, err = parseObject(buf[:n], off)
		if err == nil {
			return o, nil
		}
		if !errors.Is(err, errShort) || whole || size >= maxObject {
			return o, ErrDamaged
		}
	}
}

// parseObject reads "N G obj", the object, and the word after it. off is where b begins in the file.
func parseObject(b []byte, off int64) (Object, error) {
	o := Object{data: -1}
	p := parser{b: b}
	num, err := p.readValue(0)
	if err != nil {
		return o, err
	}
	gen, err := p.readValue(0)
	if err != nil {
		return o, err
	}
	p.skipSpace()
	if !p.hasPrefix("obj") || num.Kind != Number || gen.Kind != Number {
		return o, errSyntax
	}
	p.pos += len("obj")
	o.Number, o.Generation = int(num.Num), int(gen.Num)
	if o.Value, err = p.readValue(0); err != nil {
		return o, err
	}
	if o.Kind == Keyword {
		o.Value = Value{} // nothing between obj and endobj
		return o, nil
	}
	p.skipSpace()
	if len(b)-p.pos < len("stream\r\n") {
		// Too little to tell. At the end of the file it is no stream.
		return o, errShort
	}
	if o.Kind != Dict || !p.hasPrefix("stream") {
		return o, nil
	}
	p.pos += len("stream")
	if p.hasPrefix("\r") {
		p.pos++
	}
	if p.hasPrefix("\n") {
		p.pos++
	}
	o.data = off + int64(p.pos)
	return o, nil
}

// Resolve follows references. What they lead to may be Null.
func (f *File) Resolve(v Value) (Value, error) {
	for range 8 {
		if v.Kind != Ref {
			return v, nil
		}
		o, err := f.FetchObject(v.Num)
		if err != nil {
			return Value{}, err
		}
		v = o.Value
	}
	return Value{}, ErrDamaged
}

// ResolveEntry resolves an entry of a dictionary, which may be a reference itself.
func (f *File) ResolveEntry(dict Value, key string) (Value, error) {
	return f.Resolve(dict.Lookup(key))
}

func (f *File) integerEntry(dict Value, key string) int64 {
	v, err := f.ResolveEntry(dict, key)
	if err != nil || v.Kind != Number {
		return -1
	}
	return v.Num
}

// objectStream is an object stream, inflated.
type objectStream struct {
	number  int64
	data    []byte
	offsets map[int64]int // of its objects in data
}

// Of object streams a few stay inflated, however large they are, and many while they are small.
const minKeptStreams, maxKeptStreams = 8, 128

// fetchPacked returns an object of an object stream.
func (f *File) fetchPacked(e xrefEntry, num int64) (Value, error) {
	s, err := f.loadObjectStream(e.offset)
	if err != nil {
		return Value{}, err
	}
	at, ok := s.offsets[num]
	if !ok {
		return Value{}, ErrDamaged
	}
	p := parser{b: s.data, pos: at}
	v, err := p.readValue(0)
	if !f.spendBudget(p.pos-at) || err != nil {
		return Value{}, ErrDamaged
	}
	return v, nil
}

func (f *File) loadObjectStream(num int64) (objectStream, error) {
	for i, s := range slices.Backward(f.streams) {
		if s.number == num {
			copy(f.streams[i:], f.streams[i+1:])
			f.streams[len(f.streams)-1] = s
			return s, nil
		}
	}
	s := objectStream{number: num, offsets: map[int64]int{}}
	if f.xref.lookup(num).kind != plainEntry {
		return s, ErrDamaged
	}
	o, err := f.FetchObject(num)
	if err != nil {
		return s, err
	}
	n, first := f.integerEntry(o.Value, "N"), f.integerEntry(o.Value, "First")
	if s.data, err = f.ReadStream(o, maxInflated); err != nil {
		return s, err
	}
	if !f.spendBudget(len(s.data)) {
		return s, ErrDamaged
	}
	if first < 0 || first > int64(len(s.data)) {
		return s, ErrDamaged
	}
	p := parser{b: s.data[:first]}
	for range min(n, first) {
		num, errA := p.readInteger()
		off, errB := p.readInteger()
		if errA != nil || errB != nil {
			break
		}
		if at := first + off; off >= 0 && at < int64(len(s.data)) {
			s.offsets[num] = int(at)
		}
	}
	f.streams = append(f.streams, s)
	for len(f.streams) > minKeptStreams && (len(f.streams) > maxKeptStreams || f.inflatedBytes() > maxKeptBytes) {
		f.streams = slices.Delete(f.streams, 0, 1)
	}
	return s, nil
}

// readInteger reads a plain integer, which no reference begins with.
func (p *parser) readInteger() (int64, error) {
	p.skipSpace()
	text := p.readRegular()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, errSyntax
	}
	return n, nil
}
