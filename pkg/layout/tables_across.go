package layout

import (
	"cmp"
	"math"
	"slices"
)

// ruledBands finds the bands of a page that are tables with lines across.
type ruledBands struct {
	em     float64
	across rulingsAcross
}

// countFigureRows returns how many slabs from slab i on are a table as wide as the text whose figures stand apart
// from what they belong to: below a line of heads each has a text at the left edge and figures up to the right one. A
// gutter that runs on from the text above, as between two addresses, is none within its rows. It returns 0 where none
// begins.
func (b ruledBands) countFigureRows(slabs []pageBand, i int, x0, x1 float64) int {
	const (
		fewest, most, pieces, margin, labels, goOn = 3, 60, 3, 2.0, 3, 3 // rows, heads, ems, columns of text, lines of a label
		words                                      = 5                   // of a label, on average: more are lines of text
	)
	head := sortedRow(slabs[i])
	if len(head) < pieces || head[0].x0 > x0+margin*b.em || head[len(head)-1].x1 < x1-margin*b.em || repeatsText(head) {
		return 0
	}
	for _, s := range head {
		if isQuantity(s) {
			return 0
		}
	}
	rows, end, widest, said := 0, 0, 0, len(head[0].words)
	for n := 1; i+n < len(slabs) && n <= most && n-end <= goOn; n++ {
		row := sortedRow(slabs[i+n])
		if len(row) < pieces || math.Abs(row[0].x0-head[0].x0) > b.em || math.Abs(row[len(row)-1].x1-head[len(head)-1].x1) > 0.5*b.em {
			if len(row) == 1 && len(row[0].words) > 0 && row[0].x1 < head[1].x0+margin*b.em { // a label that wraps
				continue
			}
			break
		}
		figures := 0
		for _, s := range row[1:] {
			if isQuantity(s) {
				figures++
			}
		}
		if len(row) > len(head) || !isQuantity(row[len(row)-1]) || figures < 2 || len(row)-figures > labels {
			break
		}
		rows, end, widest, said = rows+1, n, max(widest, len(row)), said+len(row[0].words)
	}
	if rows < fewest || widest < pieces || said > words*(rows+1) {
		return 0
	}
	return end + 1
}

// sortedRow returns the pieces of a slab that is one row, from left to right; none of another.
func sortedRow(slab pageBand) []segment {
	const most = 24 // pieces
	if slab.rows > 1 || len(slab.segments) > most || slices.ContainsFunc(slab.segments, func(s segment) bool { return s.table != nil }) {
		return nil
	}
	return slices.SortedFunc(slices.Values(slab.segments), func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
}

// isQuantity reports whether a piece is a figure, or begins with one that a unit follows.
func isQuantity(s segment) bool {
	const most = 3 // words
	return isNumeric(segmentsText([]segment{s})) || len(s.words) <= most && isAmount(s.words[0].GetText())
}

// repeatsText reports whether two pieces say the same, as the heads of tables side by side do.
func repeatsText(row []segment) bool {
	seen := map[string]bool{}
	for _, s := range row {
		text := segmentsText([]segment{s})
		if seen[text] {
			return true
		}
		seen[text] = true
	}
	return false
}

// countTable returns how many slabs from slab i on are a table that lines rule above its head, below that, and
// at its end, all of them from one place to another: a gap between its columns is none of the columns of text above or
// below it. It returns 0 where no such table begins.
func (b ruledBands) countTable(slabs []pageBand, i int) int {
	const mostHead, mostRows, cells, narrowest, before = 3, 120, 3, 12.0, 6.0 // slabs, pieces of a head's row, ems
	top := b.ruleAbove(slabs, i)
	if top.to-top.from < narrowest*b.em {
		return 0
	}
	isSame := func(r ruling) bool { return math.Abs(r.from-top.from) < 1 && math.Abs(r.to-top.to) < 1 }
	for _, r := range b.across[b.across.indexAt(top.at-before*b.em):] { // it is one of those between rows
		if r.at >= top.at-1 {
			break
		}
		if isSame(r) {
			return 0
		}
	}
	isWithin := func(slab pageBand) bool {
		return !slices.ContainsFunc(slab.segments, func(s segment) bool {
			return s.table != nil || s.x0 < top.from-b.em || s.x1 > top.to+b.em
		})
	}
	head, end := 0, 0 // slabs of the head, and those up to the last line
	for n := 1; i+n <= len(slabs) && n <= mostRows && isWithin(slabs[i+n-1]); n++ {
		switch {
		case !isSame(b.ruleAbove(slabs, i+n)):
			if head == 0 && n >= mostHead || end > 0 && n-end >= mostHead {
				return countRowsOfCells(slabs[i : i+end])
			}
		case head > 0:
			end = n
		case !slices.ContainsFunc(slabs[i:i+n], func(slab pageBand) bool { return len(slab.segments) >= cells }):
			return 0
		default:
			head = n
		}
	}
	return countRowsOfCells(slabs[i : i+end])
}

// countRowsOfCells returns the number of the slabs if they are rows of short texts, as cells are and lines of columns
// are not; else 0.
func countRowsOfCells(slabs []pageBand) int {
	const words, small = 3.0, 0.25 // of a piece, on average; the share of pieces that begin with a small letter
	pieces, all, lower := 0, 0, 0
	for _, slab := range slabs {
		for _, s := range slab.segments {
			if pieces, all = pieces+1, all+len(s.words); startsLower(s.words[0].GetText()) {
				lower++
			}
		}
	}
	if float64(all) > words*float64(pieces) || float64(lower) > small*float64(pieces) {
		return 0
	}
	return len(slabs)
}

// ruleAbove returns the longest line between slab i and that above it; above the first and below the last, as far as a
// line and a half.
func (b ruledBands) ruleAbove(slabs []pageBand, i int) ruling {
	const far, slack = 1.5, 0.3 // ems
	top, bottom := math.Inf(-1), math.Inf(1)
	if i > 0 {
		top, bottom = slabs[i-1].y1-slack*b.em, slabs[i-1].y1+far*b.em
	}
	if i < len(slabs) {
		top, bottom = max(top, slabs[i].y0-far*b.em), slabs[i].y0+slack*b.em
	}
	return b.across.longestBetween(top, bottom)
}
