// Package score holds the measures that say how good what was read is: text against the text that stands on the page;
// tables, headings and markdown against documents with known structure; searchable PDFs against the words that were
// recognised; images against those in the PDF. Every measure is a well-known one, or as near to it as the truths allow,
// and says in its comment what it counts.
//
// For plain text, both texts are put in Unicode NFKC, soft hyphens and zero-width marks are dropped, every run of white
// space becomes one blank, and a blank between two characters of a script written without blanks is dropped. Then:
//
//   - CER is the edit distance in characters, divided by the characters of the truth;
//   - WER is the same in words, where a character of a script written without blanks is a word itself;
//   - the bag-of-words figures compare the words regardless of their order: a high CER with a high F1 is wrong reading
//     order, a high CER with a low F1 is wrong letters.
//
// The figures are exact, and those of tools that score OCR in the same way.
package score

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Options says which differences do not count.
type Options struct {
	IgnoreCase bool
	// Lenient folds quotes, dashes and bullets, and joins words broken by a hyphen at the end of a line.
	Lenient bool
}

// Result holds the figures of one comparison. CER and WER pass 1 when much more was read than is there.
type Result struct {
	CER, WER                         float64
	CharEdits, TruthChars, ReadChars int
	WordEdits, TruthWords, ReadWords int
	Recall, Precision, F1            float64 // of words, regardless of order
}

// CompareTexts scores what was read against the truth. An empty truth scores 0 against an empty text and 1 against
// any other.
func CompareTexts(truth, read string, o Options) Result {
	t, r := []rune(NormaliseText(truth, o)), []rune(NormaliseText(read, o))
	tw, rw := SplitWords(string(t)), SplitWords(string(r))
	res := Result{
		CharEdits: EditDistance(t, r), TruthChars: len(t), ReadChars: len(r),
		WordEdits: EditDistance(tw, rw), TruthWords: len(tw), ReadWords: len(rw),
	}
	res.CER = errorRate(res.CharEdits, len(t), len(r))
	res.WER = errorRate(res.WordEdits, len(tw), len(rw))
	res.Recall, res.Precision, res.F1 = wordBagScores(tw, rw)
	return res
}

// CharErrorRate returns the character error rate of what was read.
func CharErrorRate(truth, read string) float64 {
	t, r := []rune(NormaliseText(truth, Options{})), []rune(NormaliseText(read, Options{}))
	return errorRate(EditDistance(t, r), len(t), len(r))
}

// WordF1 returns how well the words of two texts agree, regardless of their order: 1 if they are the same, 0 if they
// share none.
func WordF1(a, b string) float64 {
	_, _, f1 := wordBagScores(SplitWords(NormaliseText(a, Options{})), SplitWords(NormaliseText(b, Options{})))
	return f1
}

// WordOrder returns how far the words that two texts share come in the same order, from 0 to 1: one less the edit
// distance of the two sequences of shared words, divided by their length. Words that only one text has do not count,
// so it tells nothing but order.
func WordOrder(a, b string) float64 {
	aw, bw := SplitWords(NormaliseText(a, Options{})), SplitWords(NormaliseText(b, Options{}))
	aw, bw = sharedWords(aw, bw), sharedWords(bw, aw)
	longer := max(len(aw), len(bw))
	if longer == 0 {
		return 1
	}
	return 1 - float64(EditDistance(aw, bw))/float64(longer)
}

// sharedWords returns the words of a that b has too, each no more often than b has it.
func sharedWords(a, b []string) []string {
	count := map[string]int{}
	for _, w := range b {
		count[w]++
	}
	var out []string
	for _, w := range a {
		if count[w] > 0 {
			count[w]--
			out = append(out, w)
		}
	}
	return out
}

func wordBagScores(truth, read []string) (recall, precision, f1 float64) {
	common := len(sharedWords(truth, read))
	share := func(n, other int) float64 {
		switch {
		case n > 0:
			return float64(common) / float64(n)
		case other == 0:
			return 1
		default:
			return 0
		}
	}
	recall, precision = share(len(truth), len(read)), share(len(read), len(truth))
	if recall+precision > 0 {
		f1 = 2 * recall * precision / (recall + precision)
	}
	return recall, precision, f1
}

