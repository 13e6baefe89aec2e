package pagetext

import "math"

// printedOffset is how far, in sizes of the type, a second print stands from the first: documents print twice to look
// bold, or to throw a shadow. Poppler allows a tenth along the line and a fifth across (TextPage::coalesce).
const printedOffset = 0.12

// isOverprint reports whether the character only repeats the last one in the same place, as documents do to look
// bold. It takes another text object to do so: the parts of a ligature share a place too.
func (b *builder) isOverprint(r rune, at box, index int32) bool {
	near := printedOffset * b.runs[index].size
	if r == b.last && index != b.lastRun && at.x1 > at.x0 &&
		math.Abs(at.x0-b.lastAt.x0) < near && math.Abs(at.y0-b.lastAt.y0) < near &&
		math.Abs(at.x1-b.lastAt.x1) < near {
		return true
	}
	b.last, b.lastAt, b.lastRun = r, at, index
	return false
}

// printedWords are the words of a page by where they begin.
type printedWords struct {
	words []printedWord
	last  map[[2]int32]int32 // cell to the word that came last in it
}

type printedWord struct {
	text   string
	box    box
	before int32 // the word before it in its cell; -1 for none
}

const (
	printedCell = 8.0 // points
	// printedDepth is how many words of a cell are looked at: a page may heap all of its words in one place.
	printedDepth = 8
)

// isPrinted reports whether the same word stands in the same place already, whatever was printed in between: a line
// may be printed anew after the whole of it. A word that does not is one of the page's from now on.
func (p *printedWords) isPrinted(text string, at box, size float64) bool {
	if at.isEmpty() {
		return false
	}
	near := min(printedOffset*size, printedCell/2)
	home := [2]int32{cellOf(at.x0), cellOf(at.y0)}
	for x := cellOf(at.x0 - near); x <= cellOf(at.x0+near); x++ {
		for y := cellOf(at.y0 - near); y <= cellOf(at.y0+near); y++ {
			if p.isInCell([2]int32{x, y}, text, at, near) {
				return true
			}
		}
	}
	before, ok := p.last[home]
	if !ok {
		before = -1
	}
	p.last[home] = int32(len(p.words))
	p.words = append(p.words, printedWord{text, at, before})
	return false
}

func cellOf(v float64) int32 { return int32(math.Floor(v / printedCell)) }

func (p *printedWords) isInCell(cell [2]int32, text string, at box, near float64) bool {
	i, ok := p.last[cell]
	for n := 0; ok && i >= 0 && n < printedDepth; n++ {
		w := &p.words[i]
		if w.text == text && math.Abs(w.box.x0-at.x0) < near && math.Abs(w.box.x1-at.x1) < near &&
			math.Abs(w.box.y0-at.y0) < near && math.Abs(w.box.y1-at.y1) < near {
			return true
		}
		i = w.before
	}
	return false
}
