package agree

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWordRunes bounds a word: what is longer is no word, and comparing it takes long.
const maxWordRunes = 64

// smallE is the e above a vowel that old German print has where the dots of an umlaut are now.
const smallE = '\u0364'

// NormaliseWord returns a word as it is compared: in compatibility form and lower case, with plain quotes and dashes and
// without the punctuation around it. It is empty where nothing but punctuation is left.
func NormaliseWord(word string) string {
	if strings.ContainsRune(word, smallE) {
		word = strings.ReplaceAll(word, string(smallE), "\u0308")
	}
	word = strings.Map(func(r rune) rune {
		switch {
		case r == '‘' || r == '’' || r == '′' || r == '`':
			return '\''
		case r == '“' || r == '”' || r == '„' || r == '″':
			return '"'
		case r == '−' || unicode.Is(unicode.Pd, r):
			return '-'
		case r == '\u00ad' || unicode.Is(unicode.Cf, r):
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(word))
	isOuter := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }
	word = strings.TrimLeftFunc(word, isOuter)
	word = strings.TrimRightFunc(word, func(r rune) bool { return r != '%' && isOuter(r) })
	runes := []rune(word)
	return string(runes[:min(len(runes), maxWordRunes)])
}

// digitsOf returns the digits of a word. Where most of it is digits, letters that look like one count as that: an l
// among digits is a 1.
func digitsOf(runes []rune) string {
	digits, letters := 0, 0
	for _, r := range runes {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	var out strings.Builder
	for _, r := range runes {
		switch {
		case unicode.IsDigit(r):
			out.WriteRune(r)
		case digits <= letters:
		case r == 'o':
			out.WriteByte('0')
		case r == 'l' || r == 'i':
			out.WriteByte('1')
		case r == 's':
			out.WriteByte('5')
		case r == 'b':
			out.WriteByte('8')
		}
	}
	return out.String()
}

// shapes are letters that recognisers take for each other, with what stands for all of them.
var shapes = strings.NewReplacer("rn", "m", "ii", "u", "vv", "w", "cl", "d", "ti", "u", "f", "s", "l", "i", "1", "i", "|", "i", "0", "o",
	"5", "s", "8", "b", "ß", "b", "ł", "i", "đ", "d", "ø", "o", "ı", "i")

// homoglyphs are letters of other scripts that are drawn as Latin ones are: names in Latin letters are read as theirs on pages
// of those scripts.
var homoglyphs = map[rune]rune{'а': 'a', 'в': 'b', 'е': 'e', 'і': 'i', 'ј': 'j', 'к': 'k', 'м': 'm', 'н': 'h', 'о': 'o', 'р': 'p', 'с': 'c',
	'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'α': 'a', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x'}

// foldShapes returns a word without accents and with one letter for those that look alike.
func foldShapes(word []rune) []rune {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		if latin, looksAlike := homoglyphs[r]; looksAlike {
			return latin
		}
		return r
	}, norm.NFD.String(string(word)))
	return []rune(shapes.Replace(plain))
}

// shapeShare is the similarity of words that differ in letters alone that look alike. It is that of no word that is read
// as it is written.
const shapeShare = 0.97

// similarityOfShapes returns the greater of two words' similarities: as they are, and with letters that look alike taken
// for the same.
func similarityOfShapes(a, b, shapeA, shapeB []rune, floor float64) float64 {
	s := similarityOf(a, b, floor)
	if s == 1 {
		return 1
	}
	return max(s, shapeShare*similarityOf(shapeA, shapeB, floor))
}

// lettersOf returns a word without what is neither letter nor digit.
func lettersOf(word []rune) []rune {
	return slices.DeleteFunc(slices.Clone(word), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// similarityOf returns 1 less the edit distance of two words over the length of the longer; 0 as soon as it must lie
// below the floor.
func similarityOf(a, b []rune, floor float64) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1
	}
	limit := int(float64(longer) * (1 - floor))
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return 0
	}
	if len(a) > 2*maxWordRunes || len(b) > 2*maxWordRunes {
		return 0
	}
	var first, second [2*maxWordRunes + 1]int
	before, now := first[:len(b)+1], second[:len(b)+1]
	for j := range before {
		before[j] = j
	}
	for i, ra := range a {
		now[0] = i + 1
		least := now[0]
		for j, rb := range b {
			cost := before[j]
			if ra != rb {
				cost++
			}
			now[j+1] = min(cost, before[j+1]+1, now[j]+1)
			least = min(least, now[j+1])
		}
		if least > limit {
			return 0
		}
		before, now = now, before
	}
	if before[len(b)] > limit {
		return 0
	}
	return 1 - float64(before[len(b)])/float64(longer)
}
