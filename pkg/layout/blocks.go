package layout

import (
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// lineShape is what parts lines into blocks: where a line runs, and how large its type is.
type lineShape struct {
	x0, x1   float64
	baseline float64
	height   float64
}

// shape measures a line of words. Boxes may be as tight as the letters, so the baseline is not the lower edge of the line: it is where a
// good part of its words end, those without letters that go below it.
func shape(words []*inkstreamv1.Word, t turn) lineShape {
	var bottoms, heights [64]float64 // of the first words: enough to tell
	n := 0
	first := t.apply(boxOf(words[0].GetBbox()))
	s := lineShape{x0: first.x0, x1: first.x1}
	for _, w := range words {
		box := t.apply(boxOf(w.GetBbox()))
		s.x0, s.x1 = min(s.x0, box.x0), max(s.x1, box.x1)
		if n < len(bottoms) && letters(w.GetText()) > 1 {
			bottoms[n], heights[n] = box.y1, box.height()
			n++
		}
	}
	if n == 0 {
		bottoms[0], heights[0], n = first.y1, first.height(), 1
	}
	slices.Sort(bottoms[:n])
	slices.Sort(heights[:n])
	s.baseline, s.height = bottoms[n*3/10], heights[n*7/10]
	return s
}

// blocks returns the blocks of a leaf in reading order.
func (l leaf) blocks(em float64, angle int32) []*inkstreamv1.Block {
	rows := leaf{whole(l.segments)}.rows(em)
	lines := make([]*inkstreamv1.Line, len(rows))
	for i := range rows {
		lines[i] = newLine(rows[i].words(em, turn(angle)), angle)
	}
	return paragraphs(lines, em, turn(angle))
}

// paragraphs parts lines that follow one another in one column into blocks.
func paragraphs(lines []*inkstreamv1.Line, em float64, t turn) []*inkstreamv1.Block {
	if len(lines) == 0 {
		return nil
	}
	shapes := make([]lineShape, len(lines))
	for i, line := range lines {
		shapes[i] = shape(line.GetWords(), t)
	}
	pitch := usualPitch(shapes, em)
	left, right := shapes[0].x0, shapes[0].x1
	for _, s := range shapes {
		left, right = min(left, s.x0), max(right, s.x1)
	}
	var blocks []*inkstreamv1.Block
	start := 0
	for i := 1; i < len(lines); i++ {
		if parts(shapes, i, pitch, em, left, right) {
			blocks = append(blocks, newBlock(lines[start:i:i]))
			start = i
		}
	}
	return append(blocks, newBlock(lines[start:]))
}

// usualPitch returns the median distance from one baseline to the next.
func usualPitch(shapes []lineShape, em float64) float64 {
	steps := make([]float64, 0, len(shapes))
	for i := 1; i < len(shapes); i++ {
		if step := shapes[i].baseline - shapes[i-1].baseline; step > 0.5*em && step < 2.2*em {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		return 1.3 * em
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// parts reports whether a block ends before line i: there is more room than between other lines, the type changes its size, or the line
// is indented after one that does not reach the right edge.
func parts(shapes []lineShape, i int, pitch, em, left, right float64) bool {
	prev, cur := shapes[i-1], shapes[i]
	step := cur.baseline - prev.baseline
	if step > 1.3*pitch+max(0, cur.height-em) || step < -0.5*em {
		return true
	}
	large, small := max(prev.height, cur.height), min(prev.height, cur.height)
	if large > 1.35*small && large > 1.1*em && small > 0.3*em {
		return true
	}
	indent := cur.x0 - left
	if indent < 0.8*em || indent > 6*em || prev.x0-left > 0.5*em {
		return false
	}
	short := right-prev.x1 > 2*em
	backs := i+1 < len(shapes) && shapes[i+1].x0-left < 0.5*em
	return short && backs
}

func newLine(words []*inkstreamv1.Word, angle int32) *inkstreamv1.Line {
	return &inkstreamv1.Line{Bbox: around(words).bbox(), Words: words, Angle: angle}
}

func newBlock(lines []*inkstreamv1.Line) *inkstreamv1.Block {
	box := boxOf(lines[0].GetBbox())
	for _, line := range lines[1:] {
		box = box.union(boxOf(line.GetBbox()))
	}
	return &inkstreamv1.Block{Type: Paragraph, Bbox: box.bbox(), Lines: lines}
}
