// Package decode unpacks the streams of PDFs, image formats excepted. Every decoder is a reader that holds no more
// than a row or a window.
package decode

import (
	"bufio"
	"compress/lzw"
	"io"

	"github.com/klauspost/compress/flate"
	tifflzw "golang.org/x/image/tiff/lzw"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

// Filter is a stream filter (ISO 32000-1 §7.4).
type Filter uint8

// The filters. Opaque is one whose output is an image, or that is not known; Crypt says how the stream is encrypted.
const (
	Opaque Filter = iota
	Flate
	LZW
	RunLength
	Hex
	Base85
	Crypt
)

// ParseFilter returns the filter of a name. It takes the abbreviations as well: the engine does.
func ParseFilter(name []byte) Filter {
	switch string(name) {
	case "FlateDecode", "Fl":
		return Flate
	case "LZWDecode", "LZW":
		return LZW
	case "RunLengthDecode", "RL":
		return RunLength
	case "ASCIIHexDecode", "AHx":
		return Hex
	case "ASCII85Decode", "A85":
		return Base85
	case "Crypt":
		return Crypt
	}
	return Opaque
}

// Parms are the decode parameters that change what a decoder yields; DefaultParms where a stream has none.
type Parms struct {
	Predictor, Columns, Colors, Bits int32
	LateChange                       bool // /EarlyChange 0
}

// DefaultParms are the parameters that a stream does not give.
var DefaultParms = Parms{Columns: 1, Colors: 1, Bits: 8}

// New returns a decoder of what in holds, without its predictor; nil for Opaque and Crypt. It is as lenient as
// readers are: what ends in damage is good up to there. How much comes out is the caller's to bound.
func New(f Filter, p *Parms, in *bufio.Reader) io.Reader {
	switch f {
	case Flate:
		SkipZlibHeader(in)
		return flate.NewReader(in)
	case LZW:
		if p.LateChange {
			return lzw.NewReader(in, lzw.MSB, 8)
		}
		return tifflzw.NewReader(in, tifflzw.MSB, 8)
	case RunLength:
		return &runLength{src: in}
	case Hex:
		return &asciiHex{src: in}
	case Base85:
		return &base85{src: in}
	}
	return nil
}

// HasZlibHeader reports whether a zlib stream begins here.
func HasZlibHeader(in *bufio.Reader) bool {
	h, err := in.Peek(2)
	return err == nil && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0
}

// SkipZlibHeader passes a header, and a line end that does not belong before it. Checksums do not matter here, so the
// bare Flate decoder does.
func SkipZlibHeader(in *bufio.Reader) {
	for range 2 {
		if h, err := in.Peek(1); err == nil && (h[0] == '\r' || h[0] == '\n') {
			_, _ = in.Discard(1)
		}
	}
	if h, err := in.Peek(2); err == nil && h[0]&0x0f == 8 {
		n := 2
		if h[1]&0x20 != 0 { // a preset dictionary's number
			n = 6
		}
		_, _ = in.Discard(n)
	}
}

// runLength decodes RunLengthDecode (ISO 32000-1 §7.4.5).
type runLength struct {
	src    *bufio.Reader
	copies int // bytes left to copy
	repeat int // times left to repeat value
	value  byte
}

func (d *runLength) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case d.repeat > 0:
			m := min(d.repeat, len(p)-n)
			for i := range m {
				p[n+i] = d.value
			}
			d.repeat -= m
			n += m
		case d.copies > 0:
			m, err := d.src.Read(p[n:min(len(p), n+d.copies)])
			d.copies -= m
			n += m
			if err != nil {
				return n, err
			}
		default:
			c, err := d.src.ReadByte()
			if err != nil {
				return n, err
			}
			switch {
			case c == 128:
				return n, io.EOF
			case c < 128:
				d.copies = int(c) + 1
			default:
				if d.value, err = d.src.ReadByte(); err != nil {
					return n, err
				}
				d.repeat = 257 - int(c)
			}
		}
	}
	return n, nil
}

// asciiHex decodes ASCIIHexDecode. Any other character ends it.
type asciiHex struct{ src *bufio.Reader }

func (d *asciiHex) Read(p []byte) (int, error) {
	for n := range p {
		hi, err := d.nextDigit()
		if err != nil {
			return n, err
		}
		lo, err := d.nextDigit()
		p[n] = hi<<4 | lo
		if err != nil { // an odd last digit is followed by 0
			return n + 1, err
		}
	}
	return len(p), nil
}

func (d *asciiHex) nextDigit() (byte, error) {
	for {
		c, err := d.src.ReadByte()
		if err != nil {
			return 0, err
		}
		if syntax.Class[c] == syntax.White {
			continue
		}
		v := syntax.HexDigitValue(c)
		if v == syntax.NotHexDigit {
			return 0, io.EOF
		}
		return v, nil
	}
}

// base85 decodes ASCII85Decode. Any character that is not of it ends it.
type base85 struct {
	src  *bufio.Reader
	out  [4]byte
	have int // bytes of out that are left, at its end
	err  error
}

func (d *base85) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if d.have == 0 {
			if d.err != nil {
				return n, d.err
			}
			d.decodeGroup()
			continue
		}
		m := copy(p[n:], d.out[4-d.have:])
		d.have -= m
		n += m
	}
	return n, nil
}

// decodeGroup decodes up to five digits into up to four bytes.
func (d *base85) decodeGroup() {
	var v uint32
	digits := 0
	for digits < 5 {
		c, err := d.src.ReadByte()
		if err == nil && syntax.Class[c] == syntax.White {
			continue
		}
		if err == nil && c == 'z' && digits == 0 {
			d.out, d.have = [4]byte{}, 4
			return
		}
		if err == nil && (c < '!' || c > 'u') {
			err = io.EOF
		}
		if err != nil {
			d.err = err
			break
		}
		v = v*85 + uint32(c-'!')
		digits++
	}
	if digits < 2 {
		return
	}
	for range 5 - digits {
		v = v*85 + 84
	}
	b := [4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	d.have = digits - 1
	copy(d.out[4-d.have:], b[:d.have])
}
