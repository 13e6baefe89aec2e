package layout

import (
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxComparedBlocks is how many blocks of a recognised page are compared with one another. A page with more is noise,
// or no page.
const maxComparedBlocks = 400

// isPlausibleOrder reports whether the order that a recogniser gave its blocks in can be right: hardly a block stands
// right above one that comes before it, and it does not come back to what stands above a line across the whole text.
func isPlausibleOrder(blocks []*inkstreamv1.Block, rulings rulingSet) bool {
	if len(blocks) > maxComparedBlocks {
		return false
	}
	var ordered []placedBlock
	for _, b := range blocks {
		p := placedBlock{lines: len(b.GetLines())}
		first := true
		for _, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				if !isValidBox(w.GetBbox()) {
					continue
				}
				if r := rectFromBox(w.GetBbox()); first {
					p.rect, first = r, false
				} else {
					p.rect = p.union(r)
				}
			}
		}
		if !first {
			ordered = append(ordered, p)
		}
	}
	wrong := 0
	for i := range ordered {
		for j := i + 1; j < len(ordered); j++ {
			a, b := ordered[i], ordered[j]
			overlap := -spanDistance(a.x0, a.x1, b.x0, b.x1)
			if b.y1 <= a.y0 && overlap > 0.5*min(a.width(), b.width()) && overlap > 0 {
				wrong++
				break
			}
		}
	}
	return 10*wrong <= len(ordered) && !comesBackOverRule(ordered, rulings)
}

// placedBlock is where a recogniser's block stands, and how many lines it has.
type placedBlock struct {
	rect
	lines int
}

// comesBackOverRule reports whether blocks in their order go on above a line across the whole text after what stands
// below it, as when columns are read on through such a line. Lines that meet others down the page are those of a
// table.
func comesBackOverRule(blocks []placedBlock, rulings rulingSet) bool {
	const fewest = 3 // lines on either side
	x0, x1 := math.Inf(1), math.Inf(-1)
	for _, b := range blocks {
		x0, x1 = min(x0, b.x0), max(x1, b.x1)
	}
	return slices.ContainsFunc(rulings.across, func(r ruling) bool {
		isWhole := min(r.to, x1)-max(r.from, x0) >= 0.9*(x1-x0)
		if !isWhole || slices.ContainsFunc(rulings.down, func(d ruling) bool { return r.touchesRuling(d) }) {
			return false
		}
		below, back := 0, 0
		for _, b := range blocks {
			switch {
			case b.centerY() > r.at:
				below += b.lines
			case below >= fewest:
				back += b.lines
			}
		}
		return back >= fewest
	})
}

// touchesRuling reports whether a line across the page touches one down it, or nearly does.
func (r ruling) touchesRuling(down ruling) bool {
	return down.at >= r.from-maxEdgeOffset && down.at <= r.to+maxEdgeOffset &&
		r.at >= down.from-maxEdgeOffset && r.at <= down.to+maxEdgeOffset
}

// buildRecognisedBlocks builds the blocks of a recognised page: in the order of its recogniser, parted where
// paragraphs part, with the tables that lines or alignment tell in the place of the words that they are made of. Where
// that order goes to and fro between columns, the page is arranged as a native one is.
func (a *arranger) buildRecognisedBlocks(in engineLines) []*inkstreamv1.Block {
	var tables, arranged []*inkstreamv1.Block
	var turn rotation
	blocks, groups := a.page.GetBlocks(), groupByAngle(in.lines)
	if len(groups) > 0 && groups[0].angle%90 == 0 {
		arranged, a.em = a.arrangeGroup(groups[0], true)
		turn = rotation(groups[0].angle)
		columns := columnsOfWords(arranged)
		if readsAcrossColumns(groups[0].lines, columns) {
			return a.arrangeGroups(groups, arranged)
		}
		blocks = splitLinesAcross(blocks, columns)
		for _, b := range arranged {
			if b.GetTable() != nil {
				tables = append(tables, b)
			}
		}
	}
	of := map[*inkstreamv1.Word]*inkstreamv1.Block{}
	for _, t := range tables {
		for _, line := range t.GetLines() {
			for _, w := range line.GetWords() {
				of[w] = t
			}
		}
	}
	if switchesColumns(blocks, arranged, of, turn) {
		return a.arrangeGroups(groups, arranged)
	}
	var out []*inkstreamv1.Block
	placed := map[*inkstreamv1.Block]bool{}
	for _, b := range blocks {
		text, seen := a.splitRemaining(b, of)
		for _, t := range seen {
			if placed[t] {
				continue
			}
			placed[t] = true
			for len(text) > 0 && text[0].Bbox[1] < t.Bbox[1] {
				out = append(out, text[0])
				text = text[1:]
			}
			out = append(out, t)
		}
		out = append(out, text...)
	}
	return a.joinPartedParagraphs(out, arranged, turn)
}

