package search

import (
	"strings"
	"unicode/utf8"
)

// These stand around what matched in a snippet as SQLite returns it. cleanText keeps them out of what is stored.
const (
	markBegin = '\x01'
	markEnd   = '\x02'
)

// cleanText returns s as valid UTF-8, with a blank for each control character but tabs and line feeds. Most texts are clean, and are
// returned as they are.
func cleanText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for i := range len(s) {
		if isControl(s[i]) {
			b := []byte(s)
			for ; i < len(b); i++ {
				if isControl(b[i]) {
					b[i] = ' '
				}
			}
			return string(b)
		}
	}
	return s
}

func isControl(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// newSnippet takes the marks out of a snippet, and notes where they were. Line breaks and tabs become blanks.
func newSnippet(marked string) Snippet {
	var s Snippet
	text := make([]byte, 0, len(marked))
	start := 0
	for i := range len(marked) {
		switch c := marked[i]; c {
		case markBegin:
			start = len(text)
		case markEnd:
			s.Highlights = append(s.Highlights, Span{Start: start, End: len(text)})
		case '\n', '\t':
			text = append(text, ' ')
		default:
			text = append(text, c)
		}
	}
	s.Text = string(text)
	return s
}
