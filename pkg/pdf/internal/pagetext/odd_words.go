package pagetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// countWord counts a word and whether it is odd. The measure needs no dictionary and no language; it tells a text
// layer that a poor recogniser left behind ("fdeet!fted", "cComstcers", "sit*ee") from a sound one, where fewer than
// one word in a hundred is odd.
func (b *builder) countWord(word string) {
	if utf8.RuneCountInString(word) < 2 && !strings.ContainsAny(word, noiseSymbols) {
		return
	}
	b.out.Stats.Words++
	if IsOddWord(word) {
		b.out.Stats.Odd++
	}
}

const (
	// noiseSymbols is what recognisers make of dust, rules and frames, and what prose has no use for.
	noiseSymbols = "|\\~^{}¢¬¦¤"
	// wordJoiners are symbols that stand between letters of one word in some language or notation.
	wordJoiners = "-'’.,_&()/:+=#·‐‑–—\u00ad\u200c\u200d\"”»…%"
	// edges are symbols that begin and end words.
	edges = "()[]<>\"'“”„‘’‚«»‹›.,;:!?¡¿…-–—*•·%&§$€£#+=/†‡°©®™_؟،؛、。「」（）"
)

// IsOddWord reports whether a word looks like none that is written: a symbol between letters, a capital between small
// letters, a small letter between digits, the same letter four times in a row.
func IsOddWord(word string) bool {
	if strings.Contains(word, "://") || strings.Contains(word, "www.") {
		return false
	}
	if strings.ContainsAny(word, noiseSymbols) {
		return true
	}
	core := strings.Trim(word, edges)
	if at := strings.IndexByte(core, '@'); at > 0 && strings.Contains(core[at:], ".") {
		return false // an address
	}
	apostrophes, repeat := 0, 1
	var prev, before rune
	for _, r := range core {
		switch {
		case unicode.IsLetter(prev) && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) &&
			!strings.ContainsRune(wordJoiners, r) && r < 0x2000:
			return true
		case unicode.IsLower(before) && unicode.IsUpper(prev) && unicode.IsLower(r) && repeat == 1 &&
			!unicode.Is(unicode.Han, r):
			// CamelCase has longer parts; one capital amid small letters of a word with others is noise only if it
			// stands alone.
			if isCamelCase(core) {
				return false
			}
			return true
		case unicode.IsDigit(before) && unicode.IsLower(prev) && unicode.IsDigit(r) && prev != 'x':
			return true
		case r == '\'' || r == '’':
			if apostrophes++; apostrophes > 1 {
				return true
			}
		}
		if r == prev && unicode.IsLetter(r) {
			if repeat++; repeat >= 4 {
				return true
			}
		} else {
			repeat = 1
		}
		before, prev = prev, r
	}
	return false
}

// isCamelCase reports whether a word is made of capitalised parts, each of at least two letters after its capital, as
// names of products and programs are, or is a Scottish name.
func isCamelCase(word string) bool {
	word = strings.TrimPrefix(word, "Mc")
	small := 2
	for _, r := range word {
		if unicode.IsUpper(r) {
			if small < 2 {
				return false
			}
			small = 0
		} else {
			small++
		}
	}
	return small >= 2
}
