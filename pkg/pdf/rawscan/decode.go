package rawscan

import (
	"bufio"
	"compress/lzw"
	"io"

	"github.com/klauspost/compress/flate"
	tifflzw "golang.org/x/image/tiff/lzw"
)

// tap counts the bytes of the file that go into a decoder.
type tap struct {
	src    io.Reader
	n      int64
	budget *budget
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.src.Read(p)
	t.n += int64(n)
	t.budget.fed += int64(n)
	return n, err
}

// meter counts what comes out of a decoder, and ends it when it has become a bomb.
type meter struct {
	src   io.Reader
	chain *chain
	out   int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.src.Read(p)
	m.out += int64(n)
	b := m.chain.budget
	b.work += int64(n)
	if bad := b.check(m.out, m.chain.in(), m.chain.plain); bad != nil {
		m.chain.failed = bad
		return n, bad
	}
	return n, err
}

// chain decodes one stream after the other; its buffers are used again.
type chain struct {
	budget *budget
	plain  int64 // bytes that the stream's dictionary accounts for
	tap    tap
	stages [maxFilters]meter
	n      int
	failed error // a bomb, or the end of the context
	base   *bufio.Reader
	bufs   [maxFilters]*bufio.Reader
	flates [maxFilters]io.ReadCloser
	sink   []byte
}

// in returns how many bytes of the file the decoders have taken.
func (c *chain) in() int64 { return c.tap.n - int64(c.base.Buffered()) }

// open puts decoders for the stream's filters before raw. complete is false if a filter is left over that cannot be decoded.
func (c *chain) open(a *attrs, raw io.Reader, plain int64) (r io.Reader, complete bool) {
	c.plain, c.n, c.failed = plain, 0, nil
	c.tap = tap{src: raw, budget: c.budget}
	if c.base == nil {
		c.base = bufio.NewReaderSize(nil, 32<<10)
		c.sink = make([]byte, 64<<10)
	}
	c.base.Reset(&c.tap)
	in := c.base
	r = in
	filters := a.filters[:min(a.nfilters, maxFilters)]
	if a.indirectFlt {
		// The filter is in another object. Flate's header is known by its checksum.
		if !zlibHeader(in) {
			return r, false
		}
		filters = []filter{filterFlate}
	}
	for i, f := range filters {
		if f == filterCrypt {
			continue // the identity, unless the document is encrypted
		}
		d := c.decoder(f, a.parm(i), in)
		if d == nil {
			return r, false
		}
		c.stages[c.n] = meter{src: d, chain: c}
		r = &c.stages[c.n]
		if c.bufs[c.n] == nil {
			c.bufs[c.n] = bufio.NewReaderSize(nil, 16<<10)
		}
		in = c.bufs[c.n]
		in.Reset(r)
		c.n++
	}
	return r, true
}

func (c *chain) decoder(f filter, p *parms, in *bufio.Reader) io.Reader {
	switch f {
	case filterFlate:
		skipZlibHeader(in)
		if c.flates[c.n] == nil {
			c.flates[c.n] = flate.NewReader(in)
		} else if err := c.flates[c.n].(flate.Resetter).Reset(in, nil); err != nil {
			return nil
		}
		return c.flates[c.n]
	case filterLZW:
		if p.lateChange {
			return lzw.NewReader(in, lzw.MSB, 8)
		}
		return tifflzw.NewReader(in, tifflzw.MSB, 8)
	case filterRunLength:
		return &runLength{src: in}
	case filterHex:
		return &asciiHex{src: in}
	case filter85:
		return &base85{src: in}
	}
	return nil
}

// close settles the stream that was open, and reports whether it was a bomb or the context ended.
func (c *chain) close() error {
	in := c.in()
	for i := range c.n {
		c.budget.settle(c.stages[i].out, in, c.plain)
	}
	return c.failed
}

// discard reads r to its end.
func (c *chain) discard(r io.Reader) {
	for idle := 0; idle < 100; {
		n, err := r.Read(c.sink)
		if err != nil {
			return
		}
		if n == 0 {
			idle++
		} else {
			idle = 0
		}
	}
}

// zlibHeader reports whether a zlib stream begins here.
func zlibHeader(in *bufio.Reader) bool {
	h, err := in.Peek(2)
	return err == nil && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0
}

// skipZlibHeader passes a header, and a line end that does not belong before it. Checksums do not matter here, so the bare Flate decoder does.
func skipZlibHeader(in *bufio.Reader) {
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
		hi, err := d.digit()
		if err != nil {
			return n, err
		}
		lo, err := d.digit()
		p[n] = hi<<4 | lo
		if err != nil { // an odd last digit is followed by 0
			return n + 1, err
		}
	}
	return len(p), nil
}

func (d *asciiHex) digit() (byte, error) {
	for {
		c, err := d.src.ReadByte()
		if err != nil {
			return 0, err
		}
		if class[c] == white {
			continue
		}
		v := unhex(c)
		if v > 15 {
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
			d.group()
			continue
		}
		m := copy(p[n:], d.out[4-d.have:])
		d.have -= m
		n += m
	}
	return n, nil
}

// group decodes up to five digits into up to four bytes.
func (d *base85) group() {
	var v uint32
	digits := 0
	for digits < 5 {
		c, err := d.src.ReadByte()
		if err == nil && class[c] == white {
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
