package pagetext

import (
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// groupBlocks groups lines that follow each other closely, in the order they came. The grouping is provisional:
// reading order and real blocks are the layout's business.
func groupBlocks(lines []line) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	var current *inkstreamv1.Block
	bounds := emptyBox
	for i := range lines {
		l := &lines[i]
		if current == nil || !continuesBlock(&lines[i-1], l) {
			if current != nil {
				current.Bbox = boxFloats(bounds)
			}
			current, bounds = &inkstreamv1.Block{Type: "paragraph"}, emptyBox
			out = append(out, current)
		}
		current.Lines = append(current.Lines, &inkstreamv1.Line{Words: l.words, Bbox: boxFloats(l.box), Angle: l.angle})
		bounds.extendBy(l.box)
	}
	if current != nil {
		current.Bbox = boxFloats(bounds)
	}
	return out
}

// continuesBlock reports whether b continues a's block: the same direction and about the same size, right beneath,
// one above the other.
func continuesBlock(a, b *line) bool {
	if a.angle != b.angle || math.Abs(a.size-b.size) > 0.2*max(a.size, b.size) {
		return false
	}
	_, aEnd := a.box.acrossExtent(a.angle)
	bStart, bEnd := b.box.acrossExtent(b.angle)
	if a.angle == 90 || a.angle == 180 { // the next line lies towards smaller coordinates
		aStart, _ := a.box.acrossExtent(a.angle)
		aEnd, bStart, bEnd = -aStart, -bEnd, -bStart
	}
	gap := bStart - aEnd
	if height := bEnd - bStart; gap > 0.75*height || gap < -0.5*height {
		return false
	}
	a0, a1 := a.box.alongExtent(a.angle)
	b0, b1 := b.box.alongExtent(b.angle)
	return min(a1, b1) > max(a0, b0)
}
