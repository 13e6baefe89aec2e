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

// evidenceField is the number of the field that the evidence is stored in, ahead of the page's own: one that
// inkstream.v1.Page does not use, so that a reader that decodes the page skips it.
const evidenceField = 2000

// EncodePage returns a page as it is stored: its evidence, then the page as protobuf. [proto.Unmarshal] reads it as a
// page.
func EncodePage(p *inkstreamv1.Page, e *Evidence) ([]byte, error) { return encodeFields(p, e, nil) }

// encodeFields returns the evidence, the field of the columns if there is one, and the page.
func encodeFields(p *inkstreamv1.Page, e *Evidence, columns []byte) ([]byte, error) {
	packed := e.appendEncoded(make([]byte, 0, 64+48*len(e.Blocks)))
	b := make([]byte, 0, len(packed)+len(columns)+proto.Size(p)+32)
	b = protowire.AppendTag(b, evidenceField, protowire.BytesType)
	b = protowire.AppendBytes(b, packed)
	b = append(b, columns...)
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, p) // the size that was reckoned right above
	if err != nil {
		return nil, fmt.Errorf("encode page %d: %w", p.GetNumber(), err)
	}
	return b, nil
}

// DecodePage reads a page as [EncodePage] or [EncodeCompactPage] stored it, or one that was stored as JSON.
func DecodePage(data []byte) (*inkstreamv1.Page, error) {
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
	if columns, form := takeColumns(data); columns != nil {
		if err := form.restoreWords(p, columns); err != nil {
			return nil, fmt.Errorf("decode page: %w", err)
		}
	}
	return p, nil
}

var errNoEvidence = errors.New("a stored page begins with no evidence")

// DecodeEvidence reads the evidence of a stored page, and nothing else of it. A page that was stored without any is
// observed now.
func DecodeEvidence(data []byte) (*Evidence, error) {
	e, err := evidenceBytes(data)
	if !errors.Is(err, errNoEvidence) {
		return e, err
	}
	p, err := DecodePage(data)
	if err != nil {
		return nil, err
	}
	return ObservePage(p), nil
}

func evidenceBytes(data []byte) (*Evidence, error) {
	num, typ, n := protowire.ConsumeTag(data)
	if n < 0 || num != evidenceField || typ != protowire.BytesType {
		return nil, errNoEvidence
	}
	packed, n := protowire.ConsumeBytes(data[n:])
	if n < 0 {
		return nil, errNoEvidence
	}
	e := &Evidence{}
	if err := e.decodeFrom(packed); err != nil {
		return nil, err
	}
	return e, nil
}

// evidenceVersion changes with the form below.
const evidenceVersion = 1

func (e *Evidence) appendEncoded(b []byte) []byte {
	b = append(b, evidenceVersion)
	b = appendUvarints(b, e.Number, e.Words)
	b = appendFloats(b, e.Width, e.Height)
	b = appendUvarints(b, len(e.Language))
	for _, name := range slices.Sorted(maps.Keys(e.Language)) {
		b = appendUvarints(b, len(name))
		b = append(b, name...)
		b = appendUvarints(b, e.Language[name])
	}
	b = appendUvarints(b, len(e.Sizes))
	for _, size := range slices.Sorted(maps.Keys(e.Sizes)) {
		b = appendUvarints(b, size, e.Sizes[size])
	}
	b = appendUvarints(b, len(e.Blocks))
	for i := range e.Blocks {
		k := &e.Blocks[i]
		b = append(b, k.Type)
		b = appendFloats(b, k.Box[:]...)
		b = appendUvarints(b, k.Size, k.Words, k.Lines, int(k.Flags), k.Depth, k.Tag, k.Columns, int(k.Style))
		b = binary.LittleEndian.AppendUint64(b, k.Key)
	}
	b = appendUvarints(b, len(e.Edges))
	for _, l := range e.Edges {
		bits := 0
		if l.Top {
			bits |= 1
		}
		if l.Bare {
			bits |= 2
		}
		if l.Numbered {
			bits |= 4
		}
		b = appendUvarints(b, l.Block, l.Line, bits, l.Value, l.Words)
		b = appendFloats(b, l.Y)
		b = binary.LittleEndian.AppendUint64(b, l.Key)
	}
	return b
}

func appendUvarints(b []byte, values ...int) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(max(0, v)))
	}
	return b
}

