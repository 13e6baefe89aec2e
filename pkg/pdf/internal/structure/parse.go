package structure

import (
	"errors"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

const (
	// maxDepth bounds the nesting of arrays and dictionaries; PDFium stops at 64.
	maxDepth = 64
	// maxValues bounds the values of one object.
	maxValues = 1 << 20
)

// errShort says that the input ended within an object: more of it may help.
var errShort = errors.New("the object is cut short")

var errSyntax = errors.New("no object can be read")

// parser reads objects from memory.
type parser struct {
	b      []byte
	pos    int
	values int
	// lenient leaves out what makes no sense, instead of giving up.
	lenient bool
}

// ParseDict reads the dictionary at the beginning of b, where objects may be damaged or cut short: what cannot be read is left out. It is Null
// if there is none. References are not followed.
func ParseDict(b []byte) Value {
	p := parser{b: b, lenient: true}
	p.space()
	if !p.at("<<") {
		return Value{}
	}
	v, _ := p.value(0) // as much as there is
	return v
}

func (p *parser) space() {
	for p.pos < len(p.b) {
		switch c := p.b[p.pos]; {
		case syntax.Class[c] == syntax.White:
			p.pos++
		case c == '%':
			for p.pos < len(p.b) && p.b[p.pos] != '\n' && p.b[p.pos] != '\r' {
				p.pos++
			}
		default:
			return
		}
	}
}

func (p *parser) at(s string) bool {
	return len(p.b)-p.pos >= len(s) && string(p.b[p.pos:p.pos+len(s)]) == s
}

// value reads the next object, or a keyword.
func (p *parser) value(depth int) (Value, error) {
	p.space()
	if p.pos >= len(p.b) {
		return Value{}, errShort
	}
	if p.values++; depth > maxDepth || p.values > maxValues {
		return Value{}, errSyntax
	}
	switch c := p.b[p.pos]; {
	case p.at("<<"):
		p.pos += 2
		return p.dict(depth)
	case c == '<':
		p.pos++
		return p.hexadecimal()
	case c == '(':
		p.pos++
		return p.literal()
	case c == '[':
		p.pos++
		return p.array(depth)
	case c == '/':
		p.pos++
		return Value{Kind: Name, Raw: p.regular()}, nil
	case syntax.Class[c] == syntax.Delimiter && p.lenient:
		p.pos++
		return Value{}, nil
	case syntax.Class[c] == syntax.Delimiter:
		return Value{}, errSyntax
	default:
		return p.word(), nil
	}
}

func (p *parser) regular() []byte {
	from := p.pos
	for p.pos < len(p.b) && syntax.Class[p.b[p.pos]] == syntax.Regular {
		p.pos++
	}
	return p.b[from:p.pos:p.pos]
}

// word reads a number, a reference, a boolean, null or a keyword.
func (p *parser) word() Value {
	text := p.regular()
	switch string(text) {
	case "null":
		return Value{}
	case "true", "false":
		return Value{Kind: Bool, Raw: text}
	}
	n, integer, number := digits(text)
	if !number {
		return Value{Kind: Keyword, Raw: text}
	}
	if integer && n >= 0 {
		if gen, ok := p.reference(); ok {
			return Value{Kind: Ref, Num: n, Gen: gen}
		}
	}
	return Value{Kind: Number, Raw: text, Num: n}
}

// reference passes the rest of a reference, "G R", if that is what follows.
func (p *parser) reference() (int64, bool) {
	from := p.pos
	p.space()
	gen, integer, _ := digits(p.regular())
	p.space()
	if r := p.regular(); integer && gen >= 0 && string(r) == "R" {
		return gen, true
	}
	p.pos = from
	return 0, false
}

// digits reads a number. The integer is cut to 52 bits.
func digits(text []byte) (n int64, integer, number bool) {
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	integer = len(rest) > 0
	seen := false
	for _, c := range rest {
		switch {
		case c == '.' || c == '-':
			integer = false
		case c < '0' || c > '9':
			return 0, false, false
		case integer:
			n = min(n*10+int64(c-'0'), 1<<52)
			seen = true
		default:
			seen = true
		}
	}
	if len(text) > 0 && text[0] == '-' {
		n = -n
	}
	return n, integer, seen
}

func (p *parser) dict(depth int) (Value, error) {
	v := Value{Kind: Dict}
	for {
		p.space()
		switch {
		case p.pos >= len(p.b):
			return v, errShort
		case p.at(">>"):
			p.pos += 2
			return v, nil
		case p.b[p.pos] != '/' && p.lenient:
			if _, err := p.value(depth + 1); err != nil {
				return v, err
			}
			continue
		case p.b[p.pos] != '/':
			return v, errSyntax
		}
		p.pos++
		key := string(p.regular())
		p.space()
		if p.at(">>") {
			continue // a key without a value
		}
		e, err := p.value(depth + 1)
		if err == nil && e.Kind == Keyword && !p.lenient {
			err = errSyntax
		}
		if err == nil || p.lenient {
			v.Entries = append(v.Entries, Entry{key, e})
		}
		if err != nil {
			return v, err
		}
	}
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{Kind: Array}
	for {
		p.space()
		if p.at("]") {
			p.pos++
			return v, nil
		}
		e, err := p.value(depth + 1)
		if err == nil && e.Kind == Keyword && !p.lenient {
			err = errSyntax
		}
		if err != nil {
			return v, err
		}
		v.List = append(v.List, e)
	}
}

func (p *parser) hexadecimal() (Value, error) {
	v := Value{Kind: String, Text: []byte{}}
	high, odd := byte(0), false
	for ; p.pos < len(p.b); p.pos++ {
		c := p.b[p.pos]
		if c == '>' {
			p.pos++
			if odd {
				v.Text = append(v.Text, high)
			}
			return v, nil
		}
		d := syntax.Unhex(c)
		if d == syntax.NoDigit {
			continue
		}
		if odd {
			v.Text = append(v.Text, high|d)
		}
		high, odd = d<<4, !odd
	}
	return v, errShort
}

func (p *parser) literal() (Value, error) {
	v := Value{Kind: String, Text: []byte{}}
	depth := 1
	for p.pos < len(p.b) {
		c := p.b[p.pos]
		p.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return v, nil
			}
		case '\r':
			if p.at("\n") {
				p.pos++
			}
			c = '\n'
		case '\\':
			v.Text = p.escape(v.Text)
			continue
		}
		v.Text = append(v.Text, c)
	}
	return v, errShort
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

// escape appends what follows a backslash (ISO 32000-1 §7.3.4.2).
func (p *parser) escape(out []byte) []byte {
	if p.pos >= len(p.b) {
		return out
	}
	c := p.b[p.pos]
	p.pos++
	switch {
	case c == '\n':
		return out
	case c == '\r':
		if p.at("\n") {
			p.pos++
		}
		return out
	case escapes[c] != 0:
		return append(out, escapes[c])
	case c < '0' || c > '7':
		return append(out, c)
	}
	n := c - '0'
	for range 2 {
		if p.pos >= len(p.b) || p.b[p.pos] < '0' || p.b[p.pos] > '7' {
			break
		}
		n = n<<3 | p.b[p.pos] - '0'
		p.pos++
	}
	return append(out, n)
}
