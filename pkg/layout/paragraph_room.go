package layout

import (
	"math"
	"slices"
)

const (
	// lineSlack is how much the distance of lines in a paragraph may differ from the usual one, as a share of it, and
	// leastRoom how much farther apart paragraphs are at least.
	lineSlack, leastRoom = 0.07, 0.15
	// evenShare is the share of the lines of a column that must stand evenly before a little more room says anything.
	evenShare = 0.5
	// maxEdgeIndent is how far a line that begins at the column's edge may stand off it, in ems.
	maxEdgeIndent = 0.25
	// leastFirstIndent and mostFirstIndent are how far the first line of a paragraph is indented, in ems.
	leastFirstIndent, mostFirstIndent = 0.8, 6
)

// endsParagraph reports whether a paragraph ends above line i because of a little more room than there is between the
// column's lines, which all stand evenly. The line above ends a sentence or is short; where it is full, the same room
// comes again in the column, and no formula makes it. Headings have lines of their own pitch; numbers tell by
// themselves where something begins, unless the same room is above many of them.
func (p *textColumn) endsParagraph(i int) bool {
	const short = 2.0 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	step := cur.baseline - prev.baseline
	if cur.style.size > 0 { // a raised mark may have moved the line down
		step -= cur.lift
	}
	a, b := prev.style, cur.style
	small, large, slack := min(a.size, b.size), max(a.size, b.size), 1.03
	if large == 0 { // boxes tell sizes roughly
		small, large, slack = min(prev.height, cur.height)/usualSpan, max(prev.height, cur.height)/usualSpan, 1.12
	}
	isUsual := p.room > 0 && step > (1-lineSlack)*p.room
	if step < (1+leastRoom)*p.pitch || small <= 0 || large > slack*small || small > slack*p.em ||
		cur.startsLower && !(isUsual && prev.endsSentence) || p.hangs && cur.x0-p.left >= maxEdgeIndent*p.em ||
		cur.section != "" && !prev.endsSentence && p.countSteps(step) < 3 || !p.even || a.bold && b.bold {
		return false
	}
	if isUsual || p.right-prev.x1 > short*p.em {
		return true
	}
	return prev.endsSentence && max(a.math, b.math) == 0 && (p.countSteps(step) > 1 || p.usual)
}

// runsOnEvenly reports whether line i goes on with a full line above it that ends no sentence, and the next line, or
// the line above that, stands as far from its neighbour: text among notes or entries whose lines stand closer.
func runsOnEvenly(shapes []lineShape, i int, right, em float64) bool {
	const widest, edge, larger = 2.2, 0.3, 1.03 // ems, ems, times
	prev, cur := shapes[i-1], shapes[i]
	step := cur.baseline - prev.baseline
	if step > widest*em || right-prev.x1 > edge*em || prev.endsSentence || cur.marker != "" || cur.section != "" ||
		max(prev.style.size, cur.style.size) > larger*min(prev.style.size, cur.style.size) {
		return false
	}
	isAlike := func(k int) bool {
		return k > 0 && k < len(shapes) && math.Abs(shapes[k].baseline-shapes[k-1].baseline-step) <= lineSlack*step
	}
	return isAlike(i-1) || isAlike(i+1)
}

// measureWidth finds the edges of the column: the left one is that of lines in type of the usual size, as headings
// may be set farther out, and the number of the page, or of a line, stands apart from the text.
func measureWidth(p *textColumn) {
	const other = 1.12 // times
	sizes := make([]float64, len(p.shapes))
	for i, s := range p.shapes {
		sizes[i] = s.style.size
	}
	size := median(sizes)
	numbersOnly := !slices.ContainsFunc(p.shapes, func(s lineShape) bool { return s.counter == 0 })
	for _, s := range p.shapes {
		if s.counter > 0 && !numbersOnly {
			continue
		}
		p.right = max(p.right, s.x1)
		if s.style.size <= other*size && size <= other*s.style.size {
			p.left = min(p.left, s.x0)
		}
	}
	if p.left > p.right { // no line is of that size but the number
		p.left = p.shapes[0].x0
	}
}

