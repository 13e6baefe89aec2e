package layout

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// findListColumns returns at which of the parts of a band the next column begins of a list that goes on from column
// to column; nil if no list does. Its entries are counted or sorted on over the gutter, or the same parts come again
// at equal distances. No table's columns are so; the lines of each part alone may look like cells.
func (c columnSplitter) findListColumns(parts [][]segment) map[int]bool {
	const most = 24 // parts that are looked at
	if len(parts) > most {
		return nil
	}
	sides := make([][]sideLine, len(parts))
	for i, part := range parts {
		sides[i] = buildSide(part, c.em)
	}
	if starts := countedColumns(sides); len(starts) > 0 {
		return starts
	}
	if starts := sortedColumns(sides, c.em); len(starts) > 0 {
		return starts
	}
	return c.findRepeatedColumns(parts)
}

// countedColumns returns at which parts entries go on that are counted from a part before on: each line of both
// begins with the next number.
func countedColumns(sides [][]sideLine) map[int]bool {
	const fewest = 3 // entries of the first column
	starts, last := map[int]bool{}, 0
	for i, side := range sides {
		first, end := countedEntries(side)
		switch {
		case first == 0:
		case last > 0 && first == last+1:
			starts[i], last = true, end
		case last == 0 && len(side) >= fewest:
			last = end
		}
	}
	return starts
}

// countedEntries returns the numbers that the first and the last of some lines begin with; 0 if one begins with
// another than the next.
func countedEntries(lines []sideLine) (first, last int) {
	for i, l := range lines {
		n, err := strconv.Atoi(strings.TrimRight(l.first.GetText(), ".):"))
		if err != nil || n < 1 || i > 0 && n != last+1 {
			return 0, 0
		}
		if last = n; i == 0 {
			first = n
		}
	}
	return first, last
}

// sortedColumns returns at which parts entries go on that are sorted from a part before on. What is indented goes
// with the entry above.
func sortedColumns(sides [][]sideLine, em float64) map[int]bool {
	const fewest, near = 5, 0.3 // different entries of a column; ems
	starts, last := map[int]bool{}, ""
	for i, side := range sides {
		edge := math.Inf(1)
		for _, l := range side {
			edge = min(edge, l.x0)
		}
		var entries []string
		for _, l := range side {
			if l.x0 <= edge+near*em {
				entries = append(entries, strings.ToLower(l.first.GetText()))
			}
		}
		if len(entries) < fewest || !slices.IsSorted(entries) || !unicode.IsLetter(firstRune(entries[0])) ||
			len(slices.Compact(slices.Clone(entries))) < fewest {
			continue // a part may hold nothing but a table
		}
		if last != "" && entries[0] >= last {
			starts[i] = true
		}
		last = entries[len(entries)-1]
	}
	return starts
}

// findRepeatedColumns returns at which parts the parts before come again: some of figures and others not, as far from
// each other. A head above a column may run over gutters that are free in others.
func (c columnSplitter) findRepeatedColumns(parts [][]segment) map[int]bool {
	boxes := make([]rect, len(parts))
	for i, part := range parts {
		boxes[i] = part[0].rect
		for _, s := range part[1:] {
			boxes[i] = boxes[i].union(s.rect)
		}
	}
	for first := 1; first < len(parts)-1; first++ {
		starts := equalSteps(boxes, boxes[first].x0-boxes[0].x0, c.em)
		if len(starts) == 0 || starts[0] != first ||
			len(starts) == 1 && c.haveRowsInCommon(parts[:first], parts[first:]) ||
			!c.areAlike(commonParts(parts, boxes, starts, c.em)) {
			continue
		}
		out := map[int]bool{}
		for _, at := range starts {
			out[at] = true
		}
		return out
	}
	return nil
}

// haveRowsInCommon reports whether nearly all lines of two columns are level, as those of a table are whose columns
// happen to come again.
func (c columnSplitter) haveRowsInCommon(left, right [][]segment) bool {
	const most = 0.9
	l, r := buildSide(slices.Concat(left...), c.em), buildSide(slices.Concat(right...), c.em)
	level, _ := matchSides(l, r, c.em)
	return float64(level) >= most*float64(max(len(l), len(r)))
}

// equalSteps returns the parts that begin whole steps right of the first; nil if the last column is wider than a
// step, or much narrower.
func equalSteps(boxes []rect, step, em float64) []int {
	const near, filled = 0.5, 0.6 // ems; part of a step
	var out []int
	left := boxes[0].x0
	for i, b := range boxes[1:] {
		if math.Abs(b.x0-left-float64(len(out)+1)*step) <= near*em {
			out = append(out, i+1)
		}
	}
	if last := boxes[len(boxes)-1].x1 - left - float64(len(out))*step; last > step || last < filled*step {
		return nil
	}
	return out
}

// commonParts returns the parts of each of the columns that begin at the first part and at starts, joined where a
// gutter is not found in all columns that have any.
func commonParts(parts [][]segment, boxes []rect, starts []int, em float64) [][][]segment {
	const near = 0.5
	begins, ends := append([]int{0}, starts...), append(slices.Clone(starts), len(parts))
	isCommon := func(i int) bool { // the gutter left of a part of the first column
		for k := 1; k < len(begins); k++ {
			by, found := boxes[begins[k]].x0-boxes[0].x0, ends[k]-begins[k] == 1
			for j := begins[k] + 1; j < ends[k] && !found; j++ {
				found = math.Abs(boxes[j].x0-boxes[i].x0-by) <= near*em ||
					math.Abs(boxes[j].x1-boxes[i].x1-by) <= near*em
			}
			if !found {
				return false
			}
		}
		return true
	}
	var gutters []float64 // from the left edge of a column
	for i := 1; i < starts[0]; i++ {
		if isCommon(i) {
			gutters = append(gutters, boxes[i].x0-boxes[0].x0-near*em)
		}
	}
	out := make([][][]segment, len(begins))
	for k, begin := range begins {
		out[k] = make([][]segment, len(gutters)+1)
		for i := begin; i < ends[k]; i++ {
			at, _ := slices.BinarySearch(gutters, (boxes[i].x0+boxes[i].x1)/2-boxes[begin].x0)
			out[k][at] = append(out[k][at], parts[i]...)
		}
	}
	return out
}

// areAlike reports whether columns have the same parts, of which some are figures and others are not. Those that a
// line runs across, so that they are one part, say nothing.
func (c columnSplitter) areAlike(columns [][][]segment) bool {
	const fewest = 3 // lines of a part
	var first []bool
	alike := 0
	for _, column := range columns {
		if !slices.ContainsFunc(column[1:], func(p []segment) bool { return len(p) > 0 }) {
			continue
		}
		figures := make([]bool, len(column))
		for i, part := range column {
			side := buildSide(part, c.em)
			if len(side) < fewest {
				return false
			}
			figures[i] = areMostlyNumbers(side)
		}
		if alike++; alike == 1 {
			first = figures
		} else if !slices.Equal(figures, first) {
			return false
		}
	}
	return alike > 1 && slices.Contains(first, true) && slices.Contains(first, false)
}

// areMostlyNumbers reports whether most lines are nothing but a figure, or a number behind a letter that says of
// what.
func areMostlyNumbers(lines []sideLine) bool {
	n := 0
	for _, l := range lines {
		if l.number || l.words == 1 && isNumeric(strings.TrimLeftFunc(l.first.GetText(), unicode.IsUpper)) {
			n++
		}
	}
	return 2*n > len(lines)
}
