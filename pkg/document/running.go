package document

import (
	"math"
	"slices"

	"inkstream.dev/pkg/layout"
)

// edgePosition is where a running line may stand: at an edge, at a height in points.
type edgePosition struct {
	top bool
	y   int
}

// runningKey is a text at an edge, with its number where that counts.
type runningKey struct {
	top   bool
	key   uint64
	value int
}

// maxHeightDifference is how far apart, in points, a running line may stand on different pages.
const maxHeightDifference = 6

// findRunningLines finds running heads, feet and page numbers: lines at the edge of the page that come again on other
// pages at the same height, but for the numbers in them; and numbers there that count with the pages. Only what has
// nothing but such lines between itself and the edge counts.
func (p *Plan) findRunningLines(pages []*Evidence) {
	heights := map[runningKey][]float32{}
	offsets := map[edgePosition]map[int]int{}
	body := p.bodyTypeSize(pages)
	for _, e := range pages {
		for _, l := range e.Edges {
			k := runningKeyOf(e, l)
			heights[k] = append(heights[k], distanceFromEdge(e, l))
			if l.Bare && l.Value > 0 {
				at := edgePositionOf(e, l)
				if offsets[at] == nil {
					offsets[at] = map[int]int{}
				}
				offsets[at][l.Value-e.Number]++
			}
		}
	}
	for _, h := range heights {
		slices.Sort(h)
	}
	usual := usualPositions(pages, heights)
	for _, e := range pages {
		plan := p.pages[e.Number]
		for _, top := range []bool{true, false} {
			lines := edgeLinesOf(e, top)
			for i, l := range lines {
				number := l.Bare && countsWithPages(offsets, edgePositionOf(e, l), l.Value-e.Number, len(pages))
				repeated := heights[runningKeyOf(e, l)]
				if !number && !isRepeated(repeated, distanceFromEdge(e, l), len(pages)) &&
					!(i == 0 && usual[edgePositionOf(e, l)] && l.Words <= 12) &&
					!(i == 0 && top && len(pages) == 1 && l.Numbered && e.isPageOfBook(l)) {
					break
				}
				if !number && 2*len(repeated) < len(pages) && e.isHeadingType(l, body) {
					break // a title that goes on over several pages, or slides
				}
				plan.markRunningLine(e, l, number)
			}
		}
	}
	for _, e := range pages {
		p.pages[e.Number].markRunningBlocks(e)
	}
}

// isPageOfBook reports whether the text below a line at the upper edge is part of a longer one: it begins in the
// middle of a sentence, or ends there. Where a document has no other pages, nothing else tells a running head from a
// title.
func (e *Evidence) isPageOfBook(head EdgeLine) bool {
	var first, last *BlockEvidence
	for j := range e.Blocks {
		b := &e.Blocks[j]
		if j == head.Block || blockTypes[b.Type] != layout.Paragraph || b.Words < 8 || b.Flags&FlagTurned != 0 {
			continue
		}
		if first == nil {
			first = b
		}
		last = b
	}
	return first != nil && (first.Flags&FlagLower != 0 || last.Flags&FlagHyphen != 0 ||
		last.Flags&(FlagFull|FlagSentence|FlagStop) == FlagFull && last.Lines > 2)
}

// isHeadingType reports whether a line at an edge belongs to what the structure names a heading, in larger type than
// the body of the document and of the page, or stands in much larger type: no running head does.
func (e *Evidence) isHeadingType(l EdgeLine, body int) bool {
	const larger, much = 1.15, 1.3
	if l.Block >= len(e.Blocks) {
		return false
	}
	b := &e.Blocks[l.Block]
	if !l.Top || body == 0 || b.Flags&(FlagRecognised|FlagLetters) != FlagLetters {
		return false
	}
	ratio := float64(b.Size) / float64(max(body, mostFrequent(e.Sizes)))
	return ratio >= much || ratio >= larger && b.Tag > 0 && b.Tag < TagText
}

