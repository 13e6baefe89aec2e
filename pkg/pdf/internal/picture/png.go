// Package picture encodes decoded images as PNG: quickly rather than tightly, for they are encoded while a job waits.
// The standard library's encoder tries every filter on each row, takes pixels in another order and has no grey of one
// bit: at its fastest it takes 6 times as long for a grey scan, 11 times for one in black and white, and twice for a
// drawn page (of A4 at 300 and 150 dpi).
package picture

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zlib"
)

// Image is pixels as PDFium keeps them.
type Image struct {
	Pix                   []byte
	Width, Height, Stride int
	// Channels is 1 for grey, 3 for blue, green and red, 4 with a fourth byte that is left out.
	Channels int
}

// errTooFewPixels says that the pixels are fewer than the size tells.
var errTooFewPixels = errors.New("picture: the pixels do not fill the image")

// Valid reports whether the pixels are all there.
func (m Image) Valid() bool {
	return m.Width > 0 && m.Height > 0 && (m.Channels == 1 || m.Channels == 3 || m.Channels == 4) &&
		m.Stride >= m.Width*m.Channels &&
		m.Stride <= len(m.Pix)/m.Height
}

// largePixels is the size beyond which an image that is not bilevel is only entropy-coded: three times as fast, and
// of a scan's noise little else can be said.
const largePixels = 3_000_000

const (
	pngGrey, pngColour = 0, 2
	// filters of rows
	filterNone, filterSub, filterUp = 0, 1, 2
)

// Encoder writes PNGs, one after the other: the memory that one took serves the next. It is not safe for concurrent
// use.
type Encoder struct {
	fast, huffman *zlib.Writer
	packed        []byte // rows before they are compressed
	data          []byte // compressed, and not yet in a chunk
}

