package rawscan

import (
	"bytes"

	"inkstream.dev/pkg/pdf/internal/syntax"
)

type token int

const (
	tokEOF token = iota
	tokName
	tokInt
	tokReal
	tokKeyword
	tokString
	tokDictOpen
	tokDictClose
	tokArrayOpen
	tokArrayClose
)

// lexer splits a window into tokens. It holds no more than the window.
type lexer struct {
	win *window
	// text is the last name, without its slash and with #xx decoded, or keyword. It is valid until the next call.
	text []byte
	// num is the last integer.
	num     int64
	scratch [lookAhead]byte
	// hidden is called with the offset after each "N G obj" inside a string or a comment; nil if it is not needed.
	hidden func(off int64)
}

// nextToken returns the next token. Comments are skipped; so are stray closing parentheses, angle brackets, and braces.
func (l *lexer) nextToken() token {
	w := l.win
	for {
		for w.pos < w.end && syntax.Class[w.buf[w.pos]] == syntax.White {
			w.pos++
		}
		if w.end-w.pos < lookAhead && !w.done {
			w.ensureBytes(lookAhead)
			continue
		}
		if w.pos >= w.end {
			return tokEOF
		}
		c := w.buf[w.pos]
		if syntax.Class[c] == syntax.Regular {
			return l.readWord()
		}
		w.pos++
		switch c {
		case '/':
			return l.readName()
		case '<':
			if w.pos < w.end && w.buf[w.pos] == '<' {
				w.pos++
				return tokDictOpen
			}
			l.skipPast(">")
			return tokString
		case '>':
			if w.pos < w.end && w.buf[w.pos] == '>' {
				w.pos++
				return tokDictClose
			}
		case '(':
			l.skipLiteral()
			return tokString
		case '[':
			return tokArrayOpen
		case ']':
			return tokArrayClose
		case '%':
			l.skipPast("\r\n")
		}
	}
}

// readRegular returns the regular characters from pos on, at most lookAhead of them, and passes all of them.
func (l *lexer) readRegular() []byte {
	w := l.win
	i := w.pos
	for i < w.end && syntax.Class[w.buf[i]] == syntax.Regular {
		i++
	}
	text := w.buf[w.pos:i]
	w.pos = i
	if len(text) > lookAhead {
		text = text[:lookAhead]
	}
	if i < w.end || w.done {
		return text
	}
	// The window ends inside the word: keep its beginning, and go on to its end.
	n := copy(l.scratch[:], text)
	for w.readMore() {
		i = w.pos
		for i < w.end && syntax.Class[w.buf[i]] == syntax.Regular {
			i++
		}
		n += copy(l.scratch[n:], w.buf[w.pos:i])
		w.pos = i
		if i < w.end {
			break
		}
	}
	return l.scratch[:n]
}

func (l *lexer) readName() token {
	text := l.readRegular()
	if bytes.IndexByte(text, '#') >= 0 {
		text = syntax.AppendDecodedName(l.scratch[:0], text) // which text may be already
	}
	l.text = text
	return tokName
}

// readWord reads a number or a keyword.
func (l *lexer) readWord() token {
	text := l.readRegular()
	l.text = text
	if len(text) == 0 {
		return tokKeyword
	}
	digits := text
	negative := false
	switch c := text[0]; {
	case c == '+' || c == '-':
		negative = c == '-'
		digits = text[1:]
	case c == '.':
		return tokReal
	case c < '0' || c > '9':
		return tokKeyword
	}
	const most = 1 << 52 // far beyond every length and number in a PDF, far from overflow
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return tokReal
		}
		n = min(n*10+int64(c-'0'), most)
	}
	if negative {
		n = -n
	}
	l.num = n
	return tokInt
}

// skipPast passes everything up to one of the stop characters, and that as well.
func (l *lexer) skipPast(stop string) {
	w := l.win
	for {
		chunk := w.buf[w.pos:w.end]
		i := bytes.IndexAny(chunk, stop)
		if len(stop) == 1 {
			i = bytes.IndexByte(chunk, stop[0])
		}
		if i >= 0 {
			chunk = chunk[:i+1]
		}
		l.noteHiddenObjects(w.pos, w.pos+len(chunk))
		w.pos += len(chunk)
		if i >= 0 || !w.readMore() {
			return
		}
	}
}

// skipLiteral passes a literal string. Unbalanced parentheses swallow what follows, as they do in a viewer; objects
// in there are noted as hidden.
func (l *lexer) skipLiteral() {
	w := l.win
	depth := 1
	for {
		from := w.pos
		i := from
		for i < w.end && depth > 0 {
			switch w.buf[i] {
			case '(':
				depth++
			case ')':
				depth--
			case '\\':
				i++ // the next one, whatever it is, counts for nothing; it may be the first of the next window
			}
			i++
		}
		escaped := i > w.end
		i = min(i, w.end)
		l.noteHiddenObjects(from, i)
		w.pos = i
		if depth == 0 || !w.readMore() {
			return
		}
		if escaped && w.pos < w.end {
			w.pos++
		}
	}
}

// noteHiddenObjects notes the objects that begin in buf[from:to], a part of a string or comment.
func (l *lexer) noteHiddenObjects(from, to int) {
	if l.hidden == nil {
		return
	}
	w := l.win
	// Begin a little earlier, in case the last chunk ended within the word.
	at := max(from-2, 0)
	for {
		i := bytes.Index(w.buf[at:to], objWord)
		if i < 0 {
			return
		}
		at += i + len(objWord)
		if endsInObjectNumber(w.buf[:at-len(objWord)]) {
			l.hidden(w.base + int64(at))
		}
	}
}

var objWord = []byte("obj")

// endsInObjectNumber reports whether before, which ends where the word obj begins, ends in a number and white space,
// as an object's number does. The first number is not asked for: a comment may stand between the two.
func endsInObjectNumber(before []byte) bool {
	i := len(before) - 1
	for i >= 0 && syntax.Class[before[i]] == syntax.White {
		i--
	}
	return i >= 0 && i < len(before)-1 && before[i] >= '0' && before[i] <= '9'
}
