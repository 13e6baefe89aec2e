package structure

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
	"golang.org/x/image/tiff/lzw"
)

// maxInflated bounds what a stream of the structure inflates to.
const maxInflated = 96 << 20

// ErrFilter says that a stream is packed in a way that is not read here. Streams of the structure use Flate in practice.
var ErrFilter = errors.New("the stream's filter is not known")

// Stream returns the contents of an object's stream, decrypted and decoded. It is an error if there are more than limit bytes.
func (f *File) Stream(o Object, limit int) ([]byte, error) {
	raw, err := f.rawStream(o, limit)
	if err != nil {
		return nil, err
	}
	if f.security != nil && !o.At("Type").Is("XRef") && !cryptFilter(o.Value) &&
		(f.security.metadata || !o.At("Type").Is("Metadata")) {
		raw = f.security.decryptStream(raw, o.Number, o.Generation)
	}
	return f.decode(o, raw, limit)
}

// cryptFilter reports whether a stream names its own encryption, in practice none.
func cryptFilter(dict Value) bool {
	filter := dict.At("Filter")
	return filter.Is("Crypt") || len(filter.List) > 0 && filter.List[0].Is("Crypt")
}

// plainStream is Stream without decryption.
func (f *File) plainStream(o Object, limit int) ([]byte, error) {
	raw, err := f.rawStream(o, limit)
	if err != nil {
		return nil, err
	}
	return f.decode(o, raw, limit)
}

// rawStream returns the bytes of a stream as they are in the file.
func (f *File) rawStream(o Object, limit int) ([]byte, error) {
	if o.data < 0 {
		return nil, ErrDamaged
	}
	length := f.integer(o.Value, "Length")
	if length < 0 || length > f.size-o.data || !f.endsAt(o.data+length) {
		var err error
		if length, err = f.streamEnd(o.data); err != nil {
			return nil, err
		}
	}
	if length > int64(limit) {
		return nil, ErrDamaged
	}
	raw := make([]byte, length)
	n, err := f.readAt(raw, o.data)
	return raw[:n], err
}

var endstream = []byte("endstream")

func (f *File) endsAt(off int64) bool {
	var b [32]byte
	n, err := f.readAt(b[:], off)
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(b[:n], "\x00\t\n\f\r "), endstream)
}

// streamEnd looks for the end of a stream whose length is wrong.
func (f *File) streamEnd(from int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for off := from; off < f.size; off += int64(len(buf) - len(endstream)) {
		n, err := f.readAt(buf, off)
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(buf[:n], endstream); i >= 0 {
			return off + int64(i) - from, nil
		}
	}
	return 0, ErrDamaged
}

func (f *File) decode(o Object, raw []byte, limit int) ([]byte, error) {
	filter, err := f.Entry(o.Value, "Filter")
	if err != nil {
		return nil, err
	}
	parms, err := f.Entry(o.Value, "DecodeParms")
	if err != nil {
		return nil, err
	}
	filters, all := []Value{filter}, []Value{parms}
	if filter.Kind == Array {
		filters, all = filter.List, parms.List
	}
	for i, filter := range filters {
		var parm Value
		if i < len(all) {
			if parm, err = f.Resolve(all[i]); err != nil {
				return nil, err
			}
		}
		if raw, err = decodeOne(filter, parm, raw, limit); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func decodeOne(filter, parm Value, raw []byte, limit int) ([]byte, error) {
	var r io.Reader
	switch {
	case filter.Kind == Null, filter.Is("Crypt"):
		return raw, nil
	case filter.Is("FlateDecode"), filter.Is("Fl"):
		if len(raw) >= 2 && raw[0]&0x0f == 8 {
			raw = raw[2:]
		}
		r = flate.NewReader(bytes.NewReader(raw))
	case filter.Is("LZWDecode"), filter.Is("LZW"):
		r = lzw.NewReader(bytes.NewReader(raw), lzw.MSB, 8)
	default:
		return nil, ErrFilter
	}
	// What ends in damage is good up to there, as it is for PDFium.
	out, _ := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(out) > limit {
		return nil, ErrDamaged
	}
	return unpredict(out, parm)
}

// unpredict undoes a PNG predictor (ISO 32000-1 §7.4.4.4), in place.
func unpredict(b []byte, parm Value) ([]byte, error) {
	predictor := parm.At("Predictor").Num
	if predictor <= 1 {
		return b, nil
	}
	colors, bits, columns := max(1, parm.At("Colors").Num), parm.At("BitsPerComponent").Num, max(1, parm.At("Columns").Num)
	if bits <= 0 {
		bits = 8
	}
	if predictor < 10 || colors > 32 || bits > 16 || columns > 1<<20 {
		return nil, ErrFilter
	}
	size, step := int((colors*bits*columns+7)/8), int(max(1, colors*bits/8))
	out, prev := b[:0], make([]byte, size)
	for in := bufio.NewReader(bytes.NewReader(b)); ; {
		method, err := in.ReadByte()
		if err != nil {
			return out, nil //nolint:nilerr // the end
		}
		row := make([]byte, size)
		n, _ := io.ReadFull(in, row)
		unfilter(method, row[:n], prev, step)
		out = append(out, row[:n]...)
		prev = row
	}
}

func unfilter(method byte, row, prev []byte, step int) {
	for i := range row {
		var left, corner byte
		if i >= step {
			left, corner = row[i-step], prev[i-step]
		}
		switch method {
		case 1:
			row[i] += left
		case 2:
			row[i] += prev[i]
		case 3:
			row[i] += byte((int(left) + int(prev[i])) / 2)
		case 4:
			row[i] += paeth(left, prev[i], corner)
		}
	}
}

func paeth(a, b, c byte) byte {
	distance := func(v byte) int {
		d := int(a) + int(b) - int(c) - int(v)
		return max(d, -d)
	}
	pa, pb, pc := distance(a), distance(b), distance(c)
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}
