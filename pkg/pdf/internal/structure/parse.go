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

// syntaxError returns errSyntax; errShort near the end of the input, where a reference or a word may be cut.
func (p *parser) syntaxError() error {
	const longestReference = 32
	if len(p.b)-p.pos < longestReference {
		return errShort
	}
	return errSyntax
}

// parser reads objects from memory.
type parser struct {
	b      []byte
	pos    int
	values int
	// lenient leaves out what makes no sense, instead of giving up.
	lenient bool
}

// ParseDict reads the dictionary at the beginning of b, where objects may be damaged or cut short: what cannot be
// read is left out. It is Null if there is none. References are not followed.
func ParseDict(b []byte) Value {
	p := parser{b: b, lenient: true}
	p.skipSpace()
	if !p.hasPrefix("<<") {
		return Value{}
	}
	v, _ := p.readValue(0) // as much as there is
	return v
}

func (p *parser) skipSpace() {
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

func (p *parser) hasPrefix(s string) bool {
	return len(p.b)-p.pos >= len(s) && string(p.b[p.pos:p.pos+len(s)]) == s
}

// readValue reads the next object, or a keyword.
func (p *parser) readValue(depth int) (Value, error) {
	p.skipSpace()
	if p.pos >= len(p.b) {
		return Value{}, errShort
	}
	if p.values++; depth > maxDepth || p.values > maxValues {
		return Value{}, errSyntax
	}
	switch c := p.b[p.pos]; {
	case p.hasPrefix("<<"):
		p.pos += 2
		return p.readDict(depth)
	case c == '<':
		p.pos++
		return p.readHexString()
	case c == '(':
		p.pos++
		return p.readLiteralString()
	case c == '[':
		p.pos++
		return p.readArray(depth)
	case c == '/':
		p.pos++
		return Value{Kind: Name, Raw: p.readRegular()}, nil
	case syntax.Class[c] == syntax.Delimiter && p.lenient:
		p.pos++
		return Value{}, nil
	case syntax.Class[c] == syntax.Delimiter:
		return Value{}, p.syntaxError()
	default:
		return p.readWord(), nil
	}
}

func (p *parser) readRegular() []byte {
	from := p.pos
	for p.pos < len(p.b) && syntax.Class[p.b[p.pos]] == syntax.Regular {
		p.pos++
	}
	return p.b[from:p.pos:p.pos]
}

// readWord reads a number, a reference, a boolean, null or a keyword.
func (p *parser) readWord() Value {
	text := p.readRegular()
	switch string(text) {
	case "null":
		return Value{}
	case "true", "false":
		return Value{Kind: Bool, Raw: text}
	}
	n, integer, number := parseNumber(text)
	if !number {
		return Value{Kind: Keyword, Raw: text}
	}
	if integer && n >= 0 {
		if gen, ok := p.readReference(); ok {
			return Value{Kind: Ref, Num: n, Gen: gen}
		}
	}
	return Value{Kind: Number, Raw: text, Num: n}
}

// readReference passes the rest of a reference, "G R", if that is what follows.
func (p *parser) readReference() (int64, bool) {
	from := p.pos
	p.skipSpace()
	gen, integer, _ := parseNumber(p.readRegular())
	p.skipSpace()
	if r := p.readRegular(); integer && gen >= 0 && string(r) == "R" {
		return gen, true
	}
	p.pos = from
	return 0, false
}

// parseNumber reads a number. The integer is cut to 52 bits.
func parseNumber(text []byte) (n int64, integer, number bool) {
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

func (p *parser) readDict(depth int) (Value, error) {
	v := Value{Kind: Dict}
	for {
		p.skipSpace()
		switch {
		case p.pos >= len(p.b):
			return v, errShort
		case p.hasPrefix(">>"):
			p.pos += 2
			return v, nil
		case p.b[p.pos] != '/' && p.lenient:
			if _, err := p.readValue(depth + 1); err != nil {
				return v, err
			}
			continue
		case p.b[p.pos] != '/':
			return v, p.syntaxError()
		}
		p.pos++
		key := string(p.readRegular())
		p.skipSpace()
		if p.hasPrefix(">>") {
			continue // a key without a value
		}
		e, err := p.readValue(depth + 1)
		if err == nil && e.Kind == Keyword && !p.lenient {
			err = p.syntaxError()
		}
		if err == nil || p.lenient {
			v.Entries = append(v.Entries, Entry{key, e})
		}
		if err != nil {
			return v, err
		}
	}
}

func (p *parser) readArray(depth int) (Value, error) {
	v := Value{Kind: Array}
	for {
		p.skipSpace()
		if p.hasPrefix("]") {
			p.pos++
			return v, nil
		}
		e, err := p.readValue(depth + 1)
		if err == nil && e.Kind == Keyword && !p.lenient {
			err = p.syntaxError()
		}
		if err != nil {
			return v, err
		}
		v.List = append(v.List, e)
	}
}

func (p *parser) readHexString() (Value, error) {
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
		d := syntax.HexDigitValue(c)
		if d == syntax.NotHexDigit {
			continue
		}
		if odd {
			v.Text = append(v.Text, high|d)
		}
		high, odd = d<<4, !odd
	}
	return v, errShort
}

func (p *parser) readLiteralString() (Value, error) {
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
			if p.hasPrefix("\n") {
				p.pos++
			}
			c = '\n'
		case '\\':
			v.Text = p.appendEscape(v.Text)
			continue
		}
		v.Text = append(v.Text, c)
	}
	return v, errShort
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

// appendEscape appends what follows a backslash (ISO 32000-1 §7.3.4.2).
func (p *parser) appendEscape(out []byte) []byte {
	if p.pos >= len(p.b) {
		return out
	}
	c := p.b[p.pos]
	p.pos++
	switch {
	case c == '\n':
		return out
	case c == '\r':
		if p.hasPrefix("\n") {
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
