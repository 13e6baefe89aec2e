package layout

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxInterruptions is how many blocks may stand between the parts of a paragraph.
const maxInterruptions = 5

// joinInterruptedParagraphs moves the rest of a paragraph right behind its beginning where others came between: notes
// at the foot of a column, captions, figures, tables and boxes that the text runs around. Only what is printed counts:
// the beginning ends in the middle of a sentence, the rest begins there in the same type, and no other text between
// them does, but for what stands beside the beginning of a text that is wider below.
func joinInterruptedParagraphs(blocks []*inkstreamv1.Block, st *styles) {
	for i := 0; i+2 < len(blocks); i++ {
		if !st.isUnfinished(blocks[i]) || len(blocks[i].GetLines()) == 1 && !reachesEdge(blocks, i) {
			continue
		}
		j := i + 1
		for j < len(blocks) && j-i <= maxInterruptions && st.interrupts(blocks[j], blocks[i]) {
			j++
		}
		beside := j == i+1
		if beside {
			for j < len(blocks) && j-i <= maxInterruptions && standsBeside(blocks[j], blocks[i]) {
				j++
			}
			if j < len(blocks) && !widensBelow(blocks[i], blocks[j]) {
				continue
			}
		}
		if j == i+1 || j == len(blocks) || j-i > maxInterruptions || !st.continues(blocks[j], blocks[i], beside) {
			continue
		}
		rest := blocks[j]
		copy(blocks[i+2:j+1], blocks[i+1:j])
		blocks[i+1] = rest
	}
}

// standsBeside reports whether a block stands left or right of a paragraph, and no higher or lower than a line beyond
// it.
func standsBeside(b, paragraph *inkstreamv1.Block) bool {
	const line = 18 // points
	if !isValidBox(b.GetBbox()) {
		return false
	}
	box, text := rectFromBox(b.GetBbox()), rectFromBox(paragraph.GetBbox())
	return spanDistance(box.x0, box.x1, text.x0, text.x1) > 0 && box.y0 > text.y0-line && box.y1 < text.y1+line
}

// widensBelow reports whether a block stands right below a paragraph and shares an edge with it, but is wider: text
// that ran around something runs on below that.
func widensBelow(paragraph, b *inkstreamv1.Block) bool {
	const line, slack, wider, fewest = 8, 2, 36, 3 // points, and lines
	if len(paragraph.GetLines()) < fewest || !isValidBox(b.GetBbox()) {
		return false
	}
	above, below := rectFromBox(paragraph.GetBbox()), rectFromBox(b.GetBbox())
	return math.Abs(below.y0-above.y1) < line && below.width() > above.width()+wider &&
		(math.Abs(below.x0-above.x0) < slack || math.Abs(below.x1-above.x1) < slack)
}

// reachesEdge reports whether a block ends where the longest of those end that begin at its left edge: a line by
// itself is full only there.
func reachesEdge(blocks []*inkstreamv1.Block, i int) bool {
	const near, em = 0.5, 10
	box := rectFromBox(blocks[i].GetBbox())
	for _, b := range blocks {
		if isValidBox(b.GetBbox()) && b.GetType() == Paragraph {
			if other := rectFromBox(b.GetBbox()); math.Abs(other.x0-box.x0) < near*em && other.x1 > box.x1+3*em {
				return false
			}
		}
	}
	return true
}

// isUnfinished reports whether a paragraph ends in the middle of a sentence, in a line that is full.
func (s *styles) isUnfinished(b *inkstreamv1.Block) bool {
	const fewestWords, em = 5, 10
	if b.GetType() != Paragraph && b.GetType() != ListItem || len(b.GetLines()) == 0 || !isValidBox(b.GetBbox()) {
		return false
	}
	last := b.GetLines()[len(b.GetLines())-1]
	words := last.GetWords()
	if len(words) == 0 || last.GetAngle() != 0 || len(b.GetLines()) == 1 && len(words) < fewestWords {
		return false
	}
	word := words[len(words)-1]
	r, _ := utf8.DecodeLastRuneInString(word.GetText())
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ',' && trailingHyphenLength(word.GetText()) == 0 {
		return false
	}
	return float64(b.GetBbox()[2]-word.GetBbox()[2]) < 3*em
}

// interrupts reports whether a block is no part of the text that a paragraph belongs to: what it shows or how it is
// set differs.
func (s *styles) interrupts(b, paragraph *inkstreamv1.Block) bool {
	switch b.GetType() {
	case Figure, Table, Caption, Footnote:
		return true
	case Paragraph:
		first, last := firstWord(b), lastWord(b)
		return first != nil && !s.areSetAlike(lastWord(paragraph), first) && !s.areSetAlike(lastWord(paragraph), last)
	}
	return false
}

// continues reports whether a block is the rest of an unfinished paragraph: it stands below it, or in a column to the
// right. Its first word may be a name if nothing else can be its beginning.
func (s *styles) continues(b, paragraph *inkstreamv1.Block, named bool) bool {
	first := firstWord(b)
	if b.GetType() != Paragraph || first == nil || !isValidBox(b.GetBbox()) || b.GetLines()[0].GetAngle() != 0 {
		return false
	}
	if !named && !startsLower(first.GetText()) || !s.areSetAlike(lastWord(paragraph), first) {
		return false
	}
	from, to := rectFromBox(paragraph.GetBbox()), rectFromBox(b.GetBbox())
	if to.x0 >= from.x1-0.1*from.width() {
		return to.y0 < from.y1
	}
	return to.y0 >= from.y1-1 && spanDistance(from.x0, from.x1, to.x0, to.x1) < 0
}

// areSetAlike reports whether two words are set in one font and size.
func (s *styles) areSetAlike(a, b *inkstreamv1.Word) bool {
	f, g := s.fontStyleOf(a), s.fontStyleOf(b)
	x, y := wordTypeSize(a, rectFromBox(a.GetBbox())), wordTypeSize(b, rectFromBox(b.GetBbox()))
	return f.name > 0 && f.name == g.name && max(x, y) < 1.03*min(x, y)
}

func firstWord(b *inkstreamv1.Block) *inkstreamv1.Word {
	for _, line := range b.GetLines() {
		if words := line.GetWords(); len(words) > 0 {
			return words[0]
		}
	}
	return nil
}

func lastWord(b *inkstreamv1.Block) *inkstreamv1.Word {
	for _, line := range slices.Backward(b.GetLines()) {
		if words := line.GetWords(); len(words) > 0 {
			return words[len(words)-1]
		}
	}
	return nil
}
