// Package picture encodes decoded images as PNG: quickly rather than tightly, for they are encoded while a job waits. The standard library's
// encoder tries every filter on each row, takes pixels in another order and has no grey of one bit: at its fastest it takes 6 times as long for a
// grey scan, 11 times for one in black and white, and twice for a drawn page (of A4 at 300 and 150 dpi).
package picture

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Image is pixels as PDFium keeps them.
type Image struct {
	Pix                   []byte
	Width, Height, Stride int
	// Channels is 1 for grey, 3 for blue, green and red, 4 with a fourth byte that is left out.
	Channels int
}

// errUnsound says that the pixels are fewer than the size tells.
var errUnsound = errors.New("picture: the pixels do not fill the image")

// Sound reports whether the pixels are all there.
func (m Image) Sound() bool {
	return m.Width > 0 && m.Height > 0 && (m.Channels == 1 || m.Channels == 3 || m.Channels == 4) && m.Stride >= m.Width*m.Channels &&
		m.Stride <= len(m.Pix)/m.Height
}

// largePixels is the size beyond which an image that is not bilevel is only entropy-coded: three times as fast, and of a scan's noise little
// else can be said.
const largePixels = 3_000_000

const (
	grey, colour = 0, 2
	// filters of rows
	filterNone, filterSub, filterUp = 0, 1, 2
)

// EncodePNG writes the image: with a bit a pixel if it is black and white alone, else with a byte a channel.
func EncodePNG(w io.Writer, m Image) error {
	if !m.Sound() {
		return errUnsound
	}
	bits, kind := 8, byte(colour)
	if m.Channels == 1 {
		kind = grey
		if m.bilevel() {
			bits = 1
		}
	}
	e := encoder{w: w}
	_, e.err = io.WriteString(w, "\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(m.Width))
	head = binary.BigEndian.AppendUint32(head, uint32(m.Height))
	e.chunk("IHDR", append(head, byte(bits), kind, 0, 0, 0))
	body := &dataWriter{e: &e}
	level := zlib.BestSpeed
	if bits == 8 && m.Width > largePixels/m.Height {
		level = zlib.HuffmanOnly
	}
	z, err := zlib.NewWriterLevel(body, level)
	if err != nil {
		return err
	}
	if err := m.rows(z, bits); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	body.flush()
	e.chunk("IEND", nil)
	return e.err
}

// ones has the lowest bit of each of eight bytes.
const ones = 0x0101010101010101

// bilevel reports whether every pixel is black or white.
func (m Image) bilevel() bool {
	for y := range m.Height {
		row := m.Pix[y*m.Stride : y*m.Stride+m.Width]
		for ; len(row) >= 8; row = row[8:] {
			if v := binary.LittleEndian.Uint64(row); v != (v&ones)*0xFF {
				return false
			}
		}
		for _, v := range row {
			if v+1 > 1 { // neither 0 nor 255
				return false
			}
		}
	}
	return true
}

// rows writes the filtered rows.
func (m Image) rows(w io.Writer, bits int) error {
	size := m.Width * min(m.Channels, 3)
	if bits == 1 {
		size = (m.Width + 7) / 8
	}
	row, line := make([]byte, size), make([]byte, 1+size)
	prev := make([]byte, size)
	for y := range m.Height {
		m.row(row, m.Pix[y*m.Stride:y*m.Stride+m.Width*m.Channels], bits)
		switch {
		case bits == 1:
			line[0] = filterNone
			copy(line[1:], row)
		case m.Channels == 1:
			line[0] = filterUp
			for i, v := range row {
				line[1+i] = v - prev[i]
			}
		default:
			line[0] = filterSub
			const pixel = 3
			copy(line[1:], row[:pixel])
			for i := pixel; i < len(row); i++ {
				line[1+i] = row[i] - row[i-pixel]
			}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		row, prev = prev, row
	}
	return nil
}

// row makes one row of PNG's pixels.
func (m Image) row(out, pix []byte, bits int) {
	switch {
	case bits == 1:
		i := 0
		for ; len(pix) >= 8; i, pix = i+1, pix[8:] {
			// The product moves the lowest bit of each byte to the top byte, the first to its highest place.
			const gather = 0x8040201008040201
			out[i] = byte((binary.LittleEndian.Uint64(pix) & ones) * gather >> 56)
		}
		if len(pix) > 0 {
			out[i] = 0
			for j, v := range pix {
				out[i] |= v & (0x80 >> j)
			}
		}
	case m.Channels == 1:
		copy(out, pix)
	default:
		for i, j := 0, 0; i < len(out); i, j = i+3, j+m.Channels {
			out[i], out[i+1], out[i+2] = pix[j+2], pix[j+1], pix[j]
		}
	}
}

type encoder struct {
	w   io.Writer
	err error
}

func (e *encoder) chunk(kind string, data []byte) {
	if e.err != nil {
		return
	}
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind...)
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, data)
	for _, b := range [][]byte{head, data, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := e.w.Write(b); err != nil {
			e.err = err
			return
		}
	}
}

// dataWriter cuts the compressed rows into chunks.
type dataWriter struct {
	e   *encoder
	buf []byte
}

const dataChunk = 64 << 10

func (d *dataWriter) Write(p []byte) (int, error) {
	if d.buf = append(d.buf, p...); len(d.buf) >= dataChunk {
		d.flush()
	}
	return len(p), d.e.err
}

func (d *dataWriter) flush() {
	if len(d.buf) > 0 {
		d.e.chunk("IDAT", d.buf)
		d.buf = d.buf[:0]
	}
}
