package document

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

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
	// TableMerges says which tables of neighbouring pages or columns are one. The tables stand as they are, so that a
	// merge can be undone.
	TableMerges []Merge `json:"tableMerges,omitempty"`
	// Lean leaves out the boxes and sizes of words.
	Lean bool `json:"-"`
}

// JSONWriter writes document.json: the head, then the pages, each on a line of its own.
type JSONWriter struct {
	w     io.Writer
	lean  bool
	pages int // that are written
	err   error
}

// NewJSONWriter writes the head to w. Call WritePage for each page in order, each a single write, then Close.
func NewJSONWriter(w io.Writer, head Head) (*JSONWriter, error) {
	b, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	_, err = w.Write(append(b[:len(b)-1], ",\"pages\":[\n"...))
	return &JSONWriter{w: w, lean: head.Lean}, err
}

// WritePage writes a page to which the plan has been applied.
func (j *JSONWriter) WritePage(p *inkstreamv1.Page) error {
	j.pages++
	buf := jsonBuffers.Get().(*[]byte)
	*buf = appendJSONPage((*buf)[:0], p, j.pages, j.lean)
	if j.err == nil {
		_, j.err = j.w.Write(*buf)
	}
	jsonBuffers.Put(buf)
	return j.err
}

// jsonBuffers hold a page in the making each: to grow one for every document of a page costs more than the page.
var jsonBuffers = sync.Pool{New: func() any { return new([]byte) }}

// appendJSONPage appends the n-th page of document.json.
func appendJSONPage(b []byte, p *inkstreamv1.Page, n int, lean bool) []byte {
	if n > 1 {
		b = append(b, ",\n"...)
	}
	if lean {
		return pagejson.AppendLean(b, p)
	}
	return pagejson.Append(b, p)
}

// Close writes the end.
func (j *JSONWriter) Close() error {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, jsonTail)
	}
	return j.err
}

// jsonTail is the end of document.json.
const jsonTail = "\n]}\n"
