package layout

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minCardGap is how much room parts rows of cards at least, in heights of a line, and minCardGapRatio how many
	// times the room within the cards that is: paragraphs of columns stand apart by chance at one height, but no
	// farther than others.
	minCardGap, minCardGapRatio = 1.4, 1.3
	// maxRunOnCards is the share of cards at most that begin amid a sentence.
	maxRunOnCards = 0.2
	// maxCardOffset is how far apart in height the cards of a row begin at most, in heights of a line.
	maxCardOffset = 0.6
	// minCardRows is how many rows of cards there are at least, and minCardLines how many lines their cards have on
	// average: less is a table, or text with room between its lines.
	minCardRows, minCardLines = 2, 2
)

// arrangeCards puts cards, which stand in rows with the same room between them in all columns, in the order of the
// rows, where the blocks go down each column.
func arrangeCards(blocks []*inkstreamv1.Block) []*inkstreamv1.Block {
	if len(blocks) > maxComparedBlocks {
		return blocks
	}
	var columns [][]*inkstreamv1.Block
	for start := 0; start < len(blocks); {
		end := start + 1
		for end < len(blocks) && goesOnBelow(blocks[end], blocks[end-1]) {
			end++
		}
		columns = append(columns, blocks[start:end])
		start = end
	}
	var out []*inkstreamv1.Block
	for len(columns) > 0 {
		n := 1
		for n < len(columns) && standsRightOf(columns[n], columns[n-1]) {
			n++
		}
		out = append(out, arrangeCardColumns(columns[:n])...)
		columns = columns[n:]
	}
	return out
}

// goesOnBelow reports whether a block stands below another in its column.
func goesOnBelow(b, above *inkstreamv1.Block) bool {
	r, o := rectFromBox(b.GetBbox()), rectFromBox(above.GetBbox())
	return r.centerY() > o.centerY() && -spanDistance(r.x0, r.x1, o.x0, o.x1) > 0.5*min(r.width(), o.width())
}

// standsRightOf reports whether a column stands beside the end of the one before it, on its right.
func standsRightOf(column, before []*inkstreamv1.Block) bool {
	first, last := rectFromBox(column[0].GetBbox()), rectFromBox(before[len(before)-1].GetBbox())
	return first.x0 >= last.x1 && first.y0 < last.y1
}

// arrangeCardColumns returns the blocks of columns beside each other: row by row if they are cards, but for the blocks
// above and below them that reach over several columns.
func arrangeCardColumns(columns [][]*inkstreamv1.Block) []*inkstreamv1.Block {
	all := slices.Concat(columns...)
	if len(columns) < 2 {
		return all
	}
	columns = slices.Clone(columns)
	var head, foot []*inkstreamv1.Block
	next := rectFromBox(columns[1][0].GetBbox())
	for len(columns[0]) > 0 && rectFromBox(columns[0][0].GetBbox()).x1 > next.x0 {
		head, columns[0] = append(head, columns[0][0]), columns[0][1:]
	}
	last := len(columns) - 1
	for n := len(columns[last]); n > 0; n-- {
		b := columns[last][n-1]
		if r := rectFromBox(b.GetBbox()); !slices.ContainsFunc(columns[last-1], func(o *inkstreamv1.Block) bool {
			return r.x0 < rectFromBox(o.GetBbox()).x1
		}) {
			break
		}
		foot, columns[last] = slices.Insert(foot, 0, b), columns[last][:n-1]
	}
	rows := splitCardRows(columns)
	if len(rows) < minCardRows {
		return all
	}
	return slices.Concat(head, slices.Concat(rows...), foot)
}

// cardGap is room between two blocks of a column.
type cardGap struct {
	y0, y1 float64
	at     int // the place of the block below it
}

func (g cardGap) height() float64 { return g.y1 - g.y0 }

