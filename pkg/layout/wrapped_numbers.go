package layout

import (
	"math"
	"slices"
	"strings"
)

// mostNumberParts is how many parts a number in the last column of a list has at most, as one of a telephone has.
const mostNumberParts = 4

// numberParts says how many digits the parts of a number have.
type numberParts [mostNumberParts]int

// joinWrappedNumbers makes one row of two where an entry's name and its number are both broken into the second row,
// as in directories in narrow columns: the name goes on below the name, and the number below the number. How many
// digits the parts of a whole number have, the entries tell that are not broken, those of the text above too; or
// nearly all are, and their parts take turns.
func (a *aligner) joinWrappedNumbers(rows []row) []row {
	const fewest = 3 // entries
	if a.numbers == nil {
		a.numbers = map[numberParts]int{}
	}
	if len(a.numbers) == 0 && !mayHaveNumbersInParts(rows) {
		return rows // the usual case
	}
	parts, cells := make([]numberParts, len(rows)), make([][]segment, len(rows))
	for i := range rows {
		if !endsWithDigits(&rows[i], 1) {
			continue
		}
		if cells[i] = a.splitRowCells(rows[i]); len(cells[i]) < 2 {
			continue
		}
		if parts[i] = measureNumber(cells[i][len(cells[i])-1]); parts[i][1] > 0 {
			a.numbers[parts[i]]++
		}
	}
	if number, n := findAlternatingParts(parts); n > 0 {
		a.numbers[number] += n
	}
	whole := numberParts{}
	for number, n := range a.numbers {
		if most := a.numbers[whole]; n >= fewest && (n > most || n == most && slices.Compare(number[:], whole[:]) > 0) {
			whole = number
		}
	}
	if whole[0] == 0 {
		return rows
	}
	out := rows[:0:0]
	for i := 0; i < len(rows); i++ {
		if i+1 < len(rows) && parts[i][0] > 0 && parts[i+1][0] > 0 && whole.isBroken(parts[i], parts[i+1]) && a.standBelow(cells[i], cells[i+1]) {
			out = append(out, joinCells(cells[i], cells[i+1]))
			i++
			continue
		}
		out = append(out, rows[i])
	}
	return out
}

// mayHaveNumbersInParts is a cheap look whether a row ends with two words of digits, or many with one.
func mayHaveNumbersInParts(rows []row) bool {
	numbers := 0
	for i := range rows {
		if endsWithDigits(&rows[i], 2) {
			return true
		}
		if endsWithDigits(&rows[i], 1) {
			numbers++
		}
	}
	return numbers >= 2*fewestAlternating && 4*numbers >= 3*len(rows)
}

// fewestAlternating is how many numbers of two parts there are at least where all are broken.
const fewestAlternating = 4

// findAlternatingParts returns the number whose two parts take turns in nearly all rows that end with a number, and how
// often; 0 where none does.
func findAlternatingParts(parts []numberParts) (numberParts, int) {
	all, pairs := 0, map[numberParts]int{}
	for i := 0; i < len(parts); i++ {
		if parts[i][0] == 0 {
			continue
		}
		if all++; i+1 == len(parts) || parts[i][1] > 0 || parts[i+1][0] == 0 || parts[i+1][1] > 0 || parts[i][0] == parts[i+1][0] {
			continue
		}
		pairs[numberParts{parts[i][0], parts[i+1][0]}]++
		all++
		i++
	}
	for number, n := range pairs {
		if n >= fewestAlternating && 10*2*n >= 9*all {
			return number, n
		}
	}
	return numberParts{}, 0
}

// endsWithDigits reports whether the rightmost words of a row, so many, are digits.
func endsWithDigits(r *row, words int) bool {
	last := &r.segments[0]
	for i := range r.segments {
		if r.segments[i].x1 > last.x1 {
			last = &r.segments[i]
		}
	}
	if last.table != nil || len(last.words) < words {
		return false
	}
	for _, w := range last.words[len(last.words)-words:] {
		if strings.Trim(w.GetText(), "0123456789") != "" {
			return false
		}
	}
	return true
}

// measureNumber returns how many digits the parts of a number have; none of what is no number.
func measureNumber(s segment) numberParts {
	var out numberParts
	if len(s.words) > mostNumberParts {
		return out
	}
	for i, w := range s.words {
		if strings.Trim(w.GetText(), "0123456789") != "" {
			return numberParts{}
		}
		out[i] = len(w.GetText())
	}
	return out
}

// isBroken reports whether the parts of a whole number are those of two halves.
func (whole numberParts) isBroken(first, second numberParts) bool {
	n := slices.Index(first[:], 0)
	if n < 1 || whole[n] == 0 {
		return false
	}
	for i, digits := range whole {
		if i < n && digits != first[i] || i >= n && digits != second[i-n] {
			return false
		}
	}
	return true
}

// standBelow reports whether the cells of a row, two, begin right below those of another.
func (a *aligner) standBelow(above, below []segment) bool {
	const slack, near = 0.3, 0.6 // ems
	if len(above) != 2 || len(below) != 2 || below[0].y0-above[0].y1 > near*a.em {
		return false
	}
	for i := range above {
		if math.Abs(above[i].x0-below[i].x0) > slack*a.em {
			return false
		}
	}
	return true
}

// joinCells makes one row of the cells of two, each with the one below it.
func joinCells(above, below []segment) row {
	var segments []segment
	for i, s := range above {
		s.words = slices.Concat(s.words, below[i].words)
		s.rect, s.text = s.rect.union(below[i].rect), s.text+below[i].text
		segments = append(segments, s)
	}
	return newRow(segments)
}
