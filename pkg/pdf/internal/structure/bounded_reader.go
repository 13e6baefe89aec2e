package structure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// boundedReader reads the bytes of a document, and the objects that begin at an offset of it, as they are there.
type boundedReader struct {
	file io.ReaderAt
	size int64
	// budget is how many bytes may still be read while the document is searched, or its links are read; nil otherwise.
	// Objects without an end are read to that of the file, each of them, and those of object streams as often as they
	// are asked for.
	budget *int64
}

// readAt reads up to len(b) bytes; the end of the file is no error.
func (r *boundedReader) readAt(b []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(b, off)
	if !r.spend(n) {
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

// spend takes bytes off the budget, and reports whether it held them.
func (r *boundedReader) spend(bytes int) bool {
	if r.budget == nil {
		return true
	}
	*r.budget -= int64(bytes)
	return *r.budget >= 0
}

// allowance is how many bytes may be read of a document for what belongs to its pages beside their content; pages
// may have the same.
func (r *boundedReader) allowance() int64 { return 64<<20 + 4*r.size }

// maxObject bounds the bytes of an object without its stream.
const maxObject = 8 << 20

// readObjectAt reads the object that begins at an offset of the file, as it is there.
func (r *boundedReader) readObjectAt(off int64) (Object, error) {
	o := Object{data: -1}
	if off < 0 || off >= r.size {
		return o, ErrDamaged
	}
	for size := 2 << 10; ; size *= 4 {
		buf := make([]byte, min(int64(size), r.size-off))
		n, err := r.readAt(buf, off)
		if err != nil {
			return o, err
		}
		whole := n < size || int64(n) == r.size-off
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

var endstream = []byte("endstream")

func (r *boundedReader) hasEndstreamAt(off int64) bool {
	var b [32]byte
	n, err := r.readAt(b[:], off)
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(b[:n], "\x00\t\n\f\r "), endstream)
}

// findStreamEnd looks for the end of a stream whose length is wrong.
func (r *boundedReader) findStreamEnd(from int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for off := from; off < r.size; off += int64(len(buf) - len(endstream)) {
		n, err := r.readAt(buf, off)
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(buf[:n], endstream); i >= 0 {
			return off + int64(i) - from, nil
		}
	}
	return 0, ErrDamaged
}