// splitCardRows returns the rows of the cards that columns are made of, each row with its cards from left to right;
// none if they are no cards.
func splitCardRows(columns [][]*inkstreamv1.Block) [][]*inkstreamv1.Block {
	var heights []float64
	gaps := make([][]cardGap, len(columns))
	for i, column := range columns {
		for j, b := range column {
			r := rectFromBox(b.GetBbox())
			heights = append(heights, r.height()/float64(max(1, len(b.GetLines()))))
			if j > 0 {
				gaps[i] = append(gaps[i], cardGap{rectFromBox(column[j-1].GetBbox()).y1, r.y0, j})
			}
		}
	}
	if len(heights) == 0 || !areLevelTops(columns, maxCardOffset*median(heights)) {
		return nil
	}
	cuts := findCardCuts(gaps, median(heights))
	if len(cuts) == 0 {
		return nil
	}
	rows := make([][]*inkstreamv1.Block, len(cuts)+1)
	cards, lines, runOn := 0, 0, 0
	for i, column := range columns {
		start := 0
		for k, cut := range append(cuts, nil) {
			end := len(column)
			if cut != nil {
				end = gaps[i][cut[i]].at
			}
			rows[k] = append(rows[k], column[start:end]...)
			for _, b := range column[start:end] {
				lines += len(b.GetLines())
			}
			if cards++; beginsInSentence(column[start]) {
				runOn++
			}
			start = end
		}
	}
	if lines < minCardLines*cards || float64(runOn) > maxRunOnCards*float64(cards) {
		return nil
	}
	return rows
}

// beginsInSentence reports whether a block's first letter is a small one.
func beginsInSentence(b *inkstreamv1.Block) bool {
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			first, _ := utf8.DecodeRuneInString(w.GetText())
			return unicode.IsLower(first)
		}
	}
	return false
}

// areLevelTops reports whether the columns begin at one height.
func areLevelTops(columns [][]*inkstreamv1.Block, slack float64) bool {
	for _, column := range columns {
		if len(column) == 0 {
			return false
		}
		off := rectFromBox(column[0].GetBbox()).y0 - rectFromBox(columns[0][0].GetBbox()).y0
		if off > slack || off < -slack {
			return false
		}
	}
	return true
}

// findCardCuts returns the gaps that part rows of cards, from top to bottom: of each its number in every column. They
// are those that stand at one height in all columns and are far larger than all others.
func findCardCuts(gaps [][]cardGap, height float64) [][]int {
	var cuts [][]int
	for i, g := range gaps[0] {
		if cut := levelGaps(gaps, g, i, height); cut != nil {
			cuts = append(cuts, cut)
		}
	}
	least := func(cut []int) float64 {
		size := gaps[0][cut[0]].height()
		for i, at := range cut {
			size = min(size, gaps[i][at].height())
		}
		return size
	}
	slices.SortStableFunc(cuts, func(a, b []int) int { return cmp.Compare(least(b), least(a)) })
	best, kept := minCardGapRatio, 0
	for n := range cuts {
		within := 0.2 * height // the room between lines is more
		for i := range gaps {
			for at, g := range gaps[i] {
				if !slices.ContainsFunc(cuts[:n+1], func(cut []int) bool { return cut[i] == at }) {
					within = max(within, g.height())
				}
			}
		}
		if ratio := least(cuts[n]) / within; ratio >= best && least(cuts[n]) >= minCardGap*height {
			best, kept = ratio, n+1
		}
	}
	cuts = cuts[:kept]
	slices.SortFunc(cuts, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return cuts
}

// levelGaps returns for a gap of the first column the one of each column below which blocks begin at the same height;
// nil if a column has none.
func levelGaps(gaps [][]cardGap, g cardGap, at int, height float64) []int {
	cut := []int{at}
	for _, others := range gaps[1:] {
		found := slices.IndexFunc(others, func(o cardGap) bool {
			off := o.y1 - g.y1
			return off <= maxCardOffset*height && off >= -maxCardOffset*height && min(o.y1, g.y1) > max(o.y0, g.y0)
		})
		if found < 0 {
			return nil
		}
		cut = append(cut, found)
	}
	return cut
}
