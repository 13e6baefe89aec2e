package layout

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// counter is what begins an item of a list in Chinese, Japanese or Korean, where the text may follow without a blank: "・", "一、", "（2）",
// "１．", "①", "ア".
type counter struct {
	text string // as printed
	form string // what kind of number it is, and what stands around it, or the sign; empty where there is no counter
	n    int    // which number; 0 for a sign
	alt  int    // which number where letters may count in another order
}

const (
	// eastBullets are the signs that begin an item without a blank behind them.
	eastBullets = "・•‣●○◎■□◆◇★☆▶►➢➤✓✔·"
	// hanDigits are the digits in Chinese, each at its place.
	hanDigits = "〇一二三四五六七八九"
	// kanaOrder and kanaVerse are the two orders that kana count in.
	kanaOrder = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
	kanaVerse = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"
)

// circled are the ranges of numbers that are signs of their own, by the first sign of each.
var circled = []struct {
	first rune
	n     int
}{{'①', 20}, {'❶', 10}, {'➀', 10}, {'➊', 10}, {'㈠', 10}, {'㊀', 10}, {'⑴', 20}, {'⒈', 20}, {'㋐', 47}, {'ⓐ', 26}, {'⒜', 26}}

// headRunes is how much of a line's beginning is looked at for a counter.
const headRunes = 12

// counterOf returns the counter that words begin with, if they do: in their first word, with text in the same or in the next.
func counterOf(words []*inkstreamv1.Word, blanks *Blanks) counter {
	first := words[0].GetText()
	if isASCII(first) && (len(words) == 1 || first[0] >= 'A') {
		return counter{} // the usual case
	}
	head, n := first, 1
	for n < len(words) && utf8.RuneCountInString(head) < headRunes && !blanks.Before(n) {
		head += words[n].GetText()
		n++
	}
	c, rest := parseCounter(head)
	switch {
	case c.form == "":
		if c = bareCounter(first); c.form == "" || n > 1 || len(words) == 1 || !blanks.wide(1) || !worded(words[1].GetText()) {
			return counter{}
		}
	case rest == "" && n == len(words): // nothing but a counter is no item
		return counter{}
	case c.n == 0 && !eastern(words): // in Latin text, a sign has a blank behind it
		return counter{}
	}
	return c
}

// worded reports whether a word may follow a counter that only room sets apart from it: it is not one of several letters set apart like it.
func worded(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return !oneLetter(word) && (unicode.IsLetter(r) || opens(r))
}

// latin reports whether numbers of a form are those of Latin text.
func latin(form string) bool { return form == "1" || form == "a" }

// bareCounter returns a word that counts with nothing but a wide blank behind it: "ア　", "１　", "一　".
func bareCounter(word string) counter {
	form, n, alt, rest := parseNumber(word)
	if rest != "" || form == "" || latin(form) {
		return counter{}
	}
	return counter{text: word, form: form + " ", n: n, alt: alt}
}

// parseCounter returns the counter that a text begins with, if it does, and what follows it.
func parseCounter(text string) (c counter, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	for _, set := range circled {
		if n := int(r - set.first); n >= 0 && n < set.n {
			if rest = text[size:]; !beginsText(rest, false) {
				return counter{}, ""
			}
			return counter{text: text[:size], form: string(set.first), n: n + 1}, rest
		}
	}
	switch {
	case strings.ContainsRune(eastBullets, r):
		if rest = text[size:]; !beginsText(rest, false) {
			return counter{}, ""
		}
		return counter{text: text[:size], form: string(r)}, rest
	case r == '（' || r == '(' || r == '〔' || r == '［':
		return bracketed(text, size)
	}
	return stoppedCounter(text)
}

// bracketed returns a counter in brackets: "（一）", "（２）", "(ア)".
func bracketed(text string, size int) (c counter, rest string) {
	form, n, alt, rest := parseNumber(text[size:])
	end, endSize := utf8.DecodeRuneInString(rest)
	if form == "" || !strings.ContainsRune("）)〕］", end) {
		return counter{}, ""
	}
	rest = rest[endSize:]
	if !beginsText(rest, text[0] == '(' && end == ')' && latin(form)) {
		return counter{}, ""
	}
	return counter{text: text[:len(text)-len(rest)], form: text[:size] + form, n: n, alt: alt}, rest
}

