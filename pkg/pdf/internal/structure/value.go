package structure

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

// Kind says what a Value is.
type Kind uint8

// The kinds of objects (ISO 32000-1 §7.3). A Keyword is anything else that is made of regular characters: endobj,
// stream.
const (
	Null Kind = iota
	Bool
	Number
	Name
	String
	Array
	Dict
	Ref
	Keyword
)

// Value is an object.
type Value struct {
	Kind Kind
	// Raw is the spelling of a boolean, a number, a name (without its slash) or a keyword. Text is a string's bytes.
	Raw, Text []byte
	List      []Value
	Entries   []Entry
	// Num is a number's integer, or the number of a reference, whose generation is Gen.
	Num, Gen int64
}

// Entry is an entry of a dictionary.
type Entry struct {
	Key   string
	Value Value
}

// NewReference returns a reference to an object.
func NewReference(num int) Value { return Value{Kind: Ref, Num: int64(num)} }

// IsName reports whether v is that name.
func (v Value) IsName(name string) bool { return v.Kind == Name && spellsName(string(v.Raw), name) }

// decodedName is what a name reads, with its #xx decoded.
func (v Value) decodedName() string {
	if v.Kind != Name {
		return ""
	}
	return string(syntax.AppendDecodedName(nil, v.Raw))
}

// spellsName reports whether a name is spelled so, which may be with #xx.
func spellsName(raw, name string) bool {
	return raw == name || strings.IndexByte(raw, '#') >= 0 && string(syntax.AppendDecodedName(nil, []byte(raw))) == name
}

// Lookup returns the entry of a dictionary, Null where there is none. Of two with the same key the last counts, as it
// does for PDFium.
func (v Value) Lookup(key string) Value {
	for _, e := range slices.Backward(v.Entries) {
		if spellsName(e.Key, key) {
			return e.Value
		}
	}
	return Value{}
}

// WithEntry returns a copy of the dictionary with an entry added or replaced.
func (v Value) WithEntry(key string, value Value) Value {
	out := Value{Kind: Dict, Entries: slices.Clone(v.Entries)}
	for i := len(out.Entries) - 1; i >= 0; i-- {
		if spellsName(out.Entries[i].Key, key) {
			out.Entries[i].Value = value
			return out
		}
	}
	out.Entries = append(out.Entries, Entry{key, value})
	return out
}

// without returns a copy of the dictionary that lacks an entry, however often it has it.
func (v Value) without(key string) Value {
	return Value{Kind: Dict, Entries: slices.DeleteFunc(slices.Clone(v.Entries), func(e Entry) bool { return spellsName(e.Key, key) })}
}

// FloatValue returns a number, 0 for what is none.
func (v Value) FloatValue() float64 {
	if v.Kind != Number {
		return 0
	}
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return float64(v.Num)
	}
	return f
}

// AppendTo appends the value as a PDF writes it. Strings come out in hexadecimal.
func (v Value) AppendTo(b []byte) []byte {
	switch v.Kind {
	case Bool, Number, Keyword:
		return append(b, v.Raw...)
	case Name:
		return append(append(b, '/'), v.Raw...)
	case String:
		b = append(b, '<')
		b = hex.AppendEncode(b, v.Text)
		return append(b, '>')
	case Array:
		b = append(b, '[')
		for i, e := range v.List {
			if i > 0 {
				b = append(b, ' ')
			}
			b = e.AppendTo(b)
		}
		return append(b, ']')
	case Dict:
		b = append(b, "<<"...)
		for _, e := range v.Entries {
			b = append(append(append(b, '/'), e.Key...), ' ')
			b = e.Value.AppendTo(b)
		}
		return append(b, ">>"...)
	case Ref:
		b = append(strconv.AppendInt(b, v.Num, 10), ' ')
		b = append(strconv.AppendInt(b, v.Gen, 10), ' ')
		return append(b, 'R')
	default:
		return append(b, "null"...)
	}
}

// mapStrings calls f on every string within v and puts what it returns in its place.
func (v *Value) mapStrings(f func([]byte) []byte) {
	switch v.Kind {
	case String:
		v.Text = f(v.Text)
	case Array:
		for i := range v.List {
			v.List[i].mapStrings(f)
		}
	case Dict:
		for i := range v.Entries {
			v.Entries[i].Value.mapStrings(f)
		}
	}
}