// measureRoom finds out how far the first lines of paragraphs stand below the lines above them: more than lines within
// paragraphs, evenly, where the line above ends short, and hardly ever where a sentence goes on. It also tells whether
// such room parts all items of lists.
func measureRoom(p *textColumn) {
	const fewest, short, most, few = 3, 2.0, 3.0, 8 // lines, ems, times the pitch; one of so many may go on
	var rooms []float64
	items, apart := 0, 0
	for i := 1; i < len(p.shapes); i++ {
		prev, cur := p.shapes[i-1], p.shapes[i]
		step := cur.baseline - prev.baseline
		isWide := step >= (1+leastRoom)*p.pitch
		if cur.marker != "" && prev.style.size == cur.style.size {
			if items++; isWide {
				apart++
			}
		}
		if isWide && step < most*p.pitch && p.right-prev.x1 > short*p.em && (!cur.startsLower || prev.endsSentence) &&
			prev.style.size == cur.style.size {
			rooms = append(rooms, step)
		}
	}
	p.apart = apart >= 2 && 4*apart >= 3*items
	room := median(rooms)
	if countNear(rooms, room, lineSlack*room) < fewest {
		return
	}
	goOn := 0
	for i := 1; i < len(p.shapes); i++ {
		prev, cur := p.shapes[i-1], p.shapes[i]
		if cur.startsLower && !prev.endsSentence && cur.baseline-prev.baseline > (1-lineSlack)*room {
			goOn++
		}
	}
	if few*goOn <= len(rooms) {
		p.room = room
	}
}

// countSteps returns how many lines stand about as far below the line above them.
func (p *textColumn) countSteps(step float64) int {
	first, _ := slices.BinarySearch(p.steps, step-lineSlack*step)
	end, _ := slices.BinarySearch(p.steps, step+lineSlack*step)
	return end - first
}

// measureEdge looks for the place where many lines of the column end, as justified ones do: type that is set ends
// there to a hair, what was read or stands in a text layer nearly. That of ragged text is where its longest line ends.
func (p *textColumn) measureEdge() {
	const fewest = 5 // lines
	if len(p.shapes) < fewest {
		return
	}
	slack, share := 0.15, 0.35 // ems
	if p.isUnsized() {
		slack, share = 0.7, 0.6
	}
	ends := make([]float64, len(p.shapes))
	for i, s := range p.shapes {
		ends[i] = s.x1
	}
	slices.Sort(ends)
	at := ends[len(ends)*7/10]
	first, _ := slices.BinarySearch(ends, at-slack*p.em)
	last, _ := slices.BinarySearch(ends, at+slack*p.em)
	switch {
	case float64(last-first) >= share*float64(len(ends)):
		p.edge = at
		p.justified = !p.isUnsized() && runsOnToEdge(p, slack*p.em)
	case p.isRunningText():
		p.edge = p.right
	}
}

// runsOnToEdge reports whether lines in which a sentence runs on into the next end at the edge, as those of justified
// text do without exception: it fills all lines of a paragraph but the last.
func runsOnToEdge(p *textColumn, slack float64) bool {
	const fewest, share = 3, 0.9 // lines
	n, full := 0, 0
	for i := 1; i < len(p.shapes); i++ {
		if prev := p.shapes[i-1]; p.shapes[i].startsLower && !prev.endsSentence {
			if n++; math.Abs(prev.x1-p.edge) <= slack {
				full++
			}
		}
	}
	return n >= fewest && float64(full) >= share*float64(n)
}

// isUnsized reports whether the type of the column has no sizes: what a recogniser read, or a text layer.
func (p *textColumn) isUnsized() bool {
	return !slices.ContainsFunc(p.shapes, func(s lineShape) bool { return s.style.size > 0 })
}

// isRunningText reports whether most lines of the column have no room for the first word of the next, as in text that
// is set line by line, however ragged; lines of verse and of addresses have.
func (p *textColumn) isRunningText() bool {
	const fewest, share = 6, 0.6 // lines
	full := 0
	for i := 1; i < len(p.shapes); i++ {
		if p.fillsLine(p.shapes[i-1], p.shapes[i]) {
			full++
		}
	}
	return len(p.shapes) >= fewest && float64(full) >= share*float64(len(p.shapes)-1)
}

// endsEarly reports whether the line above line i ends though the first word of line i had room in it, in a column of
// justified lines or of running text. The line below is longer, which it is not beside a picture, and neither stands
// in the middle; no sentence goes on in it.
func (p *textColumn) endsEarly(i int) bool {
	const room = 1.0 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	end := endWithNext(prev, cur, p.em)
	if p.hangs && cur.x0-p.left >= maxEdgeIndent*p.em { // where paragraphs hang, text at the indent goes on
		return false
	}
	if p.justified && endsJustified(p, i) {
		return true
	}
	return p.edge > 0 && end+room*p.em < p.edge && cur.x1 > end && 3*(prev.x0-p.left) < p.edge-prev.x1 &&
		(prev.endsSentence || !cur.startsLower)
}

// endsJustified reports whether the line above line i ends a sentence and stays short of the edge of justified lines,
// beside which nothing stands: neither line about it ends as early.
func endsJustified(p *textColumn, i int) bool {
	const room = 0.5 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	endsThere := func(k int) bool {
		return k >= 0 && math.Abs(p.shapes[k].x1-prev.x1) < room*p.em
	}
	return prev.endsSentence && !cur.startsLower && p.edge-prev.x1 > room*p.em && 3*(prev.x0-p.left) < p.edge-prev.x1 &&
		!endsThere(i) && !endsThere(i-2)
}

