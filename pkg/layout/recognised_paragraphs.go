package layout

import (
	"slices"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// blankShare is the room between words, in heights of their line.
	blankShare = 0.3
	// minTextWords is how many words a line of running text has at least, as one of an address has not.
	minTextWords = 6
)

// linePlace is a line of the arrangement of a page's words: the block that it is in, and its place there.
type linePlace struct {
	block  *inkstreamv1.Block
	number int // of the block
	line   int
}

// joinPartedParagraphs joins paragraphs that a recogniser parted, as it does where a line is higher than others for
// the marks of its notes: the arrangement of the words has the last line of the one right above the first line of the
// other in one block, and the text goes on from one to the other: the line has no room for the next word, and ends no
// sentence.
func (a *arranger) joinPartedParagraphs(blocks, arranged []*inkstreamv1.Block, turn rotation) []*inkstreamv1.Block {
	places := map[*inkstreamv1.Word]linePlace{}
	for n, b := range arranged {
		if b.GetTable() != nil || b.GetType() == Code {
			continue
		}
		for i, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				places[w] = linePlace{b, n, i}
			}
		}
	}
	var out []*inkstreamv1.Block
	for _, b := range a.partAsArranged(blocks, places, turn) {
		if len(out) > 0 {
			if prev := out[len(out)-1]; isParted(prev, b, places, turn) {
				prev.Lines = slices.Concat(prev.GetLines(), b.GetLines())
				prev.Bbox = newBlock(prev.GetLines()).GetBbox()
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// isParted reports whether a block is the rest of the paragraph before it.
func isParted(prev, b *inkstreamv1.Block, places map[*inkstreamv1.Word]linePlace, turn rotation) bool {
	if prev.GetTable() != nil || b.GetTable() != nil || prev.GetType() != Paragraph && prev.GetType() != ListItem || b.GetType() != Paragraph {
		return false
	}
	above := prev.GetLines()[len(prev.GetLines())-1].GetWords()
	below := b.GetLines()[0].GetWords()
	upper, one := placeOfLine(above, places)
	lower, other := placeOfLine(below, places)
	if !one || !other || upper.block != lower.block || lower.line != upper.line+1 || isSentenceEnd(lastRune(above[len(above)-1].GetText())) {
		return false
	}
	column := turn.rotateRect(rectFromBox(upper.block.GetBbox()))
	last, first := turn.rotateRect(boundingBox(above)), turn.rotateRect(rectFromBox(below[0].GetBbox()))
	if last.x1+blankShare*last.height()+first.width() < column.x1 {
		return false
	}
	if startsLower(below[0].GetText()) {
		_, numbered := ParsePageNumber(above[len(above)-1].GetText())
		return len(prev.GetLines()) > 1 || !numbered // a running head ends with a number
	}
	written := 0
	for _, w := range above {
		if unicode.IsLetter(firstRune(w.GetText())) {
			written++
		}
	}
	return written >= minTextWords && unicode.IsLetter(firstRune(below[0].GetText())) && first.x0-column.x0 < last.height()
}

// placeOfLine returns the line of the arrangement that words make up, if all of them stand in one.
func placeOfLine(words []*inkstreamv1.Word, places map[*inkstreamv1.Word]linePlace) (linePlace, bool) {
	at, found := places[words[0]]
	return at, found && !slices.ContainsFunc(words[1:], func(w *inkstreamv1.Word) bool { return places[w] != at })
}

// partAsArranged parts the recogniser's paragraphs where the arrangement of the words, which sees whole columns,
// begins one.
func (a *arranger) partAsArranged(
	blocks []*inkstreamv1.Block, places map[*inkstreamv1.Word]linePlace, turn rotation,
) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	for _, b := range blocks {
		lines, start := b.GetLines(), 0
		for i := 1; i < len(lines) && b.GetTable() == nil && b.GetType() != Code; i++ {
			if a.beginsArranged(lines[i-1], lines[i], places, turn) {
				out = append(out, partOf(b, start, i, places))
				start = i
			}
		}
		if start > 0 {
			b = partOf(b, start, len(lines), places)
		}
		out = append(out, b)
	}
	return out
}

// beginsArranged reports whether a paragraph of the arrangement begins with the second of two lines, and the one before
// it ends with the first. The lines of a heading stand as far apart as its type asks for, and a sentence that goes on
// at an indent does so in a paragraph that hangs.
func (a *arranger) beginsArranged(
	above, below *inkstreamv1.Line, places map[*inkstreamv1.Word]linePlace, turn rotation,
) bool {
	const indent = 0.5 // ems
	upper, one := placeOfLine(above.GetWords(), places)
	lower, other := placeOfLine(below.GetWords(), places)
	if !one || !other || lower.number != upper.number+1 || lower.line != 0 ||
		upper.line+1 != len(upper.block.GetLines()) {
		return false
	}
	s, t := a.measureRecognised(above, turn), a.measureRecognised(below, turn)
	if !s.endsSentence && t.x0 > s.x0+indent*a.textEm {
		return false
	}
	return !a.isDisplay(s) || !a.isDisplay(t)
}

func (a *arranger) measureRecognised(line *inkstreamv1.Line, turn rotation) lineShape {
	return measureShape(line.GetWords(), &styles{fonts: a.style.fonts, rotation: turn})
}

// isDisplay reports whether a line is larger than the text, or bold.
func (a *arranger) isDisplay(s lineShape) bool {
	const larger = 1.1
	return s.style.bold || s.height > larger*a.textEm*usualSpan
}

// partOf returns some lines of a recogniser's paragraph as one: its first, or what begins one in the arrangement.
func partOf(
	b *inkstreamv1.Block, start, end int, places map[*inkstreamv1.Word]linePlace,
) *inkstreamv1.Block {
	part, as := newBlock(b.GetLines()[start:end:end]), b
	if start > 0 {
		as = places[part.GetLines()[0].GetWords()[0]].block
	}
	part.Type, part.Level, part.Marker = as.GetType(), as.GetLevel(), as.GetMarker()
	return part
}
