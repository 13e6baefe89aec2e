package layout

import "strings"

// ParsePageNumber reads the number that is printed on a page: at most five digits, or a Roman number below 400. It
// reports false for any other text.
func ParsePageNumber(text string) (int, bool) {
	if text == "" || len(text) > 8 {
		return 0, false
	}
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return parseRoman(text)
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, len(text) <= 5
}

func parseRoman(text string) (int, bool) {
	lower := strings.ToLower(text)
	if lower != text && strings.ToUpper(text) != text {
		return 0, false
	}
	total, last := 0, 0
	for i := len(lower) - 1; i >= 0; i-- {
		var v int
		switch lower[i] {
		case 'i':
			v = 1
		case 'v':
			v = 5
		case 'x':
			v = 10
		case 'l':
			v = 50
		case 'c':
			v = 100
		default:
			return 0, false
		}
		if v < last {
			total -= v
		} else {
			total, last = total+v, v
		}
	}
	return total, total > 0 && formatRoman(total) == lower
}

// formatRoman writes a number below 400 the Roman way.
func formatRoman(n int) string {
	var b strings.Builder
	for _, digit := range []struct {
		value int
		text  string
	}{{100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= digit.value; n -= digit.value {
			b.WriteString(digit.text)
		}
	}
	return b.String()
}