// isShortAbove reports whether the line above line i ends in its first half, and line i, which begins with a capital
// below its beginning, fills it and goes on: a name or a date above text.
func isShortAbove(p *textColumn, i int) bool {
	const slack, widest, short, full = 0.3, 20.0, 0.5, 0.85 // ems, ems, shares of the width
	prev, cur := p.shapes[i-1], p.shapes[i]
	width := p.right - cur.x0
	if cur.style.bold || cur.style.size > p.em { // a heading that wraps
		return false
	}
	return width > widest*p.em && math.Abs(prev.x0-cur.x0) < slack*p.em && prev.x1-prev.x0 < short*width && cur.x1-cur.x0 > full*width &&
		!cur.startsLower && !prev.style.mono && i+1 < len(p.shapes) && math.Abs(p.shapes[i+1].x0-cur.x0) < slack*p.em && p.fillsLine(cur, p.shapes[i+1])
}

// beginsBelowRow reports whether a row ends above line i, or begins with it: one with text in two places, as a name
// and years at the edge are, above running text or below a sentence, or one that ends in bold type though the first
// word of the line has room in it.
func beginsBelowRow(p *textColumn, i int) bool {
	const slack, wide, room = 0.3, 0.5, 3.0 // ems, share of the width, ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	if cur.startsLower || cur.unspaced || cur.marker != "" || cur.style.bold || cur.style.size == 0 || prev.style.mono || cur.style.size > p.em {
		return false
	}
	isBelow := math.Abs(cur.x0-prev.x0) < slack*p.em || math.Abs(cur.x0-prev.second) < slack*p.em
	parts := func(s lineShape) bool { return s.room.isParted(p.em) && (s.room.gaps > 1 || !p.justified) }
	parted, partedBelow := parts(prev), parts(cur)
	switch {
	case parted && !partedBelow:
		return isBelow && cur.x1-cur.x0 > wide*(p.right-cur.x0)
	case partedBelow && !parted:
		return prev.endsSentence
	}
	return prev.endsBold && !cur.startsBold && isBelow && endWithNext(prev, cur, p.em)+room*p.em < p.right
}

// measureIndent looks whether the paragraphs of the column hang: lines begin at its left edge or at an indent, those
// at the indent go on from a line without room for their first word, and many at the edge do not. Bullets and what
// follows them below their text tell of items, not of paragraphs.
func (p *textColumn) measureIndent() {
	const fewest, least, most = 3, 0.6, 6 // lines, ems
	outer, starts, inner, goOn, others, long, at, item := 0, 0, 0, 0, 0, 0, 0.0, math.Inf(-1)
	runsOn := 0 // lines at the edge with which a sentence goes on
	for i, s := range p.shapes {
		if s.bulletMarker {
			item = s.textStart
			continue
		}
		if math.Abs(s.x0-item) < maxEdgeIndent*p.em {
			continue
		}
		item = math.Inf(-1)
		if s.firstWidth > 0.5*(p.right-p.left) {
			long++
		}
		full := i > 0 && p.fillsLine(p.shapes[i-1], s)
		indent := s.x0 - p.left
		if indent < maxEdgeIndent*p.em {
			if outer++; !full {
				starts++
			}
			if i > 0 && s.startsLower && !p.shapes[i-1].endsSentence {
				runsOn++
			}
			continue
		}
		if inner == 0 {
			at = s.x0
		}
		if indent < least*p.em || indent > most*p.em || math.Abs(s.x0-at) > maxEdgeIndent*p.em {
			others++
			continue
		}
		if inner++; full {
			goOn++
		}
	}
	if 5*long > len(p.shapes) { // words say little of where a line was full
		return
	}
	p.runsOn = runsOn > 0
	p.hangs = outer >= fewest && 4*runsOn <= outer && inner >= fewest && 10*goOn >= 9*inner && 4*starts >= outer && 8*others <= len(p.shapes)
}

// haveAnswers reports whether items go on left of their markers, as questions and answers of transcripts do: where an
// item's first line ends no sentence, the next goes on with a small letter there.
func haveAnswers(shapes []lineShape, em float64) bool {
	const fewest = 2 // items
	n := 0
	for i := 1; i < len(shapes); i++ {
		if prev := shapes[i-1]; shapes[i].startsLower && !prev.endsSentence && isLeftOfMarker(prev, shapes[i], em) {
			n++
		}
	}
	return n >= fewest
}

// isLeftOfMarker reports whether a line begins left of an item's first line.
func isLeftOfMarker(first, line lineShape, em float64) bool {
	const indent = 0.8 // ems
	return first.marker != "" && line.marker == "" && line.x0 < first.x0-indent*em
}

func countNear(values []float64, at, slack float64) int {
	n := 0
	for _, v := range values {
		if math.Abs(v-at) <= slack {
			n++
		}
	}
	return n
}
