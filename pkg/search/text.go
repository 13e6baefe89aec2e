package search

import (
	"strings"
	"unicode/utf8"
)

// cleanText returns s as valid UTF-8, with a blank for each control character but tabs and line feeds. Most texts are
// clean, and are returned as they are.
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
