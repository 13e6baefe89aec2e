package layout

import (
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// mostBlocks is how many blocks of a recognised page are compared with one another. A page with more is noise, or no page.
const mostBlocks = 400

// plausible reports whether the order that a recogniser gave its blocks in can be right: hardly a block stands right above one that comes
// before it.
func plausible(blocks []*inkstreamv1.Block) bool {
	if len(blocks) > mostBlocks {
		return false
	}
	boxes := make([]rect, 0, len(blocks))
	for _, b := range blocks {
		first := true
		var box rect
		for _, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				if !valid(w.GetBbox()) {
					continue
				}
				if r := boxOf(w.GetBbox()); first {
					box, first = r, false
				} else {
					box = box.union(r)
				}
			}
		}
		if !first {
			boxes = append(boxes, box)
		}
	}
	wrong := 0
	for i := range boxes {
		for j := i + 1; j < len(boxes); j++ {
			a, b := boxes[i], boxes[j]
			overlap := -beside(a.x0, a.x1, b.x0, b.x1)
			if b.y1 <= a.y0 && overlap > 0.5*min(a.width(), b.width()) && overlap > 0 {
				wrong++
				break
			}
		}
	}
	return 10*wrong <= len(boxes)
}

// keepOrder rebuilds the blocks of a recognised page in the order that they have, parted where paragraphs part.
func keepOrder(blocks []*inkstreamv1.Block) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	for _, b := range blocks {
		var lines []*inkstreamv1.Line
		var input []inputLine
		for _, line := range b.GetLines() {
			words := make([]*inkstreamv1.Word, 0, len(line.GetWords()))
			for _, w := range line.GetWords() {
				if w.GetText() != "" {
					words = append(words, w)
				}
			}
			if len(words) == 0 {
				continue
			}
			angle := quarter(line.GetAngle())
			lines = append(lines, newLine(words, line.GetAngle()))
			input = append(input, inputLine{words, angle})
		}
		if len(lines) > 0 {
			t := turn(input[0].angle)
			out = append(out, paragraphs(lines, usualHeight(input, t), t)...)
		}
	}
	return out
}
