package layout

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// enumerator is what begins an item of a list in Chinese, Japanese or Korean, where the text may follow without a
// blank: "・", "一、", "（2）", "１．", "①", "ア".
type enumerator struct {
	text            string // as printed
	form            string // what kind of number it is, and what stands around it, or the sign; empty where there is no counter
	number          int    // which number; 0 for a sign
	alternateNumber int    // which number where letters may count in another order
}

const (
	// eastBullets are the signs that begin an item without a blank behind them.
	eastBullets = "・•‣●○◎■□◆◇★☆▶►➢➤✓✔·"
	// hanDigits are the digits in Chinese, each at its place.
	hanDigits = "〇一二三四五六七八九"
	// kanaGojuonOrder and kanaIrohaOrder are the two orders that kana count in.
	kanaGojuonOrder = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
	kanaIrohaOrder  = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"
)

// circledNumbers are the ranges of numbers that are signs of their own, by the first sign of each.
var circledNumbers = []struct {
	first rune
	n     int
}{{'①', 20}, {'❶', 10}, {'➀', 10}, {'➊', 10}, {'㈠', 10}, {'㊀', 10}, {'⑴', 20}, {'⒈', 20}, {'㋐', 47},
	{'ⓐ', 26}, {'⒜', 26}}

// maxEnumeratorRunes is how much of a line's beginning is looked at for a counter.
const maxEnumeratorRunes = 12

// findEnumerator returns the counter that words begin with, if they do: in their first word, with text in the same or
// in the next.
func findEnumerator(words []*inkstreamv1.Word, blanks *Blanks) enumerator {
	first := words[0].GetText()
	if isASCII(first) && (len(words) == 1 || first[0] >= 'A') {
		return enumerator{} // the usual case
	}
	head, n := first, 1
	for n < len(words) && utf8.RuneCountInString(head) < maxEnumeratorRunes && !blanks.Before(n) {
		head += words[n].GetText()
		n++
	}
	c, rest := parseEnumerator(head)
	switch {
	case c.form == "":
		if c = parseBareEnumerator(first); c.form == "" || n > 1 || len(words) == 1 || !blanks.isWideGap(1) ||
			!mayFollowEnumerator(words[1].GetText()) {
			return enumerator{}
		}
	case rest == "" && n == len(words): // nothing but a counter is no item
		return enumerator{}
	case c.number == 0 && !hasCJKLetter(words): // in Latin text, a sign has a blank behind it
		return enumerator{}
	}
	return c
}

// mayFollowEnumerator reports whether a word may follow a counter that only room sets apart from it: it is not one of
// several letters set apart like it.
func mayFollowEnumerator(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return !isSingleLetter(word) && (unicode.IsLetter(r) || isOpeningMark(r))
}

// isLatinForm reports whether numbers of a form are those of Latin text.
func isLatinForm(form string) bool { return form == "1" || form == "a" }

// parseBareEnumerator returns a word that counts with nothing but a wide blank behind it: "ア　", "１　", "一　".
func parseBareEnumerator(word string) enumerator {
	form, n, alt, rest := parseNumber(word)
	if rest != "" || form == "" || isLatinForm(form) {
		return enumerator{}
	}
	return enumerator{text: word, form: form + " ", number: n, alternateNumber: alt}
}

// parseEnumerator returns the counter that a text begins with, if it does, and what follows it.
func parseEnumerator(text string) (c enumerator, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	for _, set := range circledNumbers {
		if n := int(r - set.first); n >= 0 && n < set.n {
			if rest = text[size:]; !mayBeginText(rest, false) {
				return enumerator{}, ""
			}
			return enumerator{text: text[:size], form: string(set.first), number: n + 1}, rest
		}
	}
	switch {
	case strings.ContainsRune(eastBullets, r):
		if rest = text[size:]; !mayBeginText(rest, false) {
			return enumerator{}, ""
		}
		return enumerator{text: text[:size], form: string(r)}, rest
	case r == '（' || r == '(' || r == '〔' || r == '［':
		return parseBracketedEnumerator(text, size)
	}
	return parseStoppedEnumerator(text)
}

// parseBracketedEnumerator returns a counter in brackets: "（一）", "（２）", "(ア)".
func parseBracketedEnumerator(text string, size int) (c enumerator, rest string) {
	form, n, alt, rest := parseNumber(text[size:])
	end, endSize := utf8.DecodeRuneInString(rest)
	if form == "" || !strings.ContainsRune("）)〕］", end) {
		return enumerator{}, ""
	}
	rest = rest[endSize:]
	if !mayBeginText(rest, text[0] == '(' && end == ')' && isLatinForm(form)) {
		return enumerator{}, ""
	}
	return enumerator{text: text[:len(text)-len(rest)], form: text[:size] + form, number: n, alternateNumber: alt}, rest
}

