package apierror

import (
	"strings"
	"unicode/utf8"
)

// ClipText bounds what an error repeats of a request, and makes it text.
func ClipText(s string) string { return TruncateText(strings.ToValidUTF8(s, "\uFFFD"), 64) }

// TruncateText cuts s to at most n bytes, between runes.
func TruncateText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
