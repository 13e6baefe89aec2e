package pagetext

import (
	"math"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// accentMarks are the accents that are characters of their own, each with the mark that combines with a letter. Fonts
// without accented letters, as those of TeX's first encoding, have them drawn above the letter or below it.
var accentMarks = map[rune]rune{
	'`': 0x300, '´': 0x301, '^': 0x302, 'ˆ': 0x302, '~': 0x303, '˜': 0x303, '¯': 0x304, '˘': 0x306, '˙': 0x307, '¨': 0x308,
	'˚': 0x30a, '˝': 0x30b, 'ˇ': 0x30c, '¸': 0x327, '˛': 0x328,
}

// accentedLetter returns the letter that an accent and a letter make, whichever came first, if there is such a letter
// and the accent stands above or below the other.
func accentedLetter(first, second rune, firstAt, secondAt box, angle int32) (rune, bool) {
	if first < unicode.MaxASCII && second < unicode.MaxASCII && accentMarks[first] == 0 && accentMarks[second] == 0 {
		return 0, false
	}
	mark, letter, markAt, letterAt := accentMarks[first], second, firstAt, secondAt
	if mark == 0 {
		mark, letter, markAt, letterAt = accentMarks[second], first, secondAt, firstAt
	}
	if mark == 0 || !unicode.IsLetter(letter) || markAt.isEmpty() || letterAt.isEmpty() {
		return 0, false
	}
	lo, hi := markAt.alongExtent(angle)
	from, to := letterAt.alongExtent(angle)
	if middle := (lo + hi) / 2; middle < from || middle > to {
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

// isBlankAtAccent reports whether PDFium made up the blank at place i because an accent is drawn back over its
// letter, or over one farther off: the next letter stands right behind the character before.
func (b *builder) isBlankAtAccent(i int) bool {
	const most = 0.12 // ems
	if b.word.run < 0 {
		return false
	}
	chars, next := b.text.Chars, i+1
	isAccented := b.isPassedOver(i - 1)
	for next < len(chars) && (b.isPassedOver(next) || chars[next].Generated && chars[next].Rune == ' ') {
		isAccented = isAccented || b.isPassedOver(next)
		next++
	}
	if next+1 < len(chars) && accentMarks[chars[next].Rune] != 0 && chars[next+1].Run >= 0 && int(chars[next+1].Run) < len(b.runs) {
		_, isAccented = accentedLetter(chars[next].Rune, chars[next+1].Rune, b.displayBox(chars[next].Box), b.displayBox(chars[next+1].Box),
			b.runs[chars[next+1].Run].angle)
		next++
	} else if b.composed[next] != 0 {
		isAccented = true
	}
	if !isAccented || next >= len(chars) || chars[next].Run < 0 || int(chars[next].Run) >= len(b.runs) {
		return false
	}
	run := &b.runs[chars[next].Run]
	_, end := b.word.lastAt.alongExtent(run.angle)
	return run.angle == b.line.angle && math.Abs(alongStart(b.displayBox(chars[next].Box), run.angle)-end) < most*run.size
}

// isPassedOver reports whether the character at place i is an accent that its letter stands for.
func (b *builder) isPassedOver(i int) bool {
	letter, ok := b.composed[i]
	return ok && letter == 0
}

// detachedAccent finds the letter that the accent at place i was drawn over where PDFium lists it behind the word, or
// farther on in the line, and has it stand for both: the accent itself is passed over then.
func (b *builder) detachedAccent(i int) {
	const reach, most = 80, 0.8 // characters, ems
	accent := &b.text.Chars[i]
	if accent.Run < 0 || int(accent.Run) >= len(b.runs) {
		return
	}
	run, at := &b.runs[accent.Run], b.displayBox(accent.Box)
	if i+1 < len(b.text.Chars) {
		next := &b.text.Chars[i+1]
		if _, ok := accentedLetter(accent.Rune, next.Rune, at, b.displayBox(next.Box), run.angle); ok {
			return
		}
	}
	lo, hi := at.acrossExtent(run.angle)
	for j := i - 1; j >= max(0, i-reach); j-- {
		c := &b.text.Chars[j]
		if c.Rune == '\n' || c.Rune == '\r' {
			return
		}
		letterAt := b.displayBox(c.Box)
		from, to := letterAt.acrossExtent(run.angle)
		if r, ok := accentedLetter(accent.Rune, c.Rune, at, letterAt, run.angle); ok && math.Abs(lo+hi-from-to)/2 < most*run.size {
			if b.composed == nil {
				b.composed = map[int]rune{}
			}
			b.composed[j], b.composed[i] = r, 0
			return
		}
	}
}
