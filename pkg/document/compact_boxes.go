package document

import (
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// roundNumber rounds to thousandths, as the rounded form of a compact page does.
func roundNumber(v float32) float32 {
	f := compactForm{roundedField}
	return f.decodeNumber(f.encodeNumber(v))
}

// canRound reports whether a page can be told from the rounded form: its numbers are of the sizes that pages have, and
// a line with words and a block with such lines have boxes.
func canRound(p *inkstreamv1.Page) bool {
	for _, b := range p.GetBlocks() {
		hasBoxes := false
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if !areRoundable(w.GetBbox()) || !areRoundable([]float32{w.GetSize()}) {
					return false
				}
			}
			if len(l.GetWords()) > 0 && len(l.GetBbox()) != 4 || !areRoundable(l.GetBbox()) {
				return false
			}
			hasBoxes = hasBoxes || len(l.GetBbox()) > 0
		}
		if hasBoxes && len(b.GetBbox()) != 4 || !areRoundable(b.GetBbox()) {
			return false
		}
	}
	return true
}

func areRoundable(numbers []float32) bool {
	for _, v := range numbers {
		if !(math.Abs(float64(v)) < maxRounded) { // NaN is not
			return false
		}
	}
	return true
}

// boxAround is the box around others, as they are rounded; it begins with none.
type boxAround []float32

func (u *boxAround) addBox(box []float32) {
	if len(box) != 4 {
		return
	}
	if *u == nil {
		*u = boxAround{roundNumber(box[0]), roundNumber(box[1]), roundNumber(box[2]), roundNumber(box[3])}
		return
	}
	for i := range 2 {
		(*u)[i] = min((*u)[i], roundNumber(box[i]))
		(*u)[2+i] = max((*u)[2+i], roundNumber(box[2+i]))
	}
}

// isBox reports whether a box is the one around, when it is rounded.
func (u *boxAround) isBox(box []float32) bool {
	for i := range *u {
		if roundNumber(box[i]) != (*u)[i] {
			return false
		}
	}
	return *u != nil
}

// setBoxesAside takes out the boxes of lines and blocks that restoreBoxes puts back, rounded, and returns all of them
// in their order, each block's ahead of those of its lines.
func setBoxesAside(p *inkstreamv1.Page) (boxes [][]float32) {
	for _, b := range p.GetBlocks() {
		boxes = append(boxes, b.GetBbox())
		var aroundLines boxAround
		for _, l := range b.GetLines() {
			boxes = append(boxes, l.GetBbox())
			var aroundWords boxAround
			for _, w := range l.GetWords() {
				aroundWords.addBox(w.GetBbox())
			}
			aroundLines.addBox(l.GetBbox())
			if aroundWords.isBox(l.GetBbox()) {
				l.Bbox = nil
			}
		}
		if len(b.GetBbox()) == 4 && aroundLines.isBox(b.GetBbox()) {
			b.Bbox = nil
		}
	}
	return boxes
}

// restoreBoxes gives the lines and blocks without a box the one around what they have.
func restoreBoxes(p *inkstreamv1.Page) {
	for _, b := range p.GetBlocks() {
		var aroundLines boxAround
		for _, l := range b.GetLines() {
			var aroundWords boxAround
			for _, w := range l.GetWords() {
				aroundWords.addBox(w.GetBbox())
			}
			if l.GetBbox() == nil {
				l.Bbox = aroundWords
			}
			aroundLines.addBox(l.GetBbox())
		}
		if b.GetBbox() == nil {
			b.Bbox = aroundLines
		}
	}
}
