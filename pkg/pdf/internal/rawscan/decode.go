package rawscan

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/flate"

	"inkstream.dev/pkg/pdf/internal/decode"
)

// inputCounter counts the bytes of the file that go into a decoder.
type inputCounter struct {
	src       io.Reader
	bytesRead int64
	budget    *budget
}

func (t *inputCounter) Read(p []byte) (int, error) {
	n, err := t.src.Read(p)
	t.bytesRead += int64(n)
	t.budget.fed += int64(n)
	return n, err
}

// outputMeter counts what comes out of a decoder, and ends it when it has become a bomb.
type outputMeter struct {
	src   io.Reader
	chain *decoderChain
	out   int64
}

func (m *outputMeter) Read(p []byte) (int, error) {
	n, err := m.src.Read(p)
	m.out += int64(n)
	b := m.chain.budget
	b.work += int64(n)
	if bad := b.checkOutput(m.out, m.chain.bytesRead(), m.chain.plain); bad != nil {
		m.chain.failed = bad
		return n, bad
	}
	return n, err
}

// decoderChain decodes one stream after the other; its buffers are used again.
type decoderChain struct {
	budget *budget
	plain  int64 // bytes that the stream's dictionary accounts for
	input  inputCounter
	stages [maxFilters]outputMeter
	n      int
	failed error // a bomb, or the end of the context
	base   *bufio.Reader
	bufs   [maxFilters]*bufio.Reader
	flates [maxFilters]flate.Resetter
	sink   []byte
}

// bytesRead returns how many bytes of the file the decoders have taken.
func (c *decoderChain) bytesRead() int64 { return c.input.bytesRead - int64(c.base.Buffered()) }

// openStream puts decoders for the stream's filters before raw. complete is false if a filter is left over that
// cannot be decoded.
func (c *decoderChain) openStream(a *streamAttrs, raw io.Reader, plain int64) (r io.Reader, complete bool) {
	c.plain, c.n, c.failed = plain, 0, nil
	c.input = inputCounter{src: raw, budget: c.budget}
	if c.base == nil {
		c.base = bufio.NewReaderSize(nil, 32<<10)
		c.sink = make([]byte, 64<<10)
	}
	c.base.Reset(&c.input)
	in := c.base
	r = in
	filters := a.filters[:min(a.nfilters, maxFilters)]
	if a.indirectFlt {
		// The filter is in another object. Flate's header is known by its checksum.
		if !decode.HasZlibHeader(in) {
			return r, false
		}
		filters = []decode.Filter{decode.Flate}
	}
	for i, f := range filters {
		if f == decode.Crypt {
			continue // the identity, unless the document is encrypted
		}
		d := c.newDecoder(f, a.decodeParms(i), in)
		if d == nil {
			return r, false
		}
		c.stages[c.n] = outputMeter{src: d, chain: c}
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

// newDecoder uses a Flate decoder again, for that is what nearly every stream needs, and a large one.
func (c *decoderChain) newDecoder(f decode.Filter, p *decode.Parms, in *bufio.Reader) io.Reader {
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

// closeStream settles the stream that was open, and reports whether it was a bomb or the context ended.
func (c *decoderChain) closeStream() error {
	in := c.bytesRead()
	for i := range c.n {
		c.budget.addTotals(c.stages[i].out, in, c.plain)
	}
	return c.failed
}

// readToEnd reads r to its end.
func (c *decoderChain) readToEnd(r io.Reader) {
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
