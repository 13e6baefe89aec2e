package layout

import "slices"

const (
	// lineSlack is how much the distance of lines in a paragraph may differ from the usual one, as a share of it, and
	// leastRoom how much farther apart paragraphs are at least.
	lineSlack, leastRoom = 0.07, 0.15
	// evenShare is the share of the lines of a column that must stand evenly before a little more room says anything.
	evenShare = 0.5
)

// endsParagraph reports whether a paragraph ends above line i because of a little more room than there is between the
// column's lines, which all stand evenly. The line above ends a sentence or is short; where it is full, the same room
// comes again in the column, and no formula makes it. Headings have lines of their own pitch, and numbers tell by
// themselves where something begins.
func (p *textColumn) endsParagraph(i int) bool {
	const short, alike, larger = 2.0, 1.03, 1.03 // ems, times
	prev, cur := p.shapes[i-1], p.shapes[i]
	step := cur.baseline - prev.baseline
	a, b := prev.style, cur.style
	if step < (1+leastRoom)*p.pitch || a.size <= 0 || b.size <= 0 || max(a.size, b.size) > alike*min(a.size, b.size) ||
		cur.startsLower || cur.section != "" || !p.even || a.bold && b.bold || min(a.size, b.size) > larger*p.em {
		return false
	}
	if p.right-prev.x1 > short*p.em {
		return true
	}
	return prev.endsSentence && max(a.math, b.math) == 0 && p.countSteps(step) > 1
}

// measureSteps keeps how far apart the lines of the column stand, and whether that is even.
func (p *textColumn) measureSteps() {
	for i := 1; i < len(p.shapes); i++ {
		p.steps = append(p.steps, p.shapes[i].baseline-p.shapes[i-1].baseline)
	}
	slices.Sort(p.steps)
	p.even = float64(p.countSteps(p.pitch)) >= evenShare*float64(len(p.steps))
}

// countSteps returns how many lines stand about as far below the line above them.
func (p *textColumn) countSteps(step float64) int {
	first, _ := slices.BinarySearch(p.steps, step-lineSlack*step)
	end, _ := slices.BinarySearch(p.steps, step+lineSlack*step)
	return end - first
}

// measureEdge looks for the place where most lines of the column end, as justified ones do.
func (p *textColumn) measureEdge() {
	const fewest, slack, share = 5, 0.7, 0.6 // lines, ems
	if len(p.shapes) < fewest {
		return
	}
	ends := make([]float64, len(p.shapes))
	for i, s := range p.shapes {
		ends[i] = s.x1
	}
	slices.Sort(ends)
	at := ends[len(ends)*7/10]
	first, _ := slices.BinarySearch(ends, at-slack*p.em)
	last, _ := slices.BinarySearch(ends, at+slack*p.em)
	if float64(last-first) >= share*float64(len(ends)) {
		p.edge = at
	}
}

// endsEarly reports whether the line above line i ends though the first word of line i had room in it, in a column of
// justified lines whose type tells no headings: what a recogniser read, or a text layer. The line below is longer, which
// it is not beside a picture, and neither stands in the middle.
func (p *textColumn) endsEarly(i int) bool {
	const blank, room = 0.3, 1.0 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	end := prev.x1 + blank*p.em + cur.firstWidth
	return p.edge > 0 && prev.style.size <= 0 && cur.style.size <= 0 && end+room*p.em < p.edge && cur.x1 > end &&
		3*(prev.x0-p.left) < p.edge-prev.x1
}
