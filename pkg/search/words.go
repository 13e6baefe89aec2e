package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"inkstream.dev/pkg/unicodescript"
)

// maxWordBytes is where words are cut. Longer ones are no words, but runs of letters that a broken text layer or a
// key has.
const maxWordBytes = 128

// splitWords yields the words of a text as the index folds them, each with its place in the text: runs of letters and
// digits, without regard to case, to the accents of Latin letters, nor to the width of a letter. Of scripts that are
// written without blanks each character is a word, so that a word of theirs is found as a phrase, wherever it stands
// in a sentence or at the end of a line.
func splitWords(text string) iter.Seq2[Span, string] {
	return func(yield func(Span, string) bool) {
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			if !isWordRune(r) {
				at += size
				continue
			}
			start, more := at, isWithinWord
			if isStandaloneRune(r) {
				more = joinsPrevious
			}
			at += size
			for at < len(text) {
				r, size := utf8.DecodeRuneInString(text[at:])
				if !more(r) {
					break
				}
				at += size
			}
			if w := foldWord(text[start:at]); w != "" && !yield(Span{start, at}, w) {
				return
			}
		}
	}
}

// isStandaloneRune reports whether a character is a word, together with those that join it: of scripts written
// without blanks, and of Hangul, whose words have their endings on them.
func isStandaloneRune(r rune) bool {
	const firstHangul = 0x1100
	return unicodescript.IsUnspaced(r) || r >= firstHangul && (isSquaredRune(r) || unicode.Is(unicode.Hangul, r)) &&
		!joinsPrevious(r)
}

// isSquaredRune reports signs that hold a character, such as that of a company.
func isSquaredRune(r rune) bool { return r >= 0x3200 && r <= 0x33ff }

// joinsPrevious reports what belongs to the character before it, as the vowels and finals of Hangul do.
func joinsPrevious(r rune) bool { return unicodescript.JoinsPrevious(r) || r >= 0x1160 && r <= 0x11ff }

func isWithinWord(r rune) bool { return isWordRune(r) && !isStandaloneRune(r) }

// isWideRune reports characters of the block of wide Latin letters and digits, and of narrow kana.
func isWideRune(r rune) bool { return r >= 0xff00 && r <= 0xffef }

// foldWord returns a word in the form in which it is compared: in lower case, Latin letters without their marks, no
// longer than maxWordBytes. Characters that are only another shape of one, as fonts of Chinese and Japanese have
// them, are that one.
func foldWord(word string) string {
	ascii := true
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return truncateWord(strings.ToLower(word))
	}
	if strings.ContainsFunc(word, needsOwnToken) {
		word = norm.NFKC.String(word)
		if strings.ContainsFunc(word, isNonWordRune) { // the brackets of a squared character
			word = strings.Join(strings.FieldsFunc(word, isNonWordRune), "")
		}
	}
	var b strings.Builder
	latin := true // a mark at the beginning belongs to nothing
	for _, r := range norm.NFD.String(caseFolder.String(word)) {
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
	return truncateWord(norm.NFC.String(b.String()))
}

// caseFolder makes letters alike that differ in case only; ß becomes ss.
var caseFolder = cases.Fold()

// needsOwnToken reports characters that FTS5 would not take as words does.
func needsOwnToken(r rune) bool {
	return r >= 0xdf && (isStandaloneRune(r) || isWideRune(r) || unicode.Is(foldsToSeveral, r))
}

// foldsToSeveral has, with some around them, the letters that folding makes two or three of (CaseFolding.txt of the
// Unicode Character Database, status F).
var foldsToSeveral = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0xdf, Hi: 0xdf, Stride: 1}, {Lo: 0x130, Hi: 0x130, Stride: 1}, {Lo: 0x149, Hi: 0x149, Stride: 1},
	{Lo: 0x1f0, Hi: 0x1f0, Stride: 1},
	{Lo: 0x390, Hi: 0x3b0, Stride: 0x20}, {Lo: 0x587, Hi: 0x587, Stride: 1}, {Lo: 0x1e96, Hi: 0x1e9e, Stride: 1},
	{Lo: 0x1f50, Hi: 0x1ffc, Stride: 1},
	{Lo: 0xfb00, Hi: 0xfb17, Stride: 1},
}}

func isNonWordRune(r rune) bool { return !isWordRune(r) }

// prepareFTSText returns a text as FTS5's tokenizer is given it, which then finds the same words as words does.
func prepareFTSText(text string) string {
	if !strings.ContainsFunc(text, needsOwnToken) {
		return text
	}
	var b strings.Builder
	at := 0
	for span, w := range splitWords(text) {
		if strings.ContainsFunc(text[span.Start:span.End], needsOwnToken) {
			b.WriteString(text[at:span.Start] + " " + w + " ")
			at = span.End
		}
	}
	return b.String() + text[at:]
}

func truncateWord(word string) string {
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
	for span, w := range splitWords(text) {
		b.WriteString(text[at:span.Start] + w)
		at = span.End
	}
	return b.String() + text[at:]
}
