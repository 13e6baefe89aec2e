package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minSwitchWords is how many words a line of text has at least that tells where it goes on.
	minSwitchWords = 3
	// minSavedSwitches is how many switches between columns the arrangement of the words must save, and maxSwitchShare
	// what share of the recogniser's it may have, where it takes the place of the recogniser's order.
	minSavedSwitches, maxSwitchShare = 3, 0.6
)

// switchesColumns reports whether a recogniser's order goes to and fro between columns that the arrangement of the
// same words reads one after the other. tables has the table of each word that stands in one, which is read in one go;
// t turns the lines level.
func switchesColumns(blocks, arranged []*inkstreamv1.Block, tables map[*inkstreamv1.Word]*inkstreamv1.Block,
	t rotation) bool {
	rank := map[*inkstreamv1.Word]int{}
	for _, b := range arranged {
		for _, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				rank[w] = len(rank)
			}
		}
	}
	var lines []rankedLine
	seen := map[*inkstreamv1.Block]bool{}
	for _, b := range blocks {
		for _, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				if in := tables[w]; in != nil && !seen[in] {
					seen[in] = true
					lines = append(lines, rankedLine{t.rotateRect(rectFromBox(in.GetBbox())), rank[w]})
				}
			}
			if l, ok := newRankedLine(line.GetWords(), rank, tables); ok {
				l.rect = t.rotateRect(l.rect)
				lines = append(lines, l)
			}
		}
	}
	theirs := countColumnSwitches(lines)
	slices.SortStableFunc(lines, func(a, b rankedLine) int { return cmp.Compare(a.rank, b.rank) })
	ours := countColumnSwitches(lines)
	return theirs-ours >= minSavedSwitches && float64(ours) <= maxSwitchShare*float64(theirs)
}

// rankedLine is where a line stands, on the page and in an order.
type rankedLine struct {
	rect
	rank int
}

// newRankedLine ranks a line by its middle word; false if it has few words outside of tables.
func newRankedLine(words []*inkstreamv1.Word, rank map[*inkstreamv1.Word]int,
	tables map[*inkstreamv1.Word]*inkstreamv1.Block) (rankedLine, bool) {
	var ranks []int
	for _, w := range words {
		if at, known := rank[w]; known && tables[w] == nil {
			ranks = append(ranks, at)
		}
	}
	if len(ranks) < minSwitchWords {
		return rankedLine{}, false
	}
	slices.Sort(ranks)
	return rankedLine{boundingBox(words), ranks[len(ranks)/2]}, true
}

// countColumnSwitches returns how many lines and tables do not stand below the one before them.
func countColumnSwitches(lines []rankedLine) int {
	n := 0
	for i := 1; i < len(lines); i++ {
		a, b := lines[i-1], lines[i]
		overlap := -spanDistance(a.x0, a.x1, b.x0, b.x1)
		if b.centerY() <= a.centerY() || overlap < 0.5*min(a.width(), b.width()) {
			n++
		}
	}
	return n
}
