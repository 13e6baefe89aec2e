package decode

import "io"

// maxRow bounds a predictor's row. Object streams that use one have rows of a few bytes.
const maxRow = 1 << 20

// predictorReader undoes a predictor (ISO 32000-1 §7.4.4.4).
type predictorReader struct {
	src       io.Reader
	png       bool
	step      int // bytes a pixel
	row, prev []byte
	unread    []byte // of row
	err       error
}

// UndoPredictor returns what r yields without its predictor: r itself where it has none, and nil where it has one
// that is not known.
func UndoPredictor(r io.Reader, p *Parms) io.Reader {
	if p.Predictor <= 1 {
		return r
	}
	colors, bits, columns := max(1, int64(p.Colors)), max(1, int64(p.Bits)), max(1, int64(p.Columns))
	if colors > 32 || bits > 16 || columns > maxRow {
		return nil
	}
	size := (columns*colors*bits + 7) / 8
	if size > maxRow || p.Predictor == 2 && bits != 8 {
		return nil
	}
	return &predictorReader{
		src:  r,
		png:  p.Predictor >= 10,
		step: int(max(1, colors*bits/8)),
		row:  make([]byte, size),
		prev: make([]byte, size),
	}
}

func (u *predictorReader) Read(p []byte) (int, error) {
	if len(u.unread) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.decodeRow()
	}
	n := copy(p, u.unread)
	u.unread = u.unread[n:]
	return n, nil
}

// decodeRow decodes the next row. A last row may be short.
func (u *predictorReader) decodeRow() {
	method := byte(1)
	if u.png {
		var b [1]byte
		if _, u.err = io.ReadFull(u.src, b[:]); u.err != nil {
			return
		}
		method = b[0]
	}
	u.row, u.prev = u.prev, u.row
	n, err := io.ReadFull(u.src, u.row)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	u.err = err
	for i := range n {
		var a, c byte
		b := u.prev[i]
		if i >= u.step {
			a, c = u.row[i-u.step], u.prev[i-u.step]
		}
		switch method {
		case 1:
			u.row[i] += a
		case 2:
			u.row[i] += b
		case 3:
			u.row[i] += byte((int(a) + int(b)) / 2)
		case 4:
			u.row[i] += paethPredictor(a, b, c)
		}
	}
	u.unread = u.row[:n]
}

func paethPredictor(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	pa, pb, pc := absDifference(p, a), absDifference(p, b), absDifference(p, c)
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

func absDifference(p int, v byte) int {
	d := p - int(v)
	return max(d, -d)
}