// stoppedCounter returns a counter with a mark behind it: "一、", "１．", "2)", "イ）".
func stoppedCounter(text string) (c counter, rest string) {
	form, n, alt, rest := parseNumber(text)
	end, size := utf8.DecodeRuneInString(rest)
	if form == "" || !strings.ContainsRune("、．.)）", end) {
		return counter{}, ""
	}
	rest = rest[size:]
	if !beginsText(rest, end < utf8.RuneSelf && latin(form)) {
		return counter{}, ""
	}
	// What goes on with a number is a figure with decimals, or an enumeration in a sentence: "二、三" and "2、4".
	if next, m, _, after := parseNumber(rest); next == form && m > 0 {
		if mark, _ := utf8.DecodeRuneInString(after); end != '、' || m == n+1 || mark == '、' || mark == '，' || after == "" {
			return counter{}, ""
		}
	}
	return counter{text: text[:len(text)-len(rest)], form: form + string(end), n: n, alt: alt}, rest
}

// beginsText reports whether the text of an item may begin so: with nothing, as its next word does, or with a letter, a number or an opening
// bracket. Behind marks of ASCII, which Latin text has too, it begins with a letter of a script that has no blanks.
func beginsText(rest string, ascii bool) bool {
	if rest == "" {
		return !ascii
	}
	r, _ := utf8.DecodeRuneInString(rest)
	if ascii {
		return unspaced(r) && unicode.IsLetter(r)
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || opens(r) || r == '('
}

// eastern reports whether words have a letter of Chinese, Japanese or Korean.
func eastern(words []*inkstreamv1.Word) bool {
	for _, w := range words {
		for _, r := range w.GetText() {
			if r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				return true
			}
		}
	}
	return false
}

// parseNumber reads the number or letter that a text begins with: its form is empty if there is none. Up to three digits or Chinese numerals,
// or one letter of Latin or kana.
func parseNumber(text string) (form string, n, alt int, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r >= '0' && r <= '9':
		n, rest = digitsFrom(text, '0')
		return "1", n, 0, rest
	case r >= '０' && r <= '９':
		n, rest = digitsFrom(text, '０')
		return "１", n, 0, rest
	case r == '十' || strings.ContainsRune(hanDigits, r):
		n, rest = hanNumber(text)
		return "一", n, 0, rest
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		form, n = "a", int(r|0x20-'a')+1
	case r >= 'Ａ' && r <= 'Ｚ':
		form, n = "Ａ", int(r-'Ａ')+1
	case r >= 'ａ' && r <= 'ｚ':
		form, n = "ａ", int(r-'ａ')+1
	case r >= 'Ⅰ' && r <= 'Ⅻ':
		form, n = "Ⅰ", int(r-'Ⅰ')+1
	case r >= 'ア' && r <= 'ン' && strings.ContainsRune(kanaOrder, r):
		form, n, alt = "ア", placeIn(kanaOrder, r), placeIn(kanaVerse, r)
	default:
		return "", 0, 0, text
	}
	return form, n, alt, text[size:]
}

// placeIn returns where a letter stands in an order, from 1.
func placeIn(order string, r rune) int {
	return utf8.RuneCountInString(order[:max(0, strings.IndexRune(order, r))]) + 1
}

// longestNumber is how many digits or numerals a counter has at most.
const longestNumber = 3

func digitsFrom(text string, zero rune) (n int, rest string) {
	for i, r := range text {
		if r < zero || r > zero+9 {
			return n, text[i:]
		}
		if n = 10*n + int(r-zero); n >= 1000 {
			return 0, text
		}
	}
	return n, ""
}

// hanNumber reads a number up to 99 in Chinese numerals.
func hanNumber(text string) (n int, rest string) {
	one, length := 0, 0
	for i, r := range text {
		d := slices.Index([]rune(hanDigits), r)
		if length++; d < 0 && r != '十' || length > longestNumber {
			return n + one, text[i:]
		}
		if r == '十' {
			n, one = n+max(one, 1)*10, 0
		} else {
			one = 10*one + d
		}
	}
	return n + one, ""
}

// follows reports whether an item with this counter may come right after one with the other: the same sign, or the next number.
func (c counter) follows(o counter) bool {
	if c.form == "" || c.form != o.form {
		return false
	}
	return c.n == o.n+1 || c.n == 0 && o.n == 0 || c.alt > 1 && c.alt == o.alt+1
}

// TrimMarker returns the first word of an item without its marker, for writers that put a sign of their own in its place. A marker that counts
// in a way which such a sign does not stays.
func TrimMarker(word, marker string) string {
	rest, ok := strings.CutPrefix(word, marker)
	if !ok || marker == "" {
		return word
	}
	if c, _ := parseCounter(marker); c.n > 0 && !isASCII(marker) {
		return word
	}
	if form, _, _, after := parseNumber(marker); form != "" && after == "" && !isASCII(marker) {
		return word
	}
	if rest == "" || isBullet(marker) || enumerator(marker) != "" {
		return rest
	}
	return word
}