// Encode writes the image: with a bit a pixel if it is black and white alone, else with a byte a channel.
func (e *Encoder) Encode(w io.Writer, m Image) error {
	if !m.Valid() {
		return errTooFewPixels
	}
	bits, kind := 8, byte(pngColour)
	if m.Channels == 1 {
		kind = pngGrey
		if e.packBilevel(m) {
			bits = 1
		}
	}
	out := &chunkWriter{w: w}
	_, out.err = io.WriteString(w, "\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(m.Width))
	head = binary.BigEndian.AppendUint32(head, uint32(m.Height))
	out.writeChunk("IHDR", append(head, byte(bits), kind, 0, 0, 0))
	body := &dataWriter{out: out, buf: e.data[:0]}
	z, err := e.resetCompressor(body, bits == 8 && m.Width > largePixels/m.Height)
	if err != nil {
		return err
	}
	if bits == 1 {
		_, err = z.Write(e.packed)
	} else {
		err = e.writeRows(z, m)
	}
	if err == nil {
		err = z.Close()
	}
	body.flushChunk()
	e.data = body.buf
	if err != nil {
		return err
	}
	out.writeChunk("IEND", nil)
	return out.err
}

// resetCompressor returns a writer that compresses to w.
func (e *Encoder) resetCompressor(w io.Writer, large bool) (*zlib.Writer, error) {
	z, level := &e.fast, zlib.BestSpeed
	if large {
		z, level = &e.huffman, zlib.HuffmanOnly
	}
	if *z != nil {
		(*z).Reset(w)
		return *z, nil
	}
	var err error
	*z, err = zlib.NewWriterLevel(w, level)
	return *z, err
}

// packBilevel makes the rows of a grey image with a bit a pixel, each behind its filter. It reports false if not
// every pixel is black or white.
func (e *Encoder) packBilevel(m Image) bool {
	size := 1 + (m.Width+7)/8
	e.packed = slices.Grow(e.packed[:0], size*m.Height)[:size*m.Height]
	for y := range m.Height {
		line := e.packed[y*size : (y+1)*size]
		line[0] = filterNone
		if !packBilevelRow(line[1:], m.Pix[y*m.Stride:y*m.Stride+m.Width]) {
			return false
		}
	}
	return true
}

// packBilevelRow makes a bit of each pixel, and reports whether all of them were black or white.
func packBilevelRow(out, pix []byte) bool {
	const (
		ones  = 0x0101010101010101 // the lowest bit of each of eight bytes
		white = math.MaxUint64
		// gather moves the lowest bit of each byte to the top byte, the first to its highest place.
		gather = 0x8040201008040201
		block  = 64 // pixels: most of a page's are white
	)
	var other uint64 // bits that are not as black and white are
	for len(pix) >= block {
		p, o := pix[:block], out[:block/8]
		all := binary.LittleEndian.Uint64(p[0:]) & binary.LittleEndian.Uint64(p[8:]) & binary.LittleEndian.Uint64(p[16:]) &
			binary.LittleEndian.Uint64(p[24:]) & binary.LittleEndian.Uint64(p[32:]) & binary.LittleEndian.Uint64(p[40:]) &
			binary.LittleEndian.Uint64(p[48:]) & binary.LittleEndian.Uint64(p[56:])
		if all == white {
			binary.LittleEndian.PutUint64(o, white)
		} else {
			for i := range o {
				v := binary.LittleEndian.Uint64(p[8*i:])
				bits := v & ones
				other |= v ^ bits*0xFF
				o[i] = byte(bits * gather >> 56)
			}
		}
		pix, out = pix[block:], out[block/8:]
	}
	clear(out)
	for i, v := range pix {
		out[i/8] |= v & (0x80 >> (i % 8))
		if v+1 > 1 { // neither 0 nor 255
			other = 1
		}
	}
	return other == 0
}

// writeRows writes the filtered rows of an image with a byte a channel.
func (e *Encoder) writeRows(w io.Writer, m Image) error {
	size := m.Width * min(m.Channels, 3)
	e.packed = slices.Grow(e.packed[:0], 1+2*size)[:1+2*size]
	line, above := e.packed[:1+size], e.packed[1+size:]
	clear(above) // the first row has none above it
	for y := range m.Height {
		pix := m.Pix[y*m.Stride : y*m.Stride+m.Width*m.Channels]
		if m.Channels == 1 {
			line[0] = filterUp
			subtractRowAbove(line[1:], pix, above)
			above = pix
		} else {
			line[0] = filterSub
			subtractPixelBefore(line[1:], pix, m.Channels)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// subtractRowAbove subtracts the row above.
func subtractRowAbove(out, pix, above []byte) {
	out, above = out[:len(pix)], above[:len(pix)]
	for i, v := range pix {
		out[i] = v - above[i]
	}
}

// subtractPixelBefore makes red, green and blue of PDFium's order and subtracts the pixel before.
func subtractPixelBefore(out, pix []byte, channels int) {
	var red, green, blue byte
	for len(out) >= 3 && len(pix) >= channels {
		p := pix[:3]
		out[0], out[1], out[2] = p[2]-red, p[1]-green, p[0]-blue
		red, green, blue = p[2], p[1], p[0]
		out, pix = out[3:], pix[channels:]
	}
}

// chunkWriter writes the parts of a PNG.
type chunkWriter struct {
	w   io.Writer
	err error
}

func (c *chunkWriter) writeChunk(kind string, data []byte) {
	if c.err != nil {
		return
	}
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind...)
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, data)
	for _, b := range [][]byte{head, data, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := c.w.Write(b); err != nil {
			c.err = err
			return
		}
	}
}

// dataWriter cuts the compressed rows into chunks.
type dataWriter struct {
	out *chunkWriter
	buf []byte
}

const dataChunk = 64 << 10

func (d *dataWriter) Write(p []byte) (int, error) {
	if d.buf = append(d.buf, p...); len(d.buf) >= dataChunk {
		d.flushChunk()
	}
	return len(p), d.out.err
}

func (d *dataWriter) flushChunk() {
	if len(d.buf) > 0 {
		d.out.writeChunk("IDAT", d.buf)
		d.buf = d.buf[:0]
	}
}
