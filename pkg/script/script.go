// Package script tells characters apart by how their scripts are written.
package script

import "unicode"

// unspaced are the scripts that are written without blanks between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// firstUnspaced is the first character of those scripts.
const firstUnspaced = 0x0e00

// Unspaced reports whether r is a character of a script that is written without blanks between words, and no part of the character before it.
func Unspaced(r rune) bool {
	return r >= firstUnspaced && !Joins(r) && (r == 'ー' || r == 'ｰ' || unicode.In(r, unspaced...))
}

// Joins reports whether r is part of the character before it: a mark, or the voicing of narrow kana.
func Joins(r rune) bool { return unicode.IsMark(r) || r == 'ﾞ' || r == 'ﾟ' }
