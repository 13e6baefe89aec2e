package document

import (
	"iter"
	"unicode"

	"inkstream.dev/pkg/unicodescript"
)

// runeKind is what a character is to the count of words.
type runeKind int

const (
	otherRune  runeKind = iota // a mark, a sign or punctuation
	spacedRune                 // a letter or a figure of which words are made
	singleRune                 // a word by itself
)

func runeKindOf(r rune) runeKind {
	switch {
	case unicodescript.JoinsPrevious(r):
		return otherRune
	case unicodescript.IsUnspaced(r) && !unicode.IsDigit(r):
		return singleRune
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return spacedRune
	}
	return otherRune
}

// wordEnds yields where each of the words ends that a run of characters without blanks counts for, the last at its
// end. In a script that is written without blanks every letter counts as a word: models for embedding make about one
// token of it, and one to one and a half of an English word, so that passages of as many words are about as long to
// them. What stands between two such letters is one word, as the run is that has none of them. A mark and what closes
// belong to the word before, an opening bracket to the one behind it.
func wordEnds(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		last, open := otherRune, -1
		for i, r := range text {
			kind := runeKindOf(r)
			if kind == otherRune {
				if open < 0 && unicode.In(r, unicode.Ps, unicode.Pi) {
					open = i
				}
				continue
			}
			if last == singleRune || last == spacedRune && kind == singleRune {
				if open < 0 {
					open = i
				}
				if !yield(open) {
					return
				}
			}
			last, open = kind, -1
		}
		yield(len(text))
	}
}

// countWords returns how many words a run of characters without blanks counts for: at least one.
func countWords(text string) int {
	n := 0
	for range wordEnds(text) {
		n++
	}
	return n
}
