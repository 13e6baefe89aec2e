// Package wire is what the PDF engine and its child say to each other: a small JSON header, since a handful of fields cost
// microseconds in it and read well in a debugger, and a protobuf message behind it where there is one. Pixels travel beside it, in the
// memory that both share.
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
}

// Reply answers it.
type Reply struct {
	// Code is set if the operation failed, and then nothing else but Message is.
	Code    fault.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`

	// Open. The message behind the header is a DocumentInfo.
	PageCount int          `json:"pageCount,omitempty"`
	PageSizes [][2]float32 `json:"pageSizes,omitempty"`

	// Findings.
	Findings []Finding `json:"findings,omitempty"`

	// Page. The message behind the header is a Page.
	Kind   triage.Kind `json:"kind,omitempty"`
	Raster *Raster     `json:"raster,omitempty"`
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

// EncodeRequest returns the bytes of a request.
func EncodeRequest(r Request) ([]byte, error) { return json.Marshal(r) }

// DecodeRequest reads them back.
func DecodeRequest(b []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("decode request: %w", err)
	}
	return r, nil
}

// EncodeReply returns the bytes of a reply: the length of the header, the header, the message. A nil message is none.
func EncodeReply(r Reply, message proto.Message) ([]byte, error) {
	header, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	size := 4 + len(header)
	if message != nil {
		size += proto.Size(message)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, size), uint32(len(header)))
	b = append(b, header...)
	if message == nil {
		return b, nil
	}
	if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, message); err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	return b, nil
}

// DecodeReply reads them back, the message into the one given; nil skips it.
func DecodeReply(b []byte, message proto.Message) (Reply, error) {
	var r Reply
	if len(b) < 4 {
		return r, errors.New("decode reply: cut short")
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	if uint64(n) > uint64(len(b)) {
		return r, errors.New("decode reply: cut short")
	}
	if err := json.Unmarshal(b[:n], &r); err != nil {
		return r, fmt.Errorf("decode reply: %w", err)
	}
	if message == nil || r.Code != "" {
		return r, nil
	}
	if err := proto.Unmarshal(b[n:], message); err != nil {
		return r, fmt.Errorf("decode reply: %w", err)
	}
	return r, nil
}
