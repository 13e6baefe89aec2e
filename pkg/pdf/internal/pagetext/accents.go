package pagetext

import (
	"math"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// accentMark returns the mark that combines with a letter for an accent that is a character of its own; 0 for any other
// character.
func accentMark(r rune) rune {
	switch r {
	case '`':
		return 0x300
	case '´':
		return 0x301
	case '^', 'ˆ':
		return 0x302
	case '~', '˜':
		return 0x303
	case '¯':
		return 0x304
	case '˘':
		return 0x306
	case '˙':
		return 0x307
	case '¨':
		return 0x308
	case '˚':
		return 0x30a
	case '˝':
		return 0x30b
	case 'ˇ':
		return 0x30c
	case '¸':
		return 0x327
	case '˛':
		return 0x328
	}
	return 0
}

// accentedLetter returns the one character that a letter and the mark of an accent make, if there is such a character.
func accentedLetter(letter, mark rune) (rune, bool) {
	if !unicode.IsLetter(letter) {
		return 0, false
	}
	switch letter {
	case 'ı':
		letter = 'i'
	case 'ȷ':
		letter = 'j'
	}
	composed := norm.NFC.String(string([]rune{letter, mark}))
	r, size := utf8.DecodeRuneInString(composed)
	return r, size == len(composed)
}

// placeAccent finds the letter that the accent at place i is drawn over or under, as fonts without accented letters
// have it, those of TeX's first encoding above all: the next one, or one before, for PDFium may list the accent behind
// its word, or farther on in the line. The letter stands for both then, and the accent is passed over.
func (b *builder) placeAccent(i int) {
	const reach = 80 // characters
	if b.standsFor(i, i+1) {
		return
	}
	for j := i - 1; j >= max(0, i-reach) && b.text.Chars[j].Rune != '\n' && b.text.Chars[j].Rune != '\r'; j-- {
		if b.standsFor(i, j) {
			return
		}
	}
}

// standsFor has the letter at place j stand for the accent at place i too, if that is drawn over it or under it.
func (b *builder) standsFor(i, j int) bool {
	const most = 0.8 // ems from middle to middle
	if j >= len(b.text.Chars) || !unicode.IsLetter(b.text.Chars[j].Rune) {
		return false
	}
	accent, letter := &b.text.Chars[i], &b.text.Chars[j]
	run, at, letterAt := b.runOf(accent), b.displayBox(accent.Box), b.displayBox(letter.Box)
	if run == nil || at.isEmpty() || letterAt.isEmpty() {
		return false
	}
	lo, hi := at.alongExtent(run.angle)
	from, to := letterAt.alongExtent(run.angle)
	top, bottom := at.acrossExtent(run.angle)
	letterTop, letterBottom := letterAt.acrossExtent(run.angle)
	if middle := (lo + hi) / 2; middle < from || middle > to || math.Abs(top+bottom-letterTop-letterBottom)/2 > most*run.size {
		return false
	}
	base := letter.Rune
	if b.composed[j] != 0 { // it has another accent
		base = b.composed[j]
	}
	r, ok := accentedLetter(base, accentMark(accent.Rune))
	if !ok {
		return false
	}
	if b.composed == nil {
		b.composed = map[int]rune{}
	}
	b.composed[j], b.composed[i] = r, 0
	return true
}

// runOf returns the run of a character; nil where it has none.
func (b *builder) runOf(c *pdfium.Char) *runInfo {
	if c.Run < 0 || int(c.Run) >= len(b.runs) {
		return nil
	}
	return &b.runs[c.Run]
}

// isPassedOver reports whether the character at place i is an accent that its letter stands for.
func (b *builder) isPassedOver(i int) bool {
	letter, ok := b.composed[i]
	return ok && letter == 0
}

// isBlankAtAccent reports whether PDFium made up the blank at place i because an accent is listed there: the next
// letter stands right behind the character before.
func (b *builder) isBlankAtAccent(i int) bool {
	const most = 0.12 // ems
	chars, next := b.text.Chars, i+1
	isAccented := b.isPassedOver(i - 1)
	for next < len(chars) && (b.isPassedOver(next) || chars[next].Generated && chars[next].Rune == ' ') {
		isAccented = isAccented || b.isPassedOver(next)
		next++
	}
	if b.word.run < 0 || next >= len(chars) || !isAccented && b.composed[next] == 0 {
		return false
	}
	run := b.runOf(&chars[next])
	if run == nil || run.angle != b.line.angle {
		return false
	}
	_, end := b.word.lastAt.alongExtent(run.angle)
	return math.Abs(alongStart(b.displayBox(chars[next].Box), run.angle)-end) < most*run.size
}
