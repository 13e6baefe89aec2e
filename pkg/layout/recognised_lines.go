package layout

import (
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// minPieceWords is how many words of a line stand in each of two columns at least where it was read across them.
const minPieceWords = 2

// splitLinesAcross returns a recogniser's blocks with the lines that it read across columns parted: each piece goes
// below the line of its column that stands right above it, or above the one right below. of is the column of each
// word.
func splitLinesAcross(blocks []*inkstreamv1.Block, of map[*inkstreamv1.Word]int) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	var pieces []*inkstreamv1.Line
	spans := columnSpans(of)
	for _, b := range blocks {
		var kept []*inkstreamv1.Line
		for _, line := range b.GetLines() {
			if parts := splitAtColumns(line, of, spans); len(parts) > 1 {
				pieces = append(pieces, parts...)
			} else {
				kept = append(kept, line)
			}
		}
		if len(kept) > 0 || len(b.GetLines()) == 0 {
			out = append(out, &inkstreamv1.Block{Type: b.GetType(), Bbox: b.GetBbox(), Lines: kept})
		}
	}
	if len(pieces) == 0 {
		return blocks
	}
	for _, piece := range pieces {
		if !insertIntoColumn(out, piece, of) {
			out = append(out, &inkstreamv1.Block{Lines: []*inkstreamv1.Line{piece}})
		}
	}
	return out
}

// columnSpans returns the box around each column's words.
func columnSpans(of map[*inkstreamv1.Word]int) map[int]rect {
	out := map[int]rect{}
	for w, column := range of {
		r := rectFromBox(w.GetBbox())
		if known, found := out[column]; found {
			r = known.union(r)
		}
		out[column] = r
	}
	return out
}

// splitAtColumns returns the pieces of a line that stand in columns beside each other; none if it is of one column.
func splitAtColumns(line *inkstreamv1.Line, of map[*inkstreamv1.Word]int, spans map[int]rect) []*inkstreamv1.Line {
	if line.GetAngle() != 0 {
		return nil
	}
	count := map[int]int{}
	for _, w := range line.GetWords() {
		count[of[w]]++
	}
	var beside []rect
	for column, n := range count {
		if column == 0 || n < minPieceWords {
			continue
		}
		span := spans[column]
		if slices.ContainsFunc(beside, func(r rect) bool { return spanDistance(r.x0, r.x1, span.x0, span.x1) < 0 }) {
			return nil // they follow each other
		}
		beside = append(beside, span)
	}
	if len(beside) < 2 {
		return nil
	}
	var out []*inkstreamv1.Line
	last := 0
	for _, w := range line.GetWords() {
		if column := of[w]; len(out) == 0 || column != 0 && column != last {
			out, last = append(out, &inkstreamv1.Line{}), column
		}
		piece := out[len(out)-1]
		piece.Words = append(piece.Words, w)
	}
	return out
}

// insertIntoColumn puts a line below the nearest above it that is of the same column, or above the nearest below;
// false if there is none.
func insertIntoColumn(blocks []*inkstreamv1.Block, piece *inkstreamv1.Line, of map[*inkstreamv1.Word]int) bool {
	column, y := mainColumn(piece, of), boundingBox(piece.GetWords()).centerY()
	var above, below struct {
		block *inkstreamv1.Block
		at    int
	}
	nearestAbove, nearestBelow := math.Inf(1), math.Inf(1)
	for _, b := range blocks {
		for i, line := range b.GetLines() {
			if len(line.GetWords()) == 0 || mainColumn(line, of) != column {
				continue
			}
			down := y - boundingBox(line.GetWords()).centerY()
			if down >= 0 && down < nearestAbove {
				nearestAbove, above.block, above.at = down, b, i+1
			} else if down < 0 && -down < nearestBelow {
				nearestBelow, below.block, below.at = -down, b, i
			}
		}
	}
	place := above
	if place.block == nil {
		place = below
	}
	if column == 0 || place.block == nil {
		return false
	}
	place.block.Lines = slices.Insert(place.block.GetLines(), place.at, piece)
	return true
}

// mainColumn returns the column that most words of a line stand in, 0 if in none.
func mainColumn(line *inkstreamv1.Line, of map[*inkstreamv1.Word]int) int {
	count, most := map[int]int{}, 0
	for _, w := range line.GetWords() {
		if column := of[w]; column != 0 {
			if count[column]++; most == 0 || count[column] > count[most] {
				most = column
			}
		}
	}
	return most
}
