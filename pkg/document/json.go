package document

import (
	"encoding/json"
	"fmt"
	"io"

	"inkstream.dev/pkg/pagejson"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Head is what document.json says of the document ahead of its pages.
type Head struct {
	// Version is that of the form: inkstream.v1.
	Version   string          `json:"version"`
	Job       string          `json:"job"`
	Filename  string          `json:"filename,omitempty"`
	SHA256    string          `json:"sha256"`
	PageCount int             `json:"pageCount"`
	Language  string          `json:"language,omitempty"`
	Words     int             `json:"words"`
	Document  json.RawMessage `json:"document,omitempty"`
	Findings  any             `json:"findings,omitempty"`
	// TableMerges says which tables of neighbouring pages are one. The tables themselves stand as they are, so that a
	// merge can be undone.
	TableMerges []Merge `json:"tableMerges,omitempty"`
	// Lean leaves out the boxes and sizes of words.
	Lean bool `json:"-"`
}

// JSONWriter writes document.json: the head, then the pages, each on a line of its own.
type JSONWriter struct {
	w        io.Writer
	buf      []byte
	append   func([]byte, *inkstreamv1.Page) []byte
	wroteAny bool
	err      error
}

// NewJSONWriter writes the head to w. Call Page for each page in order, each a single write, then Close.
func NewJSONWriter(w io.Writer, head Head) (*JSONWriter, error) {
	b, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	_, err = w.Write(append(b[:len(b)-1], ",\"pages\":[\n"...))
	return newPageWriter(w, head.Lean), err
}

// newPageWriter writes pages to w, as if the head had been written.
func newPageWriter(w io.Writer, lean bool) *JSONWriter {
	j := &JSONWriter{w: w, append: pagejson.Append}
	if lean {
		j.append = pagejson.AppendLean
	}
	return j
}

// jsonTail is the end of document.json.
const jsonTail = "\n]}\n"

// WritePage writes a page to which the plan has been applied.
func (j *JSONWriter) WritePage(p *inkstreamv1.Page) error {
	j.buf = j.buf[:0]
	if j.wroteAny {
		j.buf = append(j.buf, ",\n"...)
	}
	j.wroteAny = true
	j.buf = j.append(j.buf, p)
	if j.err == nil {
		_, j.err = j.w.Write(j.buf)
	}
	return j.err
}

// Close writes the end.
func (j *JSONWriter) Close() error {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, jsonTail)
	}
	return j.err
}
