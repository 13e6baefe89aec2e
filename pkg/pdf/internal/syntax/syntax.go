// Package syntax knows the characters that PDFs are spelled with (ISO 32000-1 §7.2).
package syntax

// The classes of characters.
const (
	Regular = iota
	White
	Delimiter
)

// Class is the class of each character.
var Class = func() (t [256]uint8) {
	for _, c := range "\x00\t\n\f\r " {
		t[c] = White
	}
	for _, c := range "()<>[]{}/%" {
		t[c] = Delimiter
	}
	return t
}()

// NotHexDigit is what HexDigitValue returns for a character that is no hexadecimal digit.
const NotHexDigit = 255

// HexDigitValue returns the value of a hexadecimal digit, or NotHexDigit.
func HexDigitValue(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return NotHexDigit
}

// AppendDecodedName appends a name as it reads, with its #xx decoded. Out may be text's own memory, from its
// beginning: nothing is written ahead of what is read.
func AppendDecodedName(out, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '#' && i+2 < len(text) {
			if hi, lo := HexDigitValue(text[i+1]), HexDigitValue(text[i+2]); hi != NotHexDigit && lo != NotHexDigit {
				c = hi<<4 | lo
				i += 2
			}
		}
		out = append(out, c)
	}
	return out
}
