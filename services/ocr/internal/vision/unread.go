package vision

import (
	"context"
	"image"
	"slices"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// What is taken for text that the witness left out, in points.
const (
	// unreadCell is the size of the cells in which ink is looked for, unreadReach how far apart ink may be within a block.
	unreadCell, unreadReach = 3, 9
	minUnreadHeight         = 4
	minUnreadWidth          = 4
	// minUnreadDensity and maxUnreadDensity are shares of a block's cells with ink: there is less in frames, more in pictures.
	minUnreadDensity, maxUnreadDensity = 0.15, 0.95
	// maxUnreadBlocks is how many blocks are read again on a page, the largest.
	maxUnreadBlocks = 6
	// minUnreadConfidence is for a word that is read there: what was left out may be no text at all.
	minUnreadConfidence = 0.75
)

// readUnread has the witness read by itself the ink that it found no words in, and takes up the words that it is sure of.
// It is what is left out of tables, and page numbers.
func (v *verifier) readUnread(ctx context.Context) {
	blocks := v.ink.findUnread(v.words.all)
	slices.SortStableFunc(blocks, func(a, b agree.Box) int { return int(areaOf(b) - areaOf(a)) })
	found := false
	for _, b := range blocks[:min(len(blocks), maxUnreadBlocks)] {
		found = v.readBlock(ctx, b) || found
	}
	if v.unread = blocks; found {
		v.unread = v.ink.findUnread(v.words.all) // most of a block may still have none
	}
}

func areaOf(b agree.Box) float32 { return (b[2] - b[0]) * (b[3] - b[1]) }

// readBlock has the witness read a block, and reports whether it has words.
func (v *verifier) readBlock(ctx context.Context, b agree.Box) bool {
	page, at, err := v.places.readCrop(ctx, b, v.words.all, 1)
	if err != nil {
		return false // the block stays unread
	}
	found := false
	for _, block := range page.GetBlocks() {
		for _, l := range block.GetLines() {
			found = v.words.insertLine(l, at) || found
		}
	}
	if found || !isShort(b) {
		return found
	}
	read := v.places.readPlace(ctx, b)
	if read.confidence < minUnreadConfidence {
		return false
	}
	confidence := read.confidence
	return v.words.insertLine(&inkstreamv1.Line{Words: []*inkstreamv1.Word{{Text: read.text, Bbox: b[:], Confidence: &confidence}}}, crop{})
}

// isShort reports whether a block is a word or a number alone.
func isShort(b agree.Box) bool { return b[2]-b[0] < 6*(b[3]-b[1]) && b[3]-b[1] < 30 }

// findUnread returns blocks of ink like that of text that no word covers.
func (k *ink) findUnread(words []agree.Word) []agree.Box {
	inked, columns := k.findInked(unreadCell)
	rows := len(inked) / max(1, columns)
	for _, w := range words {
		for y := max(0, int(w.Box[1]/unreadCell)-1); y <= min(rows-1, int(w.Box[3]/unreadCell)+1); y++ {
			for x := max(0, int(w.Box[0]/unreadCell)-1); x <= min(columns-1, int(w.Box[2]/unreadCell)+1); x++ {
				inked[y*columns+x] = false
			}
		}
	}
	var out []agree.Box
	for start := range inked {
		if !inked[start] {
			continue
		}
		r, cells := gatherCells(inked, columns, start)
		b := agree.Box{float32(r.Min.X) * unreadCell, float32(r.Min.Y) * unreadCell, float32(r.Max.X) * unreadCell, float32(r.Max.Y) * unreadCell}
		density := float64(cells) / float64(r.Dx()*r.Dy())
		if b[3]-b[1] > minUnreadHeight && b[2]-b[0] > minUnreadWidth && density > minUnreadDensity && density < maxUnreadDensity {
			out = append(out, b)
		}
	}
	return out
}

// gatherCells takes the cells with ink that lie within reach of each other, and returns the box around them and their
// number.
func gatherCells(inked []bool, columns, start int) (image.Rectangle, int) {
	const reach = unreadReach / unreadCell
	r, cells := image.Rectangle{}, 0
	for open := []int{start}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if !inked[at] {
			continue
		}
		inked[at] = false
		cells++
		x, y := at%columns, at/columns
		r = r.Union(image.Rect(x, y, x+1, y+1))
		for ny := max(0, y-reach); ny <= min(len(inked)/columns-1, y+reach); ny++ {
			for nx := max(0, x-reach); nx <= min(columns-1, x+reach); nx++ {
				if inked[ny*columns+nx] {
					open = append(open, ny*columns+nx)
				}
			}
		}
	}
	return r, cells
}
