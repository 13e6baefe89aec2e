package structure

import (
	"bytes"
	"errors"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

// rebuildTable puts the table together from the objects that stand in the file: for a document whose own table is lost.
func (f *File) rebuildTable() error {
	f.xref, f.trailer, f.rebuilt, f.streamed, f.security, f.streams = xrefTable{}, Value{}, true, false, nil, objectStreamCache{}
	budget := 32*f.in.size + 64<<20
	f.in.budget = &budget
	defer func() { f.in.budget = nil }()
	search := objectSearch{in: &f.in, base: f.base, table: &f.xref}
	if err := search.scanDocument(); err != nil {
		return err
	}
	f.trailer = search.trailer
	if f.trailer.Lookup("Root").Kind == Null {
		return ErrDamaged
	}
	if e := f.trailer.Lookup("Encrypt"); e.Kind != Null {
		if err := f.prepareCatalogue(); errors.Is(err, ErrPassword) {
			return err
		}
	}
	for _, num := range search.packs {
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

// objectSearch finds the objects of a document by their words, without its table.
type objectSearch struct {
	in   *boundedReader
	base int64
	// What was found: the entries of objects, what the trailers say together, and which objects are object streams.
	table   *xrefTable
	trailer Value
	packs   []int64
}

// scanDocument notes all objects and trailers of the document.
func (s *objectSearch) scanDocument() error {
	const window, overlap = 1 << 20, 64
	buf := make([]byte, window+2*overlap) // the window with a little of what is before and behind it
	for off := int64(0); off < s.in.size; off += window {
		from := max(0, off-overlap)
		n, err := s.in.readAt(buf, from)
		if err != nil {
			return err
		}
		s.scanWindow(buf[:n], from, int(off-from), int(off-from)+window)
	}
	return nil
}

// scanWindow notes the objects and trailers whose words begin in b[at:limit]; b stands at an offset of the file.
func (s *objectSearch) scanWindow(b []byte, off int64, at, limit int) {
	for at < min(limit, len(b)) {
		i := bytes.IndexAny(b[at:], "ot")
		if i < 0 || at+i >= limit {
			break
		}
		at += i
		switch {
		case bytes.HasPrefix(b[at:], []byte("obj")):
			s.addObject(b, at, off)
		case bytes.HasPrefix(b[at:], []byte("trailer")):
			w := wordReader{in: s.in, off: off + int64(at) + int64(len("trailer"))}
			if v, err := w.readTrailer(); err == nil {
				s.mergeTrailer(v)
			}
		}
		at++
	}
}

// mergeTrailer takes over the entries of a later trailer.
func (s *objectSearch) mergeTrailer(v Value) {
	for _, key := range []string{"Root", "Info", "ID", "Encrypt"} {
		if e := v.Lookup(key); e.Kind != Null {
			s.trailer = s.trailer.WithEntry(key, e)
		}
	}
}

// addObject notes the object whose word obj stands at b[at:].
func (s *objectSearch) addObject(b []byte, at int, off int64) {
	i := at
	back := func(want uint8) int {
		end := i
		for i > 0 && syntax.Class[b[i-1]] == want && (want == syntax.White || b[i-1] >= '0' && b[i-1] <= '9') {
			i--
		}
		return end - i
	}
	if back(syntax.White) == 0 || back(syntax.Regular) == 0 || back(syntax.White) == 0 || back(syntax.Regular) == 0 {
		return
	}
	o, err := s.in.readObjectAt(off + int64(i))
	if err != nil {
		return
	}
	num := int64(o.Number)
	s.table.addEntry(num, xrefEntry{offset: off + int64(i) - s.base, generation: uint16(min(o.Generation, 65535)),
		kind: plainEntry}, true)
	switch {
	case o.data >= 0 && o.Lookup("Type").IsName("XRef"):
		s.mergeTrailer(o.Value)
	case o.data >= 0 && o.Lookup("Type").IsName("ObjStm"):
		s.packs = append(s.packs, num)
	}
}
