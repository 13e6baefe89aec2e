// Package wire is what the PDF engine and its child say to each other: a small JSON header, since a handful of
// fields cost microseconds in it and read well in a debugger, and a protobuf message behind it where there is one.
// Pixels travel apart from it, in the memory that both share.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/triage"
)

// The operations.
const (
	Open     = "open"     // a file comes with it; the document stays open
	Findings = "findings" // of the open document
	Page     = "page"     // of the open document
	Close    = "close"    // forgets the document
	Draw     = "draw"     // a page of the open document, in colour; it lands as PNG in the shared memory
	Attached = "attached" // an attachment of the open document, by number; its bytes land in the shared memory

	// An update of the open document is written by these, one after the other. What to append to the file is in the
	// answers' bodies.
	UpdateBegin = "update-begin"
	UpdatePages = "update-pages" // the request's body is a PageBatch
	UpdateEnd   = "update-end"
)

// The modes of reading a page: recognise it whatever its text is, do not recognise it, take text that is not painted
// for none.
const (
	Force = "force"
	Skip  = "skip"
	Redo  = "redo"
)

// Request asks for one operation.
type Request struct {
	Op       string `json:"op"`
	Password string `json:"password,omitempty"`
	// Bare opens without telling the document's facts, whose outline alone can take longer than a chunk's pages.
	Bare bool `json:"bare,omitempty"`
	// Page counts from 1.
	Page int `json:"page,omitempty"`
	// NoRaster asks for the text alone; AlwaysRaster for a raster whatever the page is.
	NoRaster     bool `json:"noRaster,omitempty"`
	AlwaysRaster bool `json:"alwaysRaster,omitempty"`
	// MaxObjects bounds the walk over a page's objects, MaxPixels the raster.
	MaxObjects int `json:"maxObjects,omitempty"`
	MaxPixels  int `json:"maxPixels,omitempty"`
	// Mode is Force, Skip or Redo, or empty.
	Mode string `json:"mode,omitempty"`
	// Images asks for the page's images; ImageBytes bounds them.
	Images     bool  `json:"images,omitempty"`
	ImageBytes int64 `json:"imageBytes,omitempty"`
	// Plain leaves out what comes with a page's content: links, annotations, tags, the label.
	Plain bool `json:"plain,omitempty"`
	// DPI is the resolution to draw at.
	DPI float64 `json:"dpi,omitempty"`
	// Boxes makes an update that draws the pages' blocks, else it adds their recognised words.
	Boxes bool `json:"boxes,omitempty"`
	// Body is a message, by operation.
	Body []byte `json:"-"`
}

// Reply answers it.
type Reply struct {
	// Code is set if the operation failed, and then nothing else but Message is.
	Code    fault.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`

	// Open. The message behind the header is a DocumentInfo.
	PageCount int          `json:"pageCount,omitempty"`
	PageSizes [][2]float32 `json:"pageSizes,omitempty"`
	Metadata  *Metadata    `json:"metadata,omitempty"`

	// Findings.
	Findings []Finding `json:"findings,omitempty"`

	// Page. The message behind the header is a Page.
	Kind   triage.Kind `json:"kind,omitempty"`
	Raster *Raster     `json:"raster,omitempty"`
	Images []Image     `json:"images,omitempty"`

	// Bytes is how many bytes of an attachment, or of a drawn page, are in the shared memory.
	Bytes int64 `json:"bytes,omitempty"`
	// Body is what stands behind the header where that is no message.
	Body []byte `json:"-"`
}

// Image says where the bytes of an image of the page are in the shared memory.
type Image struct {
	// Index is that of the image in the page's list.
	Index  int    `json:"index"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	Ext    string `json:"ext"`
}

// Finding is one kind of thing noticed about the document.
type Finding struct {
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Detail string `json:"detail,omitempty"`
}

// Raster describes the pixels at the start of the shared memory: 8-bit grey, rows from the top, no padding.
type Raster struct {
	Width   int     `json:"width"`
	Height  int     `json:"height"`
	DPI     float64 `json:"dpi"`
	XHeight float64 `json:"xHeight,omitempty"`
}

// EncodeRequest returns the bytes of a request: the length of the header, the header, the body.
func EncodeRequest(r Request) ([]byte, error) {
	header, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(header)+len(r.Body)), uint32(len(header)))
	return append(append(b, header...), r.Body...), nil
}

// DecodeRequest reads them back.
func DecodeRequest(b []byte) (Request, error) {
	var r Request
	header, body, err := splitHeader(b)
	if err != nil {
		return r, fmt.Errorf("decode request: %w", err)
	}
	if err := json.Unmarshal(header, &r); err != nil {
		return r, fmt.Errorf("decode request: %w", err)
	}
	r.Body = body
	return r, nil
}

var errShort = errors.New("cut short")

// splitHeader parts the header from what is behind it.
func splitHeader(b []byte) (header, body []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errShort
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	if uint64(n) > uint64(len(b)) {
		return nil, nil, errShort
	}
	return b[:n], b[n:], nil
}

// EncodeReply returns the bytes of a reply: the length of the header, the header, the message or, without one, the
// body.
func EncodeReply(r Reply, message proto.Message) ([]byte, error) {
	header, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	size := 4 + len(header) + len(r.Body)
	if message != nil {
		size += proto.Size(message)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, size), uint32(len(header)))
	b = append(b, header...)
	if message == nil {
		return append(b, r.Body...), nil
	}
	if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, message); err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	return b, nil
}

// DecodeReply reads them back, the message into the one given; without one, what stands there is the body.
func DecodeReply(b []byte, message proto.Message) (Reply, error) {
	var r Reply
	header, body, err := splitHeader(b)
	if err != nil {
		return r, fmt.Errorf("decode reply: %w", err)
	}
	if err := json.Unmarshal(header, &r); err != nil {
		return r, fmt.Errorf("decode reply: %w", err)
	}
	if message == nil || r.Code != "" {
		r.Body = body
		return r, nil
	}
	if err := proto.Unmarshal(body, message); err != nil {
		return r, fmt.Errorf("decode reply: %w", err)
	}
	return r, nil
}
