package structure

import (
	"bytes"
	"errors"
	"io"
)

// File is a PDF whose cross references have been read.
type File struct {
	in boundedReader
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
	streams           objectStreamCache
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
	f := &File{in: boundedReader{file: r, size: size}, password: password}
	head := make([]byte, min(size, 1024))
	if _, err := f.in.readAt(head, 0); err != nil {
		return nil, err
	}
	if at := bytes.Index(head, []byte("%PDF-")); at > 0 {
		f.base = int64(at)
	}
	return f, f.loadSections()
}

// loadSections follows the cross-reference sections from the newest on.
func (f *File) loadSections() error {
	f.xref, f.trailer = xrefTable{}, Value{}
	tail := make([]byte, min(f.in.size, 2048))
	n, err := f.in.readAt(tail, f.in.size-int64(len(tail)))
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
	f.security, f.streams = nil, objectStreamCache{}
	if e := f.trailer.Lookup("Encrypt"); e.Kind != Null {
		dict, err := f.Resolve(e)
		if err != nil {
			return err
		}
		if f.security, err = OpenSecurity(dict, FirstFileID(f.trailer), f.password); err != nil {
			return err
		}
		f.streams = objectStreamCache{}
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

// FetchObject returns an object, Null where the file has none of that number. Its strings are decrypted.
func (f *File) FetchObject(num int64) (Object, error) {
	e := f.xref.lookup(num)
	switch e.kind {
	case plainEntry:
		o, err := f.in.readObjectAt(f.base + e.offset)
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
	if !f.in.spend(p.pos-at) || err != nil {
		return Value{}, ErrDamaged
	}
	return v, nil
}

func (f *File) loadObjectStream(num int64) (objectStream, error) {
	if s, ok := f.streams.find(num); ok {
		return s, nil
	}
	if f.xref.lookup(num).kind != plainEntry {
		return objectStream{}, ErrDamaged
	}
	o, err := f.FetchObject(num)
	if err != nil {
		return objectStream{}, err
	}
	n, first := f.integerEntry(o.Value, "N"), f.integerEntry(o.Value, "First")
	data, err := f.ReadStream(o, maxInflated)
	if err != nil {
		return objectStream{}, err
	}
	if !f.in.spend(len(data)) || first < 0 || first > int64(len(data)) {
		return objectStream{}, ErrDamaged
	}
	s := objectStream{number: num, data: data, offsets: readPackedOffsets(data, n, first)}
	f.streams.add(s)
	return s, nil
}
