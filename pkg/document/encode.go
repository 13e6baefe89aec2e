package document

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// evidenceField is the number of the field that the evidence is stored in, ahead of the page's own: one that inkstream.v1.Page does not use,
// so that whoever decodes the page passes over it.
const evidenceField = 2000

// Encode returns a page as it is stored: its evidence, then the page as protobuf. [proto.Unmarshal] reads it as a page.
func Encode(p *inkstreamv1.Page, e *Evidence) ([]byte, error) {
	packed := e.pack(make([]byte, 0, 64+48*len(e.Blocks)))
	b := make([]byte, 0, len(packed)+proto.Size(p)+16)
	b = protowire.AppendTag(b, evidenceField, protowire.BytesType)
	b = protowire.AppendBytes(b, packed)
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, p) // the size that was reckoned right above
	if err != nil {
		return nil, fmt.Errorf("encode page %d: %w", p.GetNumber(), err)
	}
	return b, nil
}

// Decode reads a page as [Encode] stored it, or one that was stored as JSON.
func Decode(data []byte) (*inkstreamv1.Page, error) {
	p := &inkstreamv1.Page{}
	if len(data) > 0 && data[0] == '{' {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, p); err != nil {
			return nil, fmt.Errorf("decode page: %w", err)
		}
		return p, nil
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("decode page: %w", err)
	}
	return p, nil
}

var errNoEvidence = errors.New("a stored page begins with no evidence")

// EvidenceOf reads the evidence of a stored page, and nothing else of it. A page that was stored without any is observed now.
func EvidenceOf(data []byte) (*Evidence, error) {
	e, err := storedEvidence(data)
	if !errors.Is(err, errNoEvidence) {
		return e, err
	}
	p, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return Observe(p), nil
}

func storedEvidence(data []byte) (*Evidence, error) {
	num, typ, n := protowire.ConsumeTag(data)
	if n < 0 || num != evidenceField || typ != protowire.BytesType {
		return nil, errNoEvidence
	}
	packed, n := protowire.ConsumeBytes(data[n:])
	if n < 0 {
		return nil, errNoEvidence
	}
	e := &Evidence{}
	if err := e.unpack(packed); err != nil {
		return nil, err
	}
	return e, nil
}

// evidenceVersion changes with the form below.
const evidenceVersion = 1

func (e *Evidence) pack(b []byte) []byte {
	b = append(b, evidenceVersion)
	b = uvarints(b, e.Number, e.Words)
	b = floats(b, e.Width, e.Height)
	b = uvarints(b, len(e.Language))
	for _, name := range slices.Sorted(maps.Keys(e.Language)) {
		b = uvarints(b, len(name))
		b = append(b, name...)
		b = uvarints(b, e.Language[name])
	}
	b = uvarints(b, len(e.Sizes))
	for _, size := range slices.Sorted(maps.Keys(e.Sizes)) {
		b = uvarints(b, size, e.Sizes[size])
	}
	b = uvarints(b, len(e.Blocks))
	for i := range e.Blocks {
		k := &e.Blocks[i]
		b = append(b, k.Type)
		b = floats(b, k.Box[:]...)
		b = uvarints(b, k.Size, k.Words, k.Lines, int(k.Flags), k.Depth, k.Tag, k.Columns, int(k.Style))
		b = binary.LittleEndian.AppendUint64(b, k.Key)
	}
	b = uvarints(b, len(e.Edges))
	for _, l := range e.Edges {
		bits := 0
		if l.Top {
			bits |= 1
		}
		if l.Bare {
			bits |= 2
		}
		b = uvarints(b, l.Block, l.Line, bits, l.Value, l.Words)
		b = floats(b, l.Y)
		b = binary.LittleEndian.AppendUint64(b, l.Key)
	}
	return b
}

func uvarints(b []byte, values ...int) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(max(0, v)))
	}
	return b
}

func floats(b []byte, values ...float32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// unpacker reads what pack wrote. After an error it reads zeros.
type unpacker struct {
	b   []byte
	err error
}

var errEvidence = errors.New("the evidence of a stored page is damaged")

func (u *unpacker) int() int {
	v, n := binary.Uvarint(u.b)
	if n <= 0 || v > math.MaxInt32*2 {
		u.err, u.b = errEvidence, nil
		return 0
	}
	u.b = u.b[n:]
	return int(v)
}

// count reads a number of items that take at least size bytes each.
func (u *unpacker) count(size int) int {
	n := u.int()
	if n > len(u.b)/size {
		u.err, u.b = errEvidence, nil
		return 0
	}
	return n
}

func (u *unpacker) bytes(n int) []byte {
	if n > len(u.b) {
		u.err, u.b = errEvidence, nil
		return make([]byte, min(n, 8))
	}
	out := u.b[:n]
	u.b = u.b[n:]
	return out
}

func (u *unpacker) float() float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(u.bytes(4)))
}

func (u *unpacker) uint64() uint64 { return binary.LittleEndian.Uint64(u.bytes(8)) }

func (e *Evidence) unpack(b []byte) error {
	if len(b) == 0 || b[0] != evidenceVersion {
		return errEvidence
	}
	u := unpacker{b: b[1:]}
	e.Number, e.Words = u.int(), u.int()
	e.Width, e.Height = u.float(), u.float()
	e.Language = map[string]int{}
	for range u.count(2) {
		name := string(u.bytes(u.int()))
		e.Language[name] = u.int()
	}
	e.Sizes = map[int]int{}
	for range u.count(2) {
		size := u.int()
		e.Sizes[size] = u.int()
	}
	e.Blocks = make([]BlockEvidence, u.count(33))
	for i := range e.Blocks {
		k := &e.Blocks[i]
		k.Type = u.bytes(1)[0]
		for j := range k.Box {
			k.Box[j] = u.float()
		}
		k.Size, k.Words, k.Lines, k.Flags, k.Depth, k.Tag = u.int(), u.int(), u.int(), Flags(u.int()), u.int(), u.int()
		k.Columns, k.Style = u.int(), uint32(u.int())
		k.Key = u.uint64()
	}
	e.Edges = make([]EdgeLine, u.count(17))
	for i := range e.Edges {
		l := &e.Edges[i]
		l.Block, l.Line = u.int(), u.int()
		bits := u.int()
		l.Top, l.Bare = bits&1 != 0, bits&2 != 0
		l.Value, l.Words, l.Y = u.int(), u.int(), u.float()
		l.Key = u.uint64()
	}
	return u.err
}

// Store returns an arranged page as it is stored, observed as it is.
func Store(p *inkstreamv1.Page) ([]byte, error) { return Encode(p, Observe(p)) }

// Replace returns a stored page with another in its place and the evidence that was stored with it.
func Replace(stored []byte, p *inkstreamv1.Page) ([]byte, error) {
	e, err := EvidenceOf(stored)
	if err != nil {
		e = Observe(p)
	}
	return Encode(p, e)
}

// TextOf reads the text and the language of a stored page, and nothing else of it.
func TextOf(data []byte) (text, language string, err error) {
	if len(data) > 0 && data[0] == '{' {
		p, err := Decode(data)
		return p.GetText(), p.GetLanguage(), err
	}
	const textField, languageField = 8, 19
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return "", "", protowire.ParseError(n)
		}
		data = data[n:]
		if typ == protowire.BytesType && (num == textField || num == languageField) {
			v, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return "", "", protowire.ParseError(n)
			}
			if num == textField {
				text = string(v)
			} else {
				language = string(v)
			}
			data = data[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
			return "", "", protowire.ParseError(n)
		}
		data = data[n:]
	}
	return text, language, nil
}