// parseStoppedEnumerator returns a counter with a mark behind it: "一、", "１．", "2)", "イ）".
func parseStoppedEnumerator(text string) (c enumerator, rest string) {
	form, n, alt, rest := parseNumber(text)
	end, size := utf8.DecodeRuneInString(rest)
	if form == "" || !strings.ContainsRune("、．.)）", end) {
		return enumerator{}, ""
	}
	rest = rest[size:]
	if !mayBeginText(rest, end < utf8.RuneSelf && isLatinForm(form)) {
		return enumerator{}, ""
	}
	// What goes on with a number is a figure with decimals, or an enumeration in a sentence: "二、三" and "2、4".
	if next, m, _, after := parseNumber(rest); next == form && m > 0 {
		if mark, _ := utf8.DecodeRuneInString(after); end != '、' || m == n+1 || mark == '、' || mark == '，' || after == "" {
			return enumerator{}, ""
		}
	}
	return enumerator{text: text[:len(text)-len(rest)], form: form + string(end), number: n, alternateNumber: alt}, rest
}

// mayBeginText reports whether the text of an item may begin so: with nothing, as its next word does, or with a
// letter, a number or an opening bracket. Behind marks of ASCII, which Latin text has too, it begins with a letter of
// a script that has no blanks.
func mayBeginText(rest string, ascii bool) bool {
	if rest == "" {
		return !ascii
	}
	r, _ := utf8.DecodeRuneInString(rest)
	if ascii {
		return isUnspacedRune(r) && unicode.IsLetter(r)
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || isOpeningMark(r) || r == '('
}

// hasCJKLetter reports whether words have a letter of Chinese, Japanese or Korean.
func hasCJKLetter(words []*inkstreamv1.Word) bool {
	for _, w := range words {
		for _, r := range w.GetText() {
			if r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				return true
			}
		}
	}
	return false
}

// parseNumber reads the number or letter that a text begins with: its form is empty if there is none. Up to three
// digits or Chinese numerals, or one letter of Latin or kana.
func parseNumber(text string) (form string, n, alt int, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r >= '0' && r <= '9':
		n, rest = parseDigits(text, '0')
		return "1", n, 0, rest
	case r >= '０' && r <= '９':
		n, rest = parseDigits(text, '０')
		return "１", n, 0, rest
	case r == '十' || strings.ContainsRune(hanDigits, r):
		n, rest = parseHanNumber(text)
		return "一", n, 0, rest
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		form, n = "a", int(r|0x20-'a')+1
	case r >= 'Ａ' && r <= 'Ｚ':
		form, n = "Ａ", int(r-'Ａ')+1
	case r >= 'ａ' && r <= 'ｚ':
		form, n = "ａ", int(r-'ａ')+1
	case r >= 'Ⅰ' && r <= 'Ⅻ':
		form, n = "Ⅰ", int(r-'Ⅰ')+1
	case r >= 'ア' && r <= 'ン' && strings.ContainsRune(kanaGojuonOrder, r):
		form, n, alt = "ア", indexInOrder(kanaGojuonOrder, r), indexInOrder(kanaIrohaOrder, r)
	default:
		return "", 0, 0, text
	}
	return form, n, alt, text[size:]
}

// indexInOrder returns where a letter stands in an order, from 1.
func indexInOrder(order string, r rune) int {
	return utf8.RuneCountInString(order[:max(0, strings.IndexRune(order, r))]) + 1
}

// maxNumberLength is how many digits or numerals a counter has at most.
const maxNumberLength = 3

func parseDigits(text string, zero rune) (n int, rest string) {
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

// parseHanNumber reads a number up to 99 in Chinese numerals.
func parseHanNumber(text string) (n int, rest string) {
	one, length := 0, 0
	for i, r := range text {
		d := slices.Index([]rune(hanDigits), r)
		if length++; d < 0 && r != '十' || length > maxNumberLength {
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

// isSuccessorOf reports whether an item with this counter may come right after one with the other: the same sign, or
// the next number.
func (c enumerator) isSuccessorOf(o enumerator) bool {
	if c.form == "" || c.form != o.form {
		return false
	}
	return c.number == o.number+1 || c.number == 0 && o.number == 0 || c.alternateNumber > 1 &&
		c.alternateNumber == o.alternateNumber+1
}

// TrimMarker returns the first word of an item without its marker, for writers that put a sign of their own in its
// place. A marker that counts in a way which such a sign does not stays, and so does a box that is ticked or not.
func TrimMarker(word, marker string) string {
	rest, ok := strings.CutPrefix(word, marker)
	if !ok || marker == "" || strings.Contains(tickBoxes, marker) {
		return word
	}
	if c, _ := parseEnumerator(marker); c.number > 0 && !isASCII(marker) {
		return word
	}
	if form, _, _, after := parseNumber(marker); form != "" && after == "" && !isASCII(marker) {
		return word
	}
	if rest == "" || isBullet(marker) || parseLatinEnumerator(marker) != "" {
		return rest
	}
	return word
}
