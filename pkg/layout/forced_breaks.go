package layout

import (
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// LineBreaks tells where the lines of a page's text end because their writer ended them, as those of an address or of
// a list of names do, and not because they were full. In running text, a word stands in the next line only
// where the line has no room for it.
type LineBreaks struct {
	blocks []*inkstreamv1.Block
	boxes  []rect
}

// maxBreakBlocks bounds the blocks of a page beside which others are looked for.
const maxBreakBlocks = 500

// NewLineBreaks returns the line breaks of a page.
func NewLineBreaks(page *inkstreamv1.Page) *LineBreaks {
	l := &LineBreaks{blocks: page.GetBlocks()}
	if len(l.blocks) > maxBreakBlocks {
		return l
	}
	for _, b := range l.blocks {
		box := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		if isValidBox(b.GetBbox()) {
			box = rectFromBox(b.GetBbox())
		}
		l.boxes = append(l.boxes, box)
	}
	return l
}

// SplitBlock parts the lines of a block of the page, counted from 0, where its writer ended them: the lines of an
// address or of verse from one another, or running text into its paragraphs; one part where it is one paragraph.
func (l *LineBreaks) SplitBlock(block int) (parts [][]*inkstreamv1.Line, areLines bool) {
	lines := l.blocks[block].GetLines()
	var breaks []bool
	if len(lines) > 1 {
		if shapes, em := measureBrokenLines(lines); em > 0 {
			breaks, areLines = l.findBreaks(block, shapes, em)
			breaks, areLines = breakRows(shapes, breaks, areLines)
		}
	}
	start := 0
	for i, forced := range breaks {
		if forced {
			parts = append(parts, lines[start:i+1:i+1])
			start = i + 1
		}
	}
	return append(parts, lines[start:]), areLines
}

// brokenLine is a line of text whose end is looked at: where it runs, in the direction in which it is read.
type brokenLine struct {
	x0, x1, firstWidth      float64
	startsLower, endsInText bool // it begins with a small letter; it ends no sentence
	hyphenated, unspaced    bool // it ends with a hyphen; its script has no blank before it
	parted                  bool // it has text in two places, as a name and a number
}

// findBreaks tells of each line of a block but the last whether its writer ended it, and of all whether they are no
// running text.
func (l *LineBreaks) findBreaks(block int, shapes []brokenLine, em float64) (breaks []bool, areLines bool) {
	const room, alike, wide, narrow, fewest = 1.0, 0.1, 30.0, 24.0, 6 // ems; breaks
	if breaks = make([]bool, len(shapes)-1); takeTurns(shapes, em) || startAfresh(shapes, em) && !l.isInColumn(block, em) {
		for i := range breaks {
			breaks[i] = true
		}
		return breaks, true
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, s := range shapes {
		left, right = min(left, s.x0), max(right, s.x1)
	}
	limit := wide
	if shapes[1].unspaced { // words may be broken anywhere, and no small letter tells that they are
		limit = narrow
	} else {
		right = max(right, l.columnEnd(block, left, em))
	}
	centred := areCentred(shapes, left, right, em)
	forced, inText, goOn := 0, 0, 0
	for i := range breaks {
		line, next := shapes[i], shapes[i+1]
		free := right - line.x1
		if centred {
			free += line.x0 - left
		}
		if next.startsLower && line.endsInText {
			goOn++
		}
		breaks[i] = !line.hyphenated && free > next.firstWidth+(blankShare+room)*em
		if breaks[i] && !(math.Abs(line.x1-next.x1) < alike*em || i > 0 && math.Abs(line.x1-shapes[i-1].x1) < alike*em) {
			forced++ // and is no text that is set justified beside something
			if line.endsInText && !next.startsLower {
				inText++
			}
		}
	}
	if forced == 0 {
		return nil, false
	}
	areLines = 2*forced >= len(breaks) && 3*goOn <= len(breaks) ||
		len(breaks) >= fewest && 4*forced >= 3*len(breaks) && 9*goOn <= 4*len(breaks) || // hardly a line is full, as of ingredients
		4*inText >= len(breaks) && goOn == 0 && right-left < wide*em
	for i := range breaks {
		line, next := shapes[i], shapes[i+1]
		switch {
		case !areLines: // of running text, some end a paragraph
			breaks[i] = breaks[i] && !line.endsInText && !next.startsLower
		case !breaks[i]: // the longest line, or one of text among them
			breaks[i] = !line.hyphenated && !next.startsLower && (centred || !line.endsInText || right-left < limit*em)
		}
	}
	return breaks, areLines
}

// measureBrokenLines measures lines, and how large their type is; 0 where a line has no place.
func measureBrokenLines(lines []*inkstreamv1.Line) ([]brokenLine, float64) {
	const twoSigns = 2.0 // ems: where any sign may begin a line, some are kept together
	turn := rotation(nearestQuarterTurn(lines[0].GetAngle()))
	toLeft := isRightToLeftColumn(lines)
	shapes := make([]brokenLine, len(lines))
	var sizes []float64
	for i, line := range lines {
		words := line.GetWords()
		if len(words) == 0 {
			return nil, 0
		}
		for _, w := range words {
			if !isValidBox(w.GetBbox()) {
				return nil, 0
			}
		}
		box, first := turn.rotateRect(boundingBox(words)), turn.rotateRect(rectFromBox(words[0].GetBbox()))
		if toLeft {
			box.x0, box.x1 = -box.x1, -box.x0
		}
		size := float64(words[0].GetSize())
		if size <= 0 {
			size = box.height()
		}
		sizes = append(sizes, size)
		last := words[len(words)-1].GetText()
		shapes[i] = brokenLine{
			x0: box.x0, x1: box.x1, firstWidth: first.width(), startsLower: startsLower(words[0].GetText()),
			endsInText: !isSentenceEnd(lastRune(last)), hyphenated: trailingHyphenLength(last) > 0,
		}
		var room wordRoom
		for k := 1; k < len(words); k++ {
			room.addGap(turn.rotateRect(rectFromBox(words[k].GetBbox())).x0 - turn.rotateRect(rectFromBox(words[k-1].GetBbox())).x1)
		}
		shapes[i].parted = room.isParted(size)
		if i > 0 {
			before := lines[i-1].GetWords()
			if !NeedsSpace(before[len(before)-1].GetText(), words[0].GetText()) {
				shapes[i].firstWidth, shapes[i].unspaced = min(shapes[i].firstWidth, twoSigns*size), true
			}
		}
	}
	return shapes, median(sizes)
}

// breakRows ends lines that have text in two places, as those of a list of parts and players do, where most have:
// each is a row by itself.
func breakRows(shapes []brokenLine, breaks []bool, areLines bool) ([]bool, bool) {
	n := 0
	for _, s := range shapes {
		if s.parted {
			n++
		}
	}
	if n < 2 || 2*n < len(shapes) {
		return breaks, areLines
	}
	if breaks == nil {
		breaks = make([]bool, len(shapes)-1)
	}
	for i := range breaks {
		a, b := shapes[i], shapes[i+1]
		breaks[i] = breaks[i] || a.parted && b.parted || (a.parted || b.parted) && !b.startsLower
	}
	return breaks, true
}

// areCentred reports whether lines stand in the middle between two edges, some of them off both.
func areCentred(shapes []brokenLine, left, right, em float64) bool {
	off := 0
	for _, s := range shapes {
		before, after := s.x0-left, right-s.x1
		if math.Abs(before-after) > em {
			return false
		}
		if before > em {
			off++
		}
	}
	return off > 0
}

// columnEnd returns where the text right above or below a block of few lines ends, if it begins where the block does
// and nothing stands beside the block: the block could have run on so far.
func (l *LineBreaks) columnEnd(block int, left, em float64) float64 {
	const few, edge, near = 4, 0.5, 4.0 // lines, ems
	end := math.Inf(-1)
	b := l.blocks[block]
	if len(l.boxes) == 0 || len(b.GetLines()) > few || nearestQuarterTurn(b.GetLines()[0].GetAngle()) != 0 || isRightToLeftColumn(b.GetLines()) {
		return end
	}
	box := l.boxes[block]
	for _, i := range []int{block - 1, block + 1} {
		if i < 0 || i >= len(l.blocks) || l.blocks[i].GetType() != Paragraph && l.blocks[i].GetType() != ListItem {
			continue
		}
		other := l.boxes[i]
		if math.Abs(other.x0-left) < edge*em && spanDistance(box.y0, box.y1, other.y0, other.y1) < near*em {
			end = max(end, other.x1)
		}
	}
	if end <= box.x1 {
		return end
	}
	for i, other := range l.boxes {
		if i != block && other.x1 > box.x1 && other.x0 < end && spanDistance(box.y0, box.y1, other.y0, other.y1) < 0 {
			return math.Inf(-1)
		}
	}
	return end
}
