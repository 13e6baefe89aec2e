package structure

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"

	"inkstream.dev/pkg/pdf/internal/decode"
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
		(f.security.Metadata || !o.At("Type").Is("Metadata")) {
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
	if filter.Kind == Null || filter.Is("Crypt") {
		return raw, nil
	}
	parms := parmsOf(parm)
	r := decode.New(decode.Of([]byte(filter.name())), &parms, bufio.NewReader(bytes.NewReader(raw)))
	if r == nil {
		return nil, ErrFilter
	}
	if r = decode.Unpredict(r, &parms); r == nil {
		return nil, ErrFilter
	}
	// What ends in damage is good up to there, as it is for PDFium.
	out, _ := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(out) > limit {
		return nil, ErrDamaged
	}
	return out, nil
}

// parmsOf reads a dictionary of decode parameters.
func parmsOf(dict Value) decode.Parms {
	p := decode.DefaultParms
	for _, e := range []struct {
		key string
		out *int32
	}{{"Predictor", &p.Predictor}, {"Columns", &p.Columns}, {"Colors", &p.Colors}, {"BitsPerComponent", &p.Bits}} {
		if v := dict.At(e.key); v.Kind == Number {
			*e.out = int32(max(math.MinInt32, min(math.MaxInt32, v.Num)))
		}
	}
	early := dict.At("EarlyChange")
	p.LateChange = early.Kind == Number && early.Num == 0
	return p
}
