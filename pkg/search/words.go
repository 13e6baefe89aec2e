package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordBytes is where words are cut. Longer ones are no words, but runs of letters that a broken text layer or a key has.
const maxWordBytes = 128

// words yields the words of a text as the index folds them, each with its place in the text: runs of letters and digits, without regard to
// case, nor to the accents of Latin letters. It agrees with FTS5's tokenizer unicode61.
func words(text string) iter.Seq2[Span, string] {
	return func(yield func(Span, string) bool) {
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if !isWordRune(r) {
				at += size
				continue
			}
			start := at
			for at < len(text) {
				r, size := utf8.DecodeRuneInString(text[at:])
				if !isWordRune(r) {
					break
				}
				at += size
			}
			if w := fold(text[start:at]); w != "" && !yield(Span{start, at}, w) {
				return
			}
		}
	}
}

// fold returns a word in the form in which it is compared: in lower case, Latin letters without their marks, no longer than maxWordBytes.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return cut(strings.ToLower(word))
	}
	var b strings.Builder
	latin := true // a mark at the beginning belongs to nothing
	for _, r := range norm.NFD.String(word) {
		switch {
		case unicode.Is(unicode.Mn, r):
			if !latin {
				b.WriteRune(r)
			}
		default:
			latin = unicode.Is(unicode.Latin, r) || unicode.IsNumber(r)
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return cut(norm.NFC.String(b.String()))
}

func cut(word string) string {
	if len(word) <= maxWordBytes {
		return word
	}
	end := maxWordBytes
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}

// foldText folds a text that is compared as a whole, such as a file name.
func foldText(text string) string {
	var b strings.Builder
	at := 0
	for span, w := range words(text) {
		b.WriteString(text[at:span.Start] + w)
		at = span.End
	}
	return b.String() + text[at:]
}
