package layout

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// counterValue returns the number that an item's counter has ("(3)", "b.", "IV" is none), and what kind of counter it
// is; 0 if a word is none.
func counterValue(word string) (kind string, value int) {
	marker := parseLatinEnumerator(word)
	if marker == "" {
		return "", 0
	}
	body := strings.Trim(marker, "()[].:")
	around := strings.Replace(marker, body, "", 1)
	if n, err := strconv.Atoi(body); err == nil {
		return "1" + around, n
	}
	if len(body) != 1 {
		return "", 0
	}
	if c := body[0]; c >= 'a' {
		return "a" + around, int(c-'a') + 1
	}
	return "A" + around, int(body[0]-'A') + 1
}

// isCountedOn reports whether a line below line i begins with the counter after its own, in the same place.
func isCountedOn(p *textColumn, i int) bool {
	cur := p.shapes[i]
	kind, value := counterValue(cur.marker)
	return value > 0 && slices.ContainsFunc(p.shapes[i+1:min(i+1+maxListDistance, len(p.shapes))], func(s lineShape) bool {
		k, v := counterValue(s.marker)
		return k == kind && v == value+1 && math.Abs(s.x0-cur.x0) < 0.5*p.em
	})
}

// countAcross reports whether items are counted from left to right and then down, as the answers of a question are:
// "(A)" beside "(B)", "(C)" and "(D)" below.
func countAcross(left, right []sideLine, em float64) bool {
	const fewest, level = 2, 0.3 // rows with two items, and ems
	across, j := 0, 0
	before := 0 // the value of the item above on the left
	for _, l := range left {
		kind, value := counterValue(l.first.GetText())
		if value == 0 {
			continue
		}
		if before > 0 && value == before+1 { // counted downwards
			return false
		}
		before = value
		for j < len(right) && right[j].centerY() < l.centerY()-level*em {
			j++
		}
		if j == len(right) || math.Abs(right[j].centerY()-l.centerY()) > level*em {
			continue
		}
		if other, next := counterValue(right[j].first.GetText()); other != kind || next != value+1 {
			return false
		}
		across++
	}
	return across >= fewest
}

// followsSection reports whether the number of a section comes right behind another, as two headings in a row have:
// "4.1" behind "4", "4.2" or "5" behind "4.1.3".
func followsSection(number, before string) bool {
	a, b := strings.Split(strings.Trim(before, "."), "."), strings.Split(strings.Trim(number, "."), ".")
	if !isSectionNumber(before) || !isSectionNumber(number) || len(b) > len(a)+1 || max(len(a), len(b)) < 2 {
		return false
	}
	for i := range b[:len(b)-1] {
		if a[i] != b[i] {
			return false
		}
	}
	last, err := strconv.Atoi(b[len(b)-1])
	if err != nil {
		return false
	}
	if len(b) == len(a)+1 {
		return last == 1 && a[len(a)-1] != ""
	}
	was, err := strconv.Atoi(a[len(b)-1])
	return err == nil && last == was+1
}
