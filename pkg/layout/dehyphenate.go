package layout

import "strings"

// Dehyphenate returns a page's text, as PageText writes it, with the words put together that a hyphen breaks at the
// end of a line: a word is looked for as it is spelled, wherever its line ends. The rows of tables stay as they are.
func Dehyphenate(text string) string {
	var b strings.Builder
	kept, line := 0, 0 // what is before kept is in b; line is where the line begins
	for i := strings.IndexByte(text, '\n'); i >= 0; {
		next := text[i+1:]
		length := strings.IndexByte(next, '\n')
		if length < 0 {
			length = len(next)
		}
		before := text[max(line, i-maxWordLookback):i]
		if hyphen := LineBreakHyphenLength(before, next); hyphen > 0 && !strings.Contains(text[line:i], "\t") &&
			!strings.Contains(next[:length], "\t") {
			b.WriteString(text[kept : i-hyphen])
			kept = i + 1
		}
		line = i + 1
		if i += 1 + length; i == len(text) {
			break
		}
	}
	return b.String() + text[kept:]
}

// LineBreakHyphenLength returns the bytes of the hyphen by which the word that ends a line, and the one that begins
// the next, are parts of one; 0 if they are not.
func LineBreakHyphenLength(before, next string) int {
	hyphen := trailingHyphenLength(before)
	if hyphen == 0 || DecideLineJoin(before, next) != JoinDehyphenated {
		return 0
	}
	return hyphen
}
