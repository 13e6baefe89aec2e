package blob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A compressed blob is stored as zstd's seekable format has it: frames that each hold frameBytes of the plain bytes,
// the last one fewer, and a skippable frame with the table of their sizes at the end, so that a part of the blob costs
// the frames that it lies in. Ahead of the table stands one more skippable frame, the mark, which tells a blob that was
// compressed here from one that its writer stored in the same format. Programs that know zstd skip both.
//
// A blob that is stored as it came, and happens to end like a table, has a mark and an empty table behind its bytes.
// So the end of what is stored always tells which of the two it is, and no writer can choose it.
const (
	// frameBytes is the plain size of a frame. Smaller ones compress less, larger ones make a small part cost more.
	frameBytes = 256 << 10
	// minCompressBytes is below what compression gains nothing: a file takes a block of the disk, whatever it holds of it.
	minCompressBytes = 4 << 10

	skippableHeader  = 8
	markMagic        = 0x184D2A5B
	tableMagic       = 0x184D2A5E // the number that the seekable format names
	footerMagic      = 0x8F92EAB1 // likewise
	footerBytes      = 9
	tableEntryBytes  = 8
	markPayloadBytes = len(markText) + 1 + 8
	markBytes        = skippableHeader + markPayloadBytes
	// markText makes the mark.
	markText = "inkstream.blob.1"
	// minTrailerBytes is the mark and an empty table.
	minTrailerBytes = markBytes + skippableHeader + footerBytes
	// tailBytes is what is read of a blob's end at first: the whole trailer of one of up to 120 MB.
	tailBytes = 4 << 10
	// frameOverhead is how much longer than its bytes a frame can be: a header, a checksum, three bytes a block.
	frameOverhead = 64
	// maxFrames bounds the table of a blob: 4 TB.
	maxFrames = 1 << 24
)

// storedForm says how a blob's bytes are stored.
type storedForm byte

const (
	plainForm      storedForm = 'p'
	compressedForm storedForm = 'z'
)

// frame is where a part of the blob is stored.
type frame struct {
	stored, plain int64 // where it begins
	storedSize    int
	plainSize     int
}

// layout is how a blob is stored.
type layout struct {
	form      storedForm
	plainSize int64
	frames    []frame
	trailer   int // bytes behind the blob's own
}

// storedBytes returns how many bytes all frames have.
func (l *layout) storedBytes() int64 {
	if len(l.frames) == 0 {
		return 0
	}
	last := l.frames[len(l.frames)-1]
	return last.stored + int64(last.storedSize)
}

// appendTrailer appends the mark and the table to what is stored.
func appendTrailer(b []byte, l *layout) []byte {
	b = appendSkippableHeader(b, markMagic, markPayloadBytes)
	b = append(b, markText...)
	b = append(b, byte(l.form))
	b = binary.LittleEndian.AppendUint64(b, uint64(l.plainSize))
	b = appendSkippableHeader(b, tableMagic, len(l.frames)*tableEntryBytes+footerBytes)
	for _, f := range l.frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(f.storedSize))
		b = binary.LittleEndian.AppendUint32(b, uint32(f.plainSize))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.frames)))
	b = append(b, 0) // entries have no checksums: frames do
	return binary.LittleEndian.AppendUint32(b, footerMagic)
}

func appendSkippableHeader(b []byte, magic uint32, size int) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	return binary.LittleEndian.AppendUint32(b, uint32(size))
}

// maxTrailerBytes is how much longer than the blob of so many bytes that which is stored can be.
func maxTrailerBytes(plain int64) int64 {
	return int64(minTrailerBytes) + (plain/frameBytes+1)*(tableEntryBytes+frameOverhead)
}

// errDamaged says that a compressed blob's frames and its table do not fit each other. To read it again does not help.
var errDamaged = errors.New("the compressed blob is damaged")

// trailerBytes returns how long the trailer is that stored bytes end with, 0 if they have none. It needs the last
// footerBytes of them.
func trailerBytes(tail []byte) int {
	if len(tail) < footerBytes || binary.LittleEndian.Uint32(tail[len(tail)-4:]) != footerMagic {
		return 0
	}
	n := binary.LittleEndian.Uint32(tail[len(tail)-footerBytes:])
	if n > maxFrames {
		return 0
	}
	return minTrailerBytes + int(n)*tableEntryBytes
}

// parseTrailer tells from the end of what is stored how it is stored. The tail is all of the trailer at least.
func parseTrailer(tail []byte, storedSize int64) (*layout, error) {
	size := trailerBytes(tail)
	if size == 0 || size > len(tail) {
		return &layout{form: plainForm, plainSize: storedSize}, nil
	}
	b := tail[len(tail)-size:]
	if binary.LittleEndian.Uint32(b) != markMagic || binary.LittleEndian.Uint32(b[4:]) != uint32(markPayloadBytes) ||
		!bytes.HasPrefix(b[skippableHeader:], []byte(markText)) {
		return &layout{form: plainForm, plainSize: storedSize}, nil // in the format, but not of this store
	}
	b = b[skippableHeader+len(markText):]
	l := &layout{form: storedForm(b[0]), plainSize: int64(binary.LittleEndian.Uint64(b[1:])), trailer: size}
	b = b[1+8+skippableHeader:]
	count := (len(b) - footerBytes) / tableEntryBytes
	if l.form == plainForm && count == 0 && l.plainSize == storedSize-int64(size) {
		return l, nil
	}
	l.frames = make([]frame, count)
	var at frame
	for i := range l.frames {
		at.storedSize = int(binary.LittleEndian.Uint32(b[i*tableEntryBytes:]))
		at.plainSize = int(binary.LittleEndian.Uint32(b[i*tableEntryBytes+4:]))
		if at.plainSize == 0 || at.plainSize > frameBytes {
			return nil, errDamaged
		}
		l.frames[i] = at
		at.stored, at.plain = at.stored+int64(at.storedSize), at.plain+int64(at.plainSize)
	}
	if l.form != compressedForm || at.plain != l.plainSize || at.stored != storedSize-int64(size) {
		return nil, errDamaged
	}
	return l, nil
}

// frameEncoder makes frames, for many callers at once. It is quick rather than tight: on documents' JSON the tighter
// levels gain a tenth, and take twice the time.
var frameEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(frameBytes),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// frameDecoder reads frames, for many callers at once.
var frameDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(4*frameBytes),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// appendPlain appends the plain bytes of a frame to b.
func (f frame) appendPlain(b, stored []byte) ([]byte, error) {
	// The decoder's bound on memory counts what is in the slice that it appends to.
	plain, err := frameDecoder().DecodeAll(stored, b[len(b):len(b):cap(b)])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	case len(plain) != f.plainSize:
		return nil, fmt.Errorf("%w: a frame has other bytes than the table says", errDamaged)
	}
	return append(b, plain...), nil // in place, where there was room
}

// decompress returns the plain bytes of a blob that is there as a whole.
func (l *layout) decompress(stored []byte) ([]byte, error) {
	b := make([]byte, 0, l.plainSize)
	var err error
	for _, f := range l.frames {
		if b, err = f.appendPlain(b, stored[f.stored:f.stored+int64(f.storedSize)]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
