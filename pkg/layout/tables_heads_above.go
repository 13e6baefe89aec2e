package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// mostHeadLines is how many pieces of lines above a table are looked at, mostHeadBlocks in how many blocks before
	// it.
	mostHeadLines, mostHeadBlocks = 60, 24
	// headRoom is how far apart the lines of a head are at most, and the last from the table, in ems.
	headRoom = 1.3
)

// attachHeads gives tables whose first row has figures already the lines right above them as their head, where those
// stand over their columns, others a line in a font of its own that heads each column, and returns the blocks that are
// left. Where the heads of columns have several lines, level at their upper or lower edge or in the middle, these make no
// rows, and a head over several columns closes the gaps between those: so the rows of the table were found without them.
func attachHeads(blocks []*inkstreamv1.Block, em float64) []*inkstreamv1.Block {
	for i, b := range blocks {
		if b.GetTable() == nil || len(b.GetLines()) == 0 || b.GetLines()[0].GetAngle() != 0 {
			continue
		}
		h, ok := newHeadAbove(b, em)
		if !ok {
			continue
		}
		h.attach(blocks[max(0, i-mostHeadBlocks):i])
		if !h.figures {
			h.attachRaisedHead(blocks[:i])
		}
	}
	return slices.DeleteFunc(blocks, func(b *inkstreamv1.Block) bool { return len(b.GetLines()) == 0 && b.GetType() != Figure })
}

// headAbove is a table whose head is looked for above it.
type headAbove struct {
	rect
	block   *inkstreamv1.Block
	em      float64
	size    float64 // of its type; 0 where that is unknown
	columns []span
	figures bool // the first row has figures, and so it is no head
}

// newHeadAbove prepares to look for the head of a table; false if its columns do not stand apart.
func newHeadAbove(b *inkstreamv1.Block, em float64) (headAbove, bool) {
	const fewest, slack = 2, 1.0 // columns, and points
	t := b.GetTable()
	n := int(t.GetColumns())
	if n < fewest || n > len(t.GetCells()) || !isValidBox(b.GetBbox()) {
		return headAbove{}, false
	}
	h := headAbove{rect: rectFromBox(b.GetBbox()), block: b, em: em, columns: make([]span, n)}
	for j := range h.columns {
		h.columns[j] = span{math.Inf(1), math.Inf(-1)}
	}
	figures := 0
	for _, c := range t.GetCells() {
		j := int(c.GetColumn())
		if c.GetRow() == 0 && j > 0 && isNumeric(c.GetText()) && !isYear(c.GetText()) {
			figures++
		}
		if c.GetColumnSpan() <= 1 && j >= 0 && j < n && isValidBox(c.GetBbox()) {
			box := rectFromBox(c.GetBbox())
			h.columns[j].from, h.columns[j].to = min(h.columns[j].from, box.x0), max(h.columns[j].to, box.x1)
		}
	}
	for j, at := range h.columns {
		if at.to < at.from || j > 0 && at.from < h.columns[j-1].to-slack {
			return headAbove{}, false
		}
	}
	if words := b.GetLines()[0].GetWords(); len(words) > 0 {
		h.size = float64(words[0].GetSize())
	}
	h.figures = n > 2 && 2*figures >= n-1
	return h, true
}

// headsEach reports whether each column has one piece, in a font that hardly a word of the table is in.
func (h headAbove) headsEach(pieces []headPiece) bool {
	const below = 0.1 // the share of such words
	if len(pieces) != len(h.columns) {
		return false
	}
	headed, font := make([]bool, len(h.columns)), pieces[0].words[0].GetFont()
	for _, p := range pieces {
		if p.first != p.last || headed[p.first] || p.words[0].GetFont() != font {
			return false
		}
		headed[p.first] = true
	}
	same, all := 0, 0
	for _, l := range h.block.GetLines() {
		for _, w := range l.GetWords() {
			if all++; w.GetFont() == font {
				same++
			}
		}
	}
	return float64(same) < below*float64(all)
}

