// Package unicodescript tells characters apart by how their scripts are written.
package unicodescript

import "unicode"

// unspacedScripts are the scripts that are written without blanks between words.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar,
}

// firstUnspaced is the first character of those scripts.
const firstUnspaced = 0x0e00

// IsUnspaced reports whether r is a character of a script that is written without blanks between words, and no part
// of the character before it.
func IsUnspaced(r rune) bool {
	return r >= firstUnspaced && !JoinsPrevious(r) && (r == 'ー' || r == 'ｰ' || unicode.In(r, unspacedScripts...))
}

// JoinsPrevious reports whether r is part of the character before it: a mark, or the voicing of narrow kana.
func JoinsPrevious(r rune) bool { return unicode.IsMark(r) || r == 'ﾞ' || r == 'ﾟ' }
