package rawscan

// value is an object of an encryption dictionary or a trailer, the only ones that are read for more than their names. References keep their first
// number only; nothing here follows one.
type value struct {
	name string
	num  int64
	text []byte
	list []value
	dict map[string]value
}

// maxNesting bounds the depth of such an object. An encryption dictionary has four levels.
const maxNesting = 8

// reader parses one object in memory.
type reader struct {
	b   []byte
	pos int
}

// parseDict reads the dictionary at the beginning of b. What is damaged is left out.
func parseDict(b []byte) map[string]value {
	r := &reader{b: b}
	return r.value(0).dict
}

func (r *reader) white() {
	for r.pos < len(r.b) {
		switch c := r.b[r.pos]; {
		case class[c] == white:
			r.pos++
		case c == '%':
			for r.pos < len(r.b) && r.b[r.pos] != '\n' && r.b[r.pos] != '\r' {
				r.pos++
			}
		default:
			return
		}
	}
}

func (r *reader) at(s string) bool {
	return len(r.b)-r.pos >= len(s) && string(r.b[r.pos:r.pos+len(s)]) == s
}

// value reads the next object. It moves on by at least one byte unless the end is reached.
func (r *reader) value(depth int) (v value) {
	r.white()
	if r.pos == len(r.b) {
		return v
	}
	switch c := r.b[r.pos]; {
	case r.at("<<"):
		r.pos += 2
		v.dict = r.dict(depth + 1)
	case c == '<':
		r.pos++
		v.text = r.hexadecimal()
	case c == '(':
		r.pos++
		v.text = r.literal()
	case c == '[':
		r.pos++
		v.list = r.list(depth + 1)
	case c == '/':
		r.pos++
		v.name = r.name()
	case class[c] == delimiter:
		r.pos++
	default:
		v.name, v.num = r.word()
	}
	return v
}

func (r *reader) dict(depth int) map[string]value {
	d := map[string]value{}
	for depth < maxNesting {
		r.white()
		switch {
		case r.pos == len(r.b):
			return d
		case r.at(">>"):
			r.pos += 2
			return d
		case r.b[r.pos] == '/':
			r.pos++
			key := r.name()
			d[key] = r.value(depth)
		default:
			r.value(depth) // the rest of a reference, or damage
		}
	}
	return d
}

func (r *reader) list(depth int) (l []value) {
	for depth < maxNesting {
		r.white()
		if r.pos == len(r.b) {
			return l
		}
		if r.b[r.pos] == ']' {
			r.pos++
			return l
		}
		l = append(l, r.value(depth))
	}
	return l
}

func (r *reader) regular() []byte {
	from := r.pos
	for r.pos < len(r.b) && class[r.b[r.pos]] == regular {
		r.pos++
	}
	return r.b[from:r.pos]
}

func (r *reader) name() string {
	text := r.regular()
	var out []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '#' && i+2 < len(text) && unhex(text[i+1]) < 16 && unhex(text[i+2]) < 16 {
			c = unhex(text[i+1])<<4 | unhex(text[i+2])
			i += 2
		}
		out = append(out, c)
	}
	return string(out)
}

// word reads a number, or true, false, null or R as a name.
func (r *reader) word() (string, int64) {
	text := r.regular()
	digits := text
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		digits = text[1:]
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return string(text), 0
		}
		n = min(n*10+int64(c-'0'), 1<<52)
	}
	if text[0] == '-' {
		n = -n
	}
	return "", n
}

func (r *reader) hexadecimal() []byte {
	var out []byte
	high, odd := byte(0), false
	for r.pos < len(r.b) && r.b[r.pos] != '>' {
		if v := unhex(r.b[r.pos]); v < 16 {
			if odd {
				out = append(out, high|v)
			}
			high, odd = v<<4, !odd
		}
		r.pos++
	}
	r.pos = min(r.pos+1, len(r.b))
	if odd {
		out = append(out, high)
	}
	return out
}

func (r *reader) literal() []byte {
	var out []byte
	depth := 1
	for r.pos < len(r.b) {
		c := r.b[r.pos]
		r.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return out
			}
		case '\r':
			if r.at("\n") {
				r.pos++
			}
			c = '\n'
		case '\\':
			out = r.escape(out)
			continue
		}
		out = append(out, c)
	}
	return out
}

// escape appends what follows a backslash (ISO 32000-1 §7.3.4.2).
func (r *reader) escape(out []byte) []byte {
	if r.pos == len(r.b) {
		return out
	}
	c := r.b[r.pos]
	r.pos++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r':
		if r.at("\n") {
			r.pos++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := c - '0'
	for range 2 {
		if r.pos == len(r.b) || r.b[r.pos] < '0' || r.b[r.pos] > '7' {
			break
		}
		n = n<<3 | r.b[r.pos] - '0'
		r.pos++
	}
	return append(out, n)
}