// headPiece is a piece of a head, and the columns that it stands over.
type headPiece struct {
	rect
	words       []*inkstreamv1.Word
	line        *inkstreamv1.Line
	first, last int
}

// attach takes the head of the table from the blocks before it.
func (h headAbove) attach(before []*inkstreamv1.Block) {
	const beside = 0.5 // ems
	type placedLine struct {
		rect
		line   *inkstreamv1.Line
		pieces []headPiece
	}
	var lines []placedLine
	for k := len(before) - 1; k >= 0 && before[k].GetTable() == nil && before[k].GetType() != Figure && len(lines) < mostHeadLines; k-- {
		for _, line := range before[k].GetLines() {
			if isValidBox(line.GetBbox()) && line.GetAngle() == 0 {
				lines = append(lines, placedLine{rectFromBox(line.GetBbox()), line, nil})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b placedLine) int { return cmp.Compare(b.y1, a.y1) })
	lines = slices.DeleteFunc(lines, func(l placedLine) bool { return l.y1 > h.y0+beside*h.em })
	top, n := h.y0, 0
	for ; n < len(lines) && top-lines[n].y1 <= headRoom*h.em; n++ {
		if lines[n].pieces = h.placeLine(lines[n].line); lines[n].pieces == nil {
			break
		}
		top = min(top, lines[n].y0)
	}
	for n > 0 && len(lines[n-1].pieces) == 1 && lines[n-1].pieces[0].last == 0 { // a line of text, or a heading of rows
		n--
	}
	taken := map[*inkstreamv1.Line]bool{}
	var pieces []headPiece
	for _, line := range lines[:n] {
		taken[line.line], pieces = true, append(pieces, line.pieces...)
	}
	isTaken := func(l *inkstreamv1.Line) bool { return taken[l] }
	for _, b := range before { // a head is not torn from what stands with it
		if slices.ContainsFunc(b.GetLines(), isTaken) && slices.ContainsFunc(b.GetLines(), func(l *inkstreamv1.Line) bool { return !taken[l] }) {
			return
		}
	}
	if h.figures && !h.covers(pieces) || !h.figures && !h.headsEach(pieces) {
		return
	}
	for _, b := range before {
		if slices.ContainsFunc(b.GetLines(), isTaken) {
			b.Lines = nil
		}
	}
	h.addHead(pieces)
}

// placeLine returns the pieces of a line above the table with the columns that they stand over; nil if it is no line of
// a head: a piece of it stands over no column, is a figure or as long as text, or in larger type.
func (h headAbove) placeLine(line *inkstreamv1.Line) []headPiece {
	const mostWords, outside, apart = 6, 1.0, 0.8 // words of a piece; ems
	words := line.GetWords()
	var out []headPiece
	for start, i := 0, 1; i <= len(words); i++ {
		if i < len(words) && isValidBox(words[i].GetBbox()) && isValidBox(words[i-1].GetBbox()) {
			gap := rectFromBox(words[i].GetBbox()).x0 - rectFromBox(words[i-1].GetBbox()).x1
			if gap < apart*h.em && gap > -apart*h.em {
				continue
			}
		}
		p := headPiece{rect: boundingBox(words[start:i]), words: words[start:i:i], line: line, first: -1}
		text := segmentsText([]segment{{words: p.words}})
		size := float64(p.words[0].GetSize())
		if len(p.words) > mostWords || isNumeric(text) && !isYear(text) || isCaption(text) || h.size > 0 && size > largerThanTable*h.size ||
			p.x0 < h.x0-outside*h.em || p.x1 > h.x1+outside*h.em || !h.findColumns(&p) {
			return nil
		}
		start, out = i, append(out, p)
	}
	return out
}

// findColumns finds the columns that a piece stands over; false if it is the head of none. The head of figures that are
// narrower than it stands out on one side, or on both; that of several columns is in the middle of them.
func (h headAbove) findColumns(p *headPiece) bool {
	const edge, centred = 0.4, 1.0 // ems
	last, best := -1, -1
	for j, at := range h.columns {
		if p.x0 < at.to && p.x1 > at.from {
			if p.first < 0 {
				p.first = j
			}
			last = j
		}
		off := min(math.Abs(p.x1-at.to), math.Abs(p.x0-at.from), math.Abs(p.x0+p.x1-at.from-at.to)/2)
		if best < 0 && off < edge*h.em {
			best = j
		}
	}
	switch {
	case p.first >= 0 && p.first == last, p.first < 0 && best >= 0:
		p.first = max(p.first, best)
		p.last = p.first
		return true
	case p.first < 0:
		return false
	case p.first > 0 && math.Abs(p.x0+p.x1-h.columns[p.first].from-h.columns[last].to) < 2*centred*h.em:
		p.last = last
		return true
	case best >= p.first && best <= last:
		p.first, p.last = best, best
		return true
	}
	return false
}

// covers reports whether pieces stand over nearly all columns behind the first, and those over several not over parts
// of one another.
func (h headAbove) covers(pieces []headPiece) bool {
	const share = 0.75
	headed, spans := make([]bool, len(h.columns)), make([][2]int, len(h.columns))
	for _, p := range pieces {
		for j := p.first; j <= p.last; j++ {
			if p.first < p.last && spans[j][1] > 0 && spans[j] != [2]int{p.first, p.last} {
				return false
			}
			if headed[j] = true; p.first < p.last {
				spans[j] = [2]int{p.first, p.last}
			}
		}
	}
	n := 0
	for _, is := range headed[1:] {
		if is {
			n++
		}
	}
	return float64(n) >= share*float64(len(headed)-1)
}

// addHead makes the pieces of a head the first rows of the table, two where some stand over several columns.
func (h headAbove) addHead(pieces []headPiece) {
	t, rows := h.block.GetTable(), int32(1)
	spanned := make([]bool, len(h.columns))
	for _, p := range pieces {
		for j := p.first; j <= p.last && p.first < p.last; j++ {
			spanned[j], rows = true, 2
		}
	}
	for _, c := range t.GetCells() {
		c.Row += rows
	}
	slices.SortStableFunc(pieces, func(a, b headPiece) int {
		level := func(p headPiece) int32 {
			if p.first == p.last && spanned[p.first] {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(level(a), level(b)), cmp.Compare(a.first, b.first), cmp.Compare(a.centerY(), b.centerY()), cmp.Compare(a.x0, b.x0))
	})
	var cells []*inkstreamv1.Cell
	var lines []*inkstreamv1.Line
	for start, i := 0, 1; i <= len(pieces); i++ {
		if i < len(pieces) && pieces[i].first == pieces[start].first && pieces[i].last == pieces[start].last {
			continue
		}
		c := &inkstreamv1.Cell{Column: int32(pieces[start].first), ColumnSpan: int32(pieces[start].last - pieces[start].first + 1), RowSpan: 1}
		if c.ColumnSpan == 1 && spanned[pieces[start].first] {
			c.Row = 1
		} else if c.ColumnSpan == 1 {
			c.RowSpan = rows
		}
		box, own := pieces[start].rect, len(lines)
		for _, p := range pieces[start:i] {
			box, lines = box.union(p.rect), append(lines, newLine(p.words, 0))
		}
		c.Bbox, c.Text = box.toBox(), joinCellText(lines[own:])
		cells, start = append(cells, c), i
		h.block.Bbox = rectFromBox(h.block.GetBbox()).union(box).toBox()
	}
	t.Cells, t.Rows, t.HeaderRows = append(cells, t.GetCells()...), t.GetRows()+rows, rows
	h.block.Lines = append(lines, h.block.GetLines()...)
}
