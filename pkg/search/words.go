package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"inkstream.dev/pkg/script"
)

// maxWordBytes is where words are cut. Longer ones are no words, but runs of letters that a broken text layer or a key has.
const maxWordBytes = 128

// words yields the words of a text as the index folds them, each with its place in the text: runs of letters and digits, without regard to
// case, to the accents of Latin letters, nor to the width of a letter. Of scripts that are written without blanks each character is a word, so that
// a word of theirs is found as a phrase, wherever it stands in a sentence or at the end of a line.
func words(text string) iter.Seq2[Span, string] {
	return func(yield func(Span, string) bool) {
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if !isWordRune(r) {
				at += size
				continue
			}
			start, more := at, withinWord
			if standsAlone(r) {
				more = joinsLast
			}
			at += size
			for at < len(text) {
				r, size := utf8.DecodeRuneInString(text[at:])
				if !more(r) {
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

// standsAlone reports whether a character is a word, together with those that join it: of scripts written without blanks, and of Hangul, whose words
// have their endings on them.
func standsAlone(r rune) bool {
	const firstHangul = 0x1100
	return script.Unspaced(r) || r >= firstHangul && (isSquared(r) || unicode.Is(unicode.Hangul, r)) && !joinsLast(r)
}

// isSquared reports signs that hold a character, such as that of a company.
func isSquared(r rune) bool { return r >= 0x3200 && r <= 0x33ff }

// joinsLast reports what belongs to the character before it, as the vowels and finals of Hangul do.
func joinsLast(r rune) bool { return script.Joins(r) || r >= 0x1160 && r <= 0x11ff }

func withinWord(r rune) bool { return isWordRune(r) && !standsAlone(r) }

// isWide reports characters of the block of wide Latin letters and digits, and of narrow kana.
func isWide(r rune) bool { return r >= 0xff00 && r <= 0xffef }

// fold returns a word in the form in which it is compared: in lower case, Latin letters without their marks, no longer than maxWordBytes.
// Characters that are only another shape of one, as fonts of Chinese and Japanese have them, are that one.
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
	if strings.ContainsFunc(word, indexedApart) {
		word = norm.NFKC.String(word)
		if strings.ContainsFunc(word, notOfWord) { // the brackets of a squared character
			word = strings.Join(strings.FieldsFunc(word, notOfWord), "")
		}
	}
	var b strings.Builder
	latin := true // a mark at the beginning belongs to nothing
	for _, r := range norm.NFD.String(folder.String(word)) {
		switch {
		case unicode.Is(unicode.Mn, r):
			if !latin && !unicode.Is(unicode.Variation_Selector, r) {
				b.WriteRune(r)
			}
		default:
			latin = unicode.Is(unicode.Latin, r) || unicode.IsNumber(r)
			b.WriteRune(r)
		}
	}
	return cut(norm.NFC.String(b.String()))
}

// folder makes letters alike that differ in case only; ß becomes ss.
var folder = cases.Fold()

// indexedApart reports characters that FTS5 would not take as words does.
func indexedApart(r rune) bool {
	return r >= 0xdf && (standsAlone(r) || isWide(r) || unicode.Is(foldedLonger, r))
}

// foldedLonger has, with some around them, the letters that folding makes two or three of (CaseFolding.txt of the Unicode Character Database, status F).
var foldedLonger = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0xdf, Hi: 0xdf, Stride: 1}, {Lo: 0x130, Hi: 0x130, Stride: 1}, {Lo: 0x149, Hi: 0x149, Stride: 1}, {Lo: 0x1f0, Hi: 0x1f0, Stride: 1},
	{Lo: 0x390, Hi: 0x3b0, Stride: 0x20}, {Lo: 0x587, Hi: 0x587, Stride: 1}, {Lo: 0x1e96, Hi: 0x1e9e, Stride: 1}, {Lo: 0x1f50, Hi: 0x1ffc, Stride: 1},
	{Lo: 0xfb00, Hi: 0xfb17, Stride: 1},
}}

func notOfWord(r rune) bool { return !isWordRune(r) }

// indexed returns a text as FTS5's tokenizer is given it, which then finds the same words as words does.
func indexed(text string) string {
	if !strings.ContainsFunc(text, indexedApart) {
		return text
	}
	var b strings.Builder
	at := 0
	for span, w := range words(text) {
		if strings.ContainsFunc(text[span.Start:span.End], indexedApart) {
			b.WriteString(text[at:span.Start] + " " + w + " ")
			at = span.End
		}
	}
	return b.String() + text[at:]
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