func appendFloats(b []byte, values ...float32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// evidenceDecoder reads what pack wrote. After an error it reads zeros.
type evidenceDecoder struct {
	b   []byte
	err error
}

var errCorruptEvidence = errors.New("the evidence of a stored page is damaged")

func (u *evidenceDecoder) readInt() int {
	v, n := binary.Uvarint(u.b)
	if n <= 0 || v > math.MaxInt32*2 {
		u.err, u.b = errCorruptEvidence, nil
		return 0
	}
	u.b = u.b[n:]
	return int(v)
}

// readCount reads a number of items that take at least size bytes each.
func (u *evidenceDecoder) readCount(size int) int {
	n := u.readInt()
	if n > len(u.b)/size {
		u.err, u.b = errCorruptEvidence, nil
		return 0
	}
	return n
}

func (u *evidenceDecoder) readBytes(n int) []byte {
	if n > len(u.b) {
		u.err, u.b = errCorruptEvidence, nil
		return make([]byte, min(n, 8))
	}
	out := u.b[:n]
	u.b = u.b[n:]
	return out
}

func (u *evidenceDecoder) readFloat() float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(u.readBytes(4)))
}

func (u *evidenceDecoder) readUint64() uint64 { return binary.LittleEndian.Uint64(u.readBytes(8)) }

func (e *Evidence) decodeFrom(b []byte) error {
	if len(b) == 0 || b[0] != evidenceVersion {
		return errCorruptEvidence
	}
	u := evidenceDecoder{b: b[1:]}
	e.Number, e.Words = u.readInt(), u.readInt()
	e.Width, e.Height = u.readFloat(), u.readFloat()
	e.Language = map[string]int{}
	for range u.readCount(2) {
		name := string(u.readBytes(u.readInt()))
		e.Language[name] = u.readInt()
	}
	e.Sizes = map[int]int{}
	for range u.readCount(2) {
		size := u.readInt()
		e.Sizes[size] = u.readInt()
	}
	e.Blocks = make([]BlockEvidence, u.readCount(33))
	for i := range e.Blocks {
		k := &e.Blocks[i]
		k.Type = u.readBytes(1)[0]
		for j := range k.Box {
			k.Box[j] = u.readFloat()
		}
		k.Size, k.Words, k.Lines, k.Flags, k.Depth, k.Tag = u.readInt(), u.readInt(), u.readInt(), Flags(u.readInt()),
			u.readInt(), u.readInt()
		k.Columns, k.Style = u.readInt(), uint32(u.readInt())
		k.Key = u.readUint64()
	}
	e.Edges = make([]EdgeLine, u.readCount(17))
	for i := range e.Edges {
		l := &e.Edges[i]
		l.Block, l.Line = u.readInt(), u.readInt()
		bits := u.readInt()
		l.Top, l.Bare, l.Numbered = bits&1 != 0, bits&2 != 0, bits&4 != 0
		l.Value, l.Words, l.Y = u.readInt(), u.readInt(), u.readFloat()
		l.Key = u.readUint64()
	}
	return u.err
}

// EncodeObservedPage returns an arranged page as it is stored, observed as it is.
func EncodeObservedPage(p *inkstreamv1.Page) ([]byte, error) { return EncodePage(p, ObservePage(p)) }

// ReplacePage returns a stored page with another in its place and the evidence that was stored with it, in the same
// form. Nothing else may read the page at the same time.
func ReplacePage(stored []byte, p *inkstreamv1.Page) ([]byte, error) {
	e, err := DecodeEvidence(stored)
	if err != nil {
		e = ObservePage(p)
	}
	if columns, _ := takeColumns(stored); columns != nil {
		return encodeCompact(p, e)
	}
	return EncodePage(p, e)
}

// DecodeText reads the text and the language of a stored page, and nothing else of it.
func DecodeText(data []byte) (text, language string, err error) {
	if len(data) > 0 && data[0] == '{' {
		p, err := DecodePage(data)
		return p.GetText(), p.GetLanguage(), err
	}
	const textField, languageField = 8, 19
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return "", "", protowire.ParseError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
			return "", "", protowire.ParseError(n)
		}
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(data[:n])
			switch num {
			case textField:
				text = string(v)
			case languageField:
				language = string(v)
			case roundedField:
				owner, own, _, err := takeText(v)
				if err != nil {
					return "", "", err
				}
				if owner == pageText {
					text = string(own)
				}
			}
		}
		data = data[n:]
	}
	return text, language, nil
}
