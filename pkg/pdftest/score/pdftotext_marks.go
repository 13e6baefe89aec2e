package score

import "strings"

// StripPDFToTextMarks returns a text without what pdftotext puts into it: marks of the writing direction, some of
// which stand where a blank belongs and become one, and the control characters that stand for codes of symbol fonts.
func StripPDFToTextMarks(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x80 && r < 0xa0:
			return -1
		case r >= 0x202a && r <= 0x202e:
			return ' '
		}
		return r
	}, text)
}