// F1 is the harmonic mean of precision and recall of a comparison that found equal things common to truth and got: 1
// if all are equal, and also if there are none on both sides.
func F1(equal, truth, got int) float64 {
	if truth+got == 0 {
		return 1
	}
	return 2 * float64(equal) / float64(truth+got)
}

func errorRate(edits, size, other int) float64 {
	switch {
	case size > 0:
		return float64(edits) / float64(size)
	case other > 0:
		return 1
	default:
		return 0
	}
}

// isInvisible reports characters that carry no text: soft hyphen, zero-width marks, marks of direction.
func isInvisible(r rune) bool {
	return r == 0x00AD || r == 0xFEFF || r == 0x2060 || r >= 0x200B && r <= 0x200F || r >= 0x202A && r <= 0x202E ||
		r >= 0x2066 && r <= 0x2069
}

// unspacedRunes holds the characters of scripts that are written without blanks: Thai, Lao, Myanmar, Khmer, Han with
// its punctuation, kana.
var unspacedRunes = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0e00, 0x0eff, 1}, {0x1000, 0x109f, 1}, {0x1780, 0x17ff, 1}, {0x2e80, 0x2fdf, 1}, {0x3001, 0x3011, 1},
		{0x3021, 0x3029, 1}, {0x3040, 0x30ff, 1}, {0x3400, 0x4dbf, 1}, {0x4e00, 0x9fff, 1}, {0xf900, 0xfaff, 1},
	},
	R32: []unicode.Range32{{0x20000, 0x3ffff, 1}},
}

var typographyFolder = strings.NewReplacer(
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "`", "'", "\u00b4", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`, "\u00ab", `"`, "\u00bb", `"`,
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-",
	"\u2212", "-", "\u2022", "*", "\u00b7", "*", "\u25cf", "*", "\u25aa", "*", "\u2044", "/",
)

// hyphenBreak matches a hyphen at a line's end with the letters around it.
var hyphenBreak = regexp.MustCompile(`([\p{L}\p{N}_])-[ \t]*\r?\n[\s\p{Z}\v\x1c-\x1f\x{85}]*([\p{L}\p{N}_])`)

func dropInvisible(text string) string {
	return strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, text)
}

// NormaliseText puts a text into the form that is compared.
func NormaliseText(text string, o Options) string {
	text = dropInvisible(norm.NFKC.String(dropInvisible(strings.ToValidUTF8(text, "\uFFFD"))))
	if o.Lenient {
		text = typographyFolder.Replace(text)
		// Twice, because a match takes the letter behind it, which may stand before the next hyphen.
		text = hyphenBreak.ReplaceAllString(hyphenBreak.ReplaceAllString(text, "$1$2"), "$1$2")
	}
	if o.IgnoreCase {
		text = cases.Fold().String(text)
	}
	fields := strings.FieldsFunc(text, isBlankRune)
	var b strings.Builder
	b.Grow(len(text))
	var last rune
	for i, field := range fields {
		runes := []rune(field)
		if i > 0 && !(unicode.Is(unspacedRunes, last) && unicode.Is(unspacedRunes, runes[0])) {
			b.WriteByte(' ')
		}
		b.WriteString(field)
		last = runes[len(runes)-1]
	}
	return b.String()
}

// isBlankRune reports white space, with the four separators of ASCII, which belong to it elsewhere too.
func isBlankRune(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// SplitWords splits a text in words; a character of a script written without blanks is one itself.
func SplitWords(text string) []string {
	var out []string
	start := -1
	for i, r := range text {
		switch {
		case unicode.Is(unspacedRunes, r):
			if start >= 0 {
				out = append(out, text[start:i])
				start = -1
			}
			out = append(out, string(r))
		case isBlankRune(r):
			if start >= 0 {
				out = append(out, text[start:i])
				start = -1
			}
		case start < 0:
			start = i
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}