// readsAcrossColumns reports whether many of a recogniser's lines reach over columns that the arrangement of the words
// parts, or a few over three or more: it took the lines of neighbouring columns for one, and its order cannot be
// right.
func readsAcrossColumns(lines []inputLine, of map[*inkstreamv1.Word]int) bool {
	const fewest, share = 5, 0.2 // lines, and their share of those long enough
	long, across, overMany := 0, 0, 0
	for _, line := range lines {
		if len(line.words) < 2*minPieceWords {
			continue
		}
		long++
		in := map[int]int{}
		for _, w := range line.words {
			in[of[w]]++
		}
		delete(in, 0)
		sides := 0
		for _, n := range in {
			if n >= minPieceWords {
				sides++
			}
		}
		if sides > 1 {
			across++
		}
		if sides > 2 {
			overMany++
		}
	}
	return overMany >= fewest || across >= fewest && float64(across) >= share*float64(long)
}

// columnsOfWords returns for each word the column that it stands in, from 1: blocks of which each stands below the one
// before are one. Words of tables and of columns of a line or two are left out.
func columnsOfWords(blocks []*inkstreamv1.Block) map[*inkstreamv1.Word]int {
	const fewest = 3 // lines
	of := map[*inkstreamv1.Word]int{}
	for start, column := 0, 1; start < len(blocks); column++ {
		end, lines := start+1, len(blocks[start].GetLines())
		for end < len(blocks) && standsBelow(blocks[end], blocks[end-1]) {
			lines += len(blocks[end].GetLines())
			end++
		}
		for _, b := range blocks[start:end] {
			if lines < fewest || b.GetTable() != nil {
				continue
			}
			for _, line := range b.GetLines() {
				for _, w := range line.GetWords() {
					of[w] = column
				}
			}
		}
		start = end
	}
	return of
}

// standsBelow reports whether a block, which is no table, stands in one column with another, below it.
func standsBelow(b, above *inkstreamv1.Block) bool {
	if b.GetTable() != nil || above.GetTable() != nil {
		return false
	}
	r, o := rectFromBox(b.GetBbox()), rectFromBox(above.GetBbox())
	return r.centerY() > o.centerY() && -spanDistance(r.x0, r.x1, o.x0, o.x1) > 0.5*min(r.width(), o.width())
}

// splitRemaining returns the paragraphs of a recogniser's block without the words that tables have, and those tables.
func (a *arranger) splitRemaining(b *inkstreamv1.Block,
	of map[*inkstreamv1.Word]*inkstreamv1.Block) (text, tables []*inkstreamv1.Block) {
	var lines []*inkstreamv1.Line
	var input []inputLine
	for _, line := range b.GetLines() {
		words := make([]*inkstreamv1.Word, 0, len(line.GetWords()))
		for _, w := range line.GetWords() {
			if t := of[w]; t != nil {
				if len(tables) == 0 || tables[len(tables)-1] != t {
					tables = append(tables, t)
				}
			} else if w.GetText() != "" {
				words = append(words, w)
			}
		}
		if len(words) == 0 {
			continue
		}
		lines = append(lines, newLine(words, line.GetAngle()))
		input = append(input, inputLine{words, nearestQuarterTurn(line.GetAngle())})
	}
	if len(lines) == 0 {
		return nil, tables
	}
	t := rotation(input[0].angle)
	return splitParagraphs(lines, medianLetterSize(input, t), &styles{fonts: a.style.fonts, rotation: t}), tables
}