// runningKeyOf returns what makes a line the same as others. That others have numbers at that height too says nothing
// of a line of nothing but numbers that ends a block of text: it must be the same number.
func runningKeyOf(e *Evidence, l EdgeLine) runningKey {
	k := runningKey{top: l.Top, key: l.Key}
	if l.Bare && !l.Top && l.Line > 0 && l.Block < len(e.Blocks) && l.Line == e.Blocks[l.Block].Lines-1 {
		k.value = l.Value
	}
	return k
}

// edgeLinesOf returns the lines at one edge of a page, the outermost first.
func edgeLinesOf(e *Evidence, top bool) []EdgeLine {
	var out []EdgeLine
	for _, l := range e.Edges {
		if l.Top == top {
			out = append(out, l)
		}
	}
	if !top {
		slices.Reverse(out)
	}
	return out
}

// distanceFromEdge returns how far a line is from its edge of the page.
func distanceFromEdge(e *Evidence, l EdgeLine) float32 {
	if l.Top {
		return l.Y
	}
	return e.Height - l.Y
}

func edgePositionOf(e *Evidence, l EdgeLine) edgePosition {
	return edgePosition{l.Top, int(math.Round(float64(distanceFromEdge(e, l)) / maxHeightDifference))}
}

// isRepeated reports whether a text stands often enough at about the same height: on three pages, or on all of two.
func isRepeated(heights []float32, at float32, pages int) bool {
	n := 0
	for _, h := range heights {
		if h > at+maxHeightDifference {
			break
		}
		if h >= at-maxHeightDifference {
			n++
		}
	}
	return n >= 3 || n == 2 && pages <= 4
}

// countsWithPages reports whether numbers at a place count with the pages: most of them are the page's number plus
// the same.
func countsWithPages(offsets map[edgePosition]map[int]int, at edgePosition, offset, pages int) bool {
	same := 0
	for d := -1; d <= 1; d++ {
		same += offsets[edgePosition{at.top, at.y + d}][offset]
	}
	return same >= 3 || same >= 2 && pages <= 6 || pages == 1
}

// usualPositions returns the places where most pages have a running line: another text there, such as the name of a
// short chapter, is one too. Numbers alone do not tell: beside the first lines of pages they may count those.
func usualPositions(pages []*Evidence, heights map[runningKey][]float32) map[edgePosition]bool {
	count := map[edgePosition]int{}
	for _, e := range pages {
		seen := map[edgePosition]bool{}
		for _, l := range e.Edges {
			if at := edgePositionOf(e, l); !seen[at] && !l.Bare &&
				isRepeated(heights[runningKeyOf(e, l)], distanceFromEdge(e, l), len(pages)) {
				seen[at] = true
				count[at]++
			}
		}
	}
	out := map[edgePosition]bool{}
	for at, n := range count {
		if n >= 3 && 2*n >= len(pages) {
			out[at] = true
		}
	}
	return out
}

// markRunningLine decides that a line is a running head or foot, or a page number.
func (p *pagePlan) markRunningLine(e *Evidence, l EdgeLine, number bool) {
	kind := layout.Footer
	switch {
	case number:
		kind = layout.PageNumber
	case l.Top:
		kind = layout.Header
	}
	if l.Block < len(e.Blocks) {
		p.lines = append(p.lines, linePlan{l.Block, l.Line, blockTypeIndex(kind)})
	}
}

// markRunningBlocks decides about whole blocks whose lines are all taken.
func (p *pagePlan) markRunningBlocks(e *Evidence) {
	taken := map[int]int{}
	kinds := map[int]byte{}
	for _, l := range p.lines {
		taken[l.block]++
		if kinds[l.block] == 0 || blockTypes[l.kind] != layout.PageNumber {
			kinds[l.block] = l.kind
		}
	}
	p.lines = slices.DeleteFunc(p.lines, func(l linePlan) bool {
		if taken[l.block] < e.Blocks[l.block].Lines {
			return false
		}
		p.blocks[l.block] = blockPlan{kind: kinds[l.block]}
		return true
	})
}
