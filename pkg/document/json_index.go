package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// jsonIndexVersion changes with the form below, and with the JSON of pages that are stored already: the lengths hold
// for one JSON only.
const jsonIndexVersion = 1

var (
	errCorruptJSONIndex = errors.New("the index of a document.json is damaged, or another version's")
	errPageChanged      = errors.New("a stored page has another length as JSON than when the document was written")
)

// JSONIndex is what is stored in place of document.json, whose pages are stored already: what stands ahead of them, and
// how many bytes each has. With the stored pages it yields any part of document.json, byte for byte as a [JSONWriter]
// writes it. It is safe for concurrent use.
type JSONIndex struct {
	head []byte // to the end of its line
	lean bool
	ends []int64 // where the bytes of each page end in document.json, and after the last page the file
}

// JSONIndexWriter makes the index of a document.json. Call WritePage for each page in order, then Encode.
type JSONIndexWriter struct {
	*JSONWriter

	written *pieceLengths
}

// pieceLengths keeps the first piece that is written, and the lengths of those that follow.
type pieceLengths struct {
	head    []byte
	lengths []int
}

// Write takes note of a piece.
func (w *pieceLengths) Write(piece []byte) (int, error) {
	if w.head == nil {
		w.head = bytes.Clone(piece)
	} else {
		w.lengths = append(w.lengths, len(piece))
	}
	return len(piece), nil
}

// NewJSONIndexWriter begins the index of the document.json that has this head.
func NewJSONIndexWriter(head Head) (*JSONIndexWriter, error) {
	x := &JSONIndexWriter{written: &pieceLengths{}}
	var err error
	x.JSONWriter, err = NewJSONWriter(x.written, head)
	return x, err
}

// Encode returns the index as it is stored: the head as JSON on a line of its own, then the lengths.
func (x *JSONIndexWriter) Encode() []byte {
	lean := 0
	if x.lean {
		lean = 1
	}
	b := append(bytes.Clone(x.written.head), jsonIndexVersion)
	return appendUvarints(appendUvarints(b, lean, len(x.written.lengths)), x.written.lengths...)
}

// DecodeJSONIndex reads what [JSONIndexWriter.Encode] returned.
func DecodeJSONIndex(data []byte) (*JSONIndex, error) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 || end == len(data) || data[end] != jsonIndexVersion {
		return nil, errCorruptJSONIndex
	}
	x := &JSONIndex{head: data[:end]}
	var values []int64
	for rest := data[end+1:]; len(rest) > 0; {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > math.MaxInt32 {
			return nil, errCorruptJSONIndex
		}
		values, rest = append(values, int64(v)), rest[n:]
	}
	if len(values) < 2 || values[0] > 1 || values[1] != int64(len(values)-2) {
		return nil, errCorruptJSONIndex
	}
	x.lean, x.ends = values[0] == 1, values[2:]
	at := int64(len(x.head))
	for i := range x.ends {
		at += x.ends[i]
		x.ends[i] = at
	}
	x.ends = append(x.ends, at+int64(len(jsonTail)))
	return x, nil
}

// Size returns how many bytes document.json has.
func (x *JSONIndex) Size() int64 { return x.ends[len(x.ends)-1] }

// LongestPage returns how many bytes the longest page has.
func (x *JSONIndex) LongestPage() (longest int64) {
	before := int64(len(x.head))
	for _, end := range x.ends {
		longest, before = max(longest, end-before), end
	}
	return longest
}

// FindPages returns the pages that have the byte at an offset and those behind it, up to most bytes but at least one
// page, and the offset of the first one's first byte, as [JSONIndex.AppendPages] returns them: what stands ahead of
// the pages belongs to page 1, the end of the file to the last page. Of a document without pages, last is 0.
func (x *JSONIndex) FindPages(offset, most int64) (first, last int, start int64) {
	pages := len(x.ends) - 1
	endedBefore := func(at int64) int { return sort.Search(pages, func(i int) bool { return x.ends[i] > at }) }
	first = max(1, min(pages, endedBefore(offset)+1))
	last = min(pages, max(first, endedBefore(offset+most)))
	if first > 1 {
		start = x.ends[first-2]
	}
	return first, last, start
}

// AppendPages appends the bytes of document.json that pages have, of which the first is the page with that number. They
// are pages to which the plan has been applied.
func (x *JSONIndex) AppendPages(b []byte, first int, pages []*inkstreamv1.Page) ([]byte, error) {
	start := int64(len(x.head))
	if first > 1 {
		start = x.ends[first-2]
	} else {
		b = append(b, x.head...)
	}
	b = slices.Grow(b, int(x.ends[first+len(pages)-1]-start))
	for i, p := range pages {
		before, end := len(b), x.ends[first-1+i]
		if b = appendJSONPage(b, p, first+i, x.lean); int64(len(b)-before) != end-start {
			return nil, fmt.Errorf("page %d: %w", first+i, errPageChanged)
		}
		start = end
	}
	if first+len(pages) == len(x.ends) {
		b = append(b, jsonTail...)
	}
	return b, nil
}
