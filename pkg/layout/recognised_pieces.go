package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxPieceWords is how many words a block of one line has at most that may be a piece of another block's line,
	// unless it is the title behind the number of a section.
	maxPieceWords = 3
	// maxPieceGap is how far a piece may stand from the rest of its line, in heights of the line: a price at the end
	// of a line stands far.
	maxPieceGap = 20
	// maxWordBlank is how far a piece of more words may stand from the rest of its line, in heights of the line: as far
	// as words of a line stand from one another.
	maxWordBlank = 0.7
)

// joinLinePieces puts pieces of lines that a recogniser took for blocks of their own back into their lines, and
// reports whether there were any. Wide gaps part such pieces, as in narrow columns that are justified, or before the
// price at the end of a line. A block of a few words is one if it stands on the line of another block, and a third
// block, in whose column both stand, tells that there is one column: it comes before the piece though it stands below
// it, or it is the other block itself, whose lines reach as far as the piece.
func joinLinePieces(page *inkstreamv1.Page) bool {
	blocks := page.GetBlocks()
	if len(blocks) > maxComparedBlocks {
		return false
	}
	placed := make([]levelBlock, len(blocks))
	for i, b := range blocks {
		placed[i] = newLevelBlock(b)
	}
	joined := false
	for i := range placed {
		piece := &placed[i]
		if len(piece.lines) != 1 {
			continue
		}
		if of, at, found := findLineOfPiece(placed, i); found {
			target := &placed[of].lines[at]
			words := slices.Concat(target.line.GetWords(), piece.lines[0].line.GetWords())
			slices.SortStableFunc(words, func(a, b *inkstreamv1.Word) int {
				return cmp.Compare(rectFromBox(a.GetBbox()).x0, rectFromBox(b.GetBbox()).x0)
			})
			target.line.Words, target.rect = words, target.union(piece.rect)
			placed[of].rect = placed[of].union(piece.rect)
			blocks[i].Lines, piece.lines = nil, nil
			joined = true
		}
	}
	if joined {
		page.Blocks = slices.DeleteFunc(blocks, func(b *inkstreamv1.Block) bool { return len(b.GetLines()) == 0 })
	}
	return joined
}

// levelBlock is a recogniser's block whose lines are level, with their places; it has no lines if any of its lines is
// not.
type levelBlock struct {
	rect
	lines []levelLine
}

type levelLine struct {
	rect
	line *inkstreamv1.Line
}

func newLevelBlock(b *inkstreamv1.Block) levelBlock {
	var out levelBlock
	for _, line := range b.GetLines() {
		words := line.GetWords()
		if line.GetAngle() != 0 || len(words) == 0 ||
			slices.ContainsFunc(words, func(w *inkstreamv1.Word) bool { return !isValidBox(w.GetBbox()) }) {
			return levelBlock{}
		}
		l := levelLine{boundingBox(words), line}
		if len(out.lines) == 0 {
			out.rect = l.rect
		}
		out.rect, out.lines = out.union(l.rect), append(out.lines, l)
	}
	return out
}

// findLineOfPiece returns the line that a block of one line is a piece of: its block and its place there.
func findLineOfPiece(blocks []levelBlock, piece int) (block, line int, found bool) {
	p := blocks[piece].rect
	isLong := len(blocks[piece].lines[0].line.GetWords()) > maxPieceWords
	nearest := math.Inf(1)
	for i := range blocks {
		for j, l := range blocks[i].lines {
			if i == piece || !p.isLevelWith(l.rect) {
				continue
			}
			gap := wordDistance(blocks[piece].lines[0], l)
			long := isLong && !l.isNumber()
			if gap >= nearest || !p.isBeside(l.rect, gap) || long && (gap > maxWordBlank*l.height() || !blocks[i].holdsPiece(p)) {
				continue
			}
			spans := func(a levelBlock) bool { return a.spansPieces(l.rect, p) }
			if blocks[i].holdsPiece(p) || l.x1 < p.x1 && slices.ContainsFunc(blocks[:piece], spans) {
				block, line, nearest, found = i, j, gap, true
			}
		}
	}
	return block, line, found
}

// isNumber reports whether a line is the number of a section alone, from which its title stands apart.
func (l levelLine) isNumber() bool {
	words := l.line.GetWords()
	return len(words) == 1 && isSectionNumber(words[0].GetText())
}

// wordDistance returns how far the words of a piece stand from those of a line, less than 0 where they overlap. A piece
// may stand between words of the line, or have some of them between its own.
func wordDistance(piece, line levelLine) float64 {
	distance := spanDistance(piece.x0, piece.x1, line.x0, line.x1)
	if distance >= 0 {
		return distance
	}
	distance = math.Inf(1)
	for _, a := range piece.line.GetWords() {
		for _, b := range line.line.GetWords() {
			r, s := rectFromBox(a.GetBbox()), rectFromBox(b.GetBbox())
			distance = min(distance, spanDistance(r.x0, r.x1, s.x0, s.x1))
		}
	}
	return distance
}

// isLevelWith reports whether a piece stands at the height of a line.
func (r rect) isLevelWith(line rect) bool {
	low, high := min(r.height(), line.height()), max(r.height(), line.height())
	return min(r.y1, line.y1)-max(r.y0, line.y0) > 0.5*low && high < 2*low
}

// isBeside reports whether a piece stands as far from the words of a line as it may.
func (r rect) isBeside(line rect, gap float64) bool {
	high := max(r.height(), line.height())
	return gap > -0.2*high && gap < maxPieceGap*high
}

// holdsPiece reports whether a piece stands between the edges of a block of several lines.
func (b levelBlock) holdsPiece(p rect) bool {
	tolerance := 0.2 * p.height()
	return len(b.lines) > 1 && b.x0 <= p.x0+tolerance && b.x1 >= p.x1-tolerance &&
		b.y0 < p.centerY() && b.y1 > p.centerY()
}

// spansPieces reports whether a block stands below two pieces of a line, in a column that has room for both.
func (b levelBlock) spansPieces(left, right rect) bool {
	tolerance := right.height()
	return len(b.lines) > 0 && b.y0 >= right.y1 && b.x0 <= left.x0+tolerance && b.x1 >= right.x1-tolerance
}
