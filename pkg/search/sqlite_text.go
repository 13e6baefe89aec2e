package search

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// storedText is a page's text as the pages' table has it: zstd in a BLOB where that is shorter, else a TEXT, as all were
// before version 6. A row with the text as it comes takes nearly a page of the file each.
type storedText string

// maxTextBytes bounds what a text is unpacked to. The longest pages have some megabytes.
const maxTextBytes = 1 << 30

var textEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})

var textDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxTextBytes))
	if err != nil {
		panic(err)
	}
	return d
})

// Value implements driver.Valuer.
func (t storedText) Value() (driver.Value, error) {
	if packed := textEncoder().EncodeAll([]byte(t), nil); len(packed) < len(t) {
		return packed, nil
	}
	return string(t), nil
}

// Scan implements sql.Scanner.
func (t *storedText) Scan(value any) error {
	text, err := unpackText(value)
	*t = storedText(text)
	return err
}

// unpackText returns the text of a value of the pages' table.
func unpackText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case []byte:
		text, err := textDecoder().DecodeAll(v, nil)
		if err != nil {
			return "", fmt.Errorf("unpack a page's text: %w", err)
		}
		return string(text), nil
	default:
		return "", errors.New("a page's text is neither a TEXT nor a BLOB")
	}
}
