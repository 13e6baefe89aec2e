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

// ErrFilter says that a stream is packed in a way that is not read here. Streams of the structure use Flate in
// practice.
var ErrFilter = errors.New("the stream's filter is not known")

// ReadStream returns the contents of an object's stream, decrypted and decoded. It is an error if there are more than
// limit bytes.
func (f *File) ReadStream(o Object, limit int) ([]byte, error) {
	raw, err := f.readRawStream(o, limit)
	if err != nil {
		return nil, err
	}
	if f.security != nil && !o.Lookup("Type").IsName("XRef") && !hasCryptFilter(o.Value) &&
		(f.security.Metadata || !o.Lookup("Type").IsName("Metadata")) {
		raw = f.security.decryptStream(raw, o.Number, o.Generation)
	}
	return f.decodeStream(o, raw, limit)
}

// hasCryptFilter reports whether a stream names its own encryption, in practice none.
func hasCryptFilter(dict Value) bool {
	filter := dict.Lookup("Filter")
	return filter.IsName("Crypt") || len(filter.List) > 0 && filter.List[0].IsName("Crypt")
}

// readPlainStream is ReadStream without decryption.
func (f *File) readPlainStream(o Object, limit int) ([]byte, error) {
	raw, err := f.readRawStream(o, limit)
	if err != nil {
		return nil, err
	}
	return f.decodeStream(o, raw, limit)
}

// readRawStream returns the bytes of a stream as they are in the file.
func (f *File) readRawStream(o Object, limit int) ([]byte, error) {
	if o.data < 0 {
		return nil, ErrDamaged
	}
	length := f.integerEntry(o.Value, "Length")
	if length < 0 || length > f.in.size-o.data || !f.in.hasEndstreamAt(o.data+length) {
		var err error
		if length, err = f.in.findStreamEnd(o.data); err != nil {
			return nil, err
		}
	}
	if length > int64(limit) {
		return nil, ErrDamaged
	}
	raw := make([]byte, length)
	n, err := f.in.readAt(raw, o.data)
	return raw[:n], err
}

func (f *File) decodeStream(o Object, raw []byte, limit int) ([]byte, error) {
	filter, err := f.ResolveEntry(o.Value, "Filter")
	if err != nil {
		return nil, err
	}
	parms, err := f.ResolveEntry(o.Value, "DecodeParms")
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
		if raw, err = applyFilter(filter, parm, raw, limit); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func applyFilter(filter, parm Value, raw []byte, limit int) ([]byte, error) {
	if filter.Kind == Null || filter.IsName("Crypt") {
		return raw, nil
	}
	parms := readDecodeParms(parm)
	r := decode.New(decode.ParseFilter([]byte(filter.decodedName())), &parms, bufio.NewReader(bytes.NewReader(raw)))
	if r == nil {
		return nil, ErrFilter
	}
	if r = decode.UndoPredictor(r, &parms); r == nil {
		return nil, ErrFilter
	}
	// What ends in damage is good up to there, as it is for PDFium.
	out, _ := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(out) > limit {
		return nil, ErrDamaged
	}
	return out, nil
}

// readDecodeParms reads a dictionary of decode parameters.
func readDecodeParms(dict Value) decode.Parms {
	p := decode.DefaultParms
	for _, e := range []struct {
		key string
		out *int32
	}{{"Predictor", &p.Predictor}, {"Columns", &p.Columns}, {"Colors", &p.Colors}, {"BitsPerComponent", &p.Bits}} {
		if v := dict.Lookup(e.key); v.Kind == Number {
			*e.out = int32(max(math.MinInt32, min(math.MaxInt32, v.Num)))
		}
	}
	early := dict.Lookup("EarlyChange")
	p.LateChange = early.Kind == Number && early.Num == 0
	return p
}
