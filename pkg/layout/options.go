package layout

import (
	"slices"
	"strings"
)

// leaveOptions makes rows of options no rows of tables, unless those stand next to such: "A) one  B) two  C) three"
// below a question.
func leaveOptions(lines []tableLine) {
	options := make([]bool, len(lines))
	for i := range lines {
		options[i] = lines[i].several && areOptions(lines[i].cells)
	}
	for i := 0; i < len(lines); i++ {
		if !options[i] {
			continue
		}
		end := i + 1
		for end < len(lines) && options[end] {
			end++
		}
		if (i == 0 || !lines[i-1].several) && (end == len(lines) || !lines[end].several) {
			for k := i; k < end; k++ {
				lines[k].several = false
			}
		}
		i = end
	}
}

// areOptions reports whether cells, of which there are two at least, begin with letters or numbers that count from
// each to the next, or with boxes to tick, with text behind them.
func areOptions(cells []segment) bool {
	if len(cells) > 1 && !slices.ContainsFunc(cells, func(c segment) bool {
		return len(c.words) < 2 || !strings.Contains(tickBoxes, c.words[0].GetText())
	}) {
		return true
	}
	form, number := "", 0
	for i, c := range cells {
		marker := parseLatinEnumerator(c.words[0].GetText())
		f, n, _, rest := parseNumber(strings.Trim(marker, "([.)]"))
		if f == "" || rest != "" || len(c.words) < 2 || i > 0 && (f != form || n != number+1) {
			return false
		}
		form, number = f, n
	}
	return len(cells) > 1
}
