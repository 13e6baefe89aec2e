package pagetext

import (
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// blocks groups lines that follow each other closely, in the order they came. The grouping is provisional: reading order and real
// blocks are the layout's business.
func blocks(lines []line) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	var current *inkstreamv1.Block
	bounds := emptyBox
	for i := range lines {
		l := &lines[i]
		if current == nil || !follows(&lines[i-1], l) {
			if current != nil {
				current.Bbox = bbox(bounds)
			}
			current, bounds = &inkstreamv1.Block{Type: "paragraph"}, emptyBox
			out = append(out, current)
		}
		current.Lines = append(current.Lines, &inkstreamv1.Line{Words: l.words, Bbox: bbox(l.box), Angle: l.angle})
		bounds.add(l.box)
	}
	if current != nil {
		current.Bbox = bbox(bounds)
	}
	return out
}

// follows reports whether b continues a's block: the same direction and about the same size, right beneath, one above the other.
func follows(a, b *line) bool {
	if a.angle != b.angle || math.Abs(a.size-b.size) > 0.2*max(a.size, b.size) {
		return false
	}
	_, aEnd := a.box.across(a.angle)
	bStart, bEnd := b.box.across(b.angle)
	if a.angle == 90 || a.angle == 180 { // the next line lies towards smaller coordinates
		aStart, _ := a.box.across(a.angle)
		aEnd, bStart, bEnd = -aStart, -bEnd, -bStart
	}
	gap := bStart - aEnd
	if height := bEnd - bStart; gap > 0.75*height || gap < -0.5*height {
		return false
	}
	a0, a1 := a.box.along(a.angle)
	b0, b1 := b.box.along(b.angle)
	return min(a1, b1) > max(a0, b0)
}
