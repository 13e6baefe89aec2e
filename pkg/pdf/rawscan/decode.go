package rawscan

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/flate"

	"inkstream.dev/pkg/pdf/internal/decode"
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
	flates [maxFilters]flate.Resetter
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
		if !decode.ZlibHeader(in) {
			return r, false
		}
		filters = []decode.Filter{decode.Flate}
	}
	for i, f := range filters {
		if f == decode.Crypt {
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

// decoder uses a Flate decoder again, for that is what nearly every stream needs, and a large one.
func (c *chain) decoder(f decode.Filter, p *decode.Parms, in *bufio.Reader) io.Reader {
	if f != decode.Flate || c.flates[c.n] == nil {
		d := decode.New(f, p, in)
		if f == decode.Flate {
			c.flates[c.n], _ = d.(flate.Resetter)
		}
		return d
	}
	decode.SkipZlibHeader(in)
	if err := c.flates[c.n].Reset(in, nil); err != nil {
		return nil
	}
	d, _ := c.flates[c.n].(io.Reader)
	return d
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
