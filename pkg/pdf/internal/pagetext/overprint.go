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

// printedWords are the words of a page, found by where they begin.
type printedWords struct {
	words []printedWord
	last  [printedBuckets]int32 // bucket to the word that came last in it, plus 1
}

type printedWord struct {
	text   string
	box    box
	before int32 // the word before it in its bucket, plus 1
}

const (
	printedCell    = 8.0 // points
	printedBuckets = 1 << 11
	// printedDepth is how many words of a bucket are looked at: a page may heap all of its words in one place.
	printedDepth = 16
)

// isPrinted reports whether the same word stands in the same place already, whatever was printed in between: a line
// may be printed again after the whole of it. A word that does not is one of the page's from now on.
func (p *printedWords) isPrinted(text string, at box, size float64) bool {
	if !(at.x1 > at.x0 && at.y1 > at.y0) {
		return false // words without a place have none in common
	}
	near := min(printedOffset*size, printedCell/2)
	for x := cellOf(at.x0 - near); x <= cellOf(at.x0+near); x++ {
		for y := cellOf(at.y0 - near); y <= cellOf(at.y0+near); y++ {
			if p.isInBucket(bucketOf(x, y), text, at, near) {
				return true
			}
		}
	}
	home := bucketOf(cellOf(at.x0), cellOf(at.y0))
	p.words = append(p.words, printedWord{text, at, p.last[home]})
	p.last[home] = int32(len(p.words))
	return false
}

func cellOf(v float64) int32 { return int32(math.Floor(v / printedCell)) }

func bucketOf(x, y int32) int { return int(uint32(x+211*y) % printedBuckets) }

func (p *printedWords) isInBucket(bucket int, text string, at box, near float64) bool {
	i := p.last[bucket]
	for n := 0; i > 0 && n < printedDepth; n++ {
		w := &p.words[i-1]
		if math.Abs(w.box.x0-at.x0) < near && math.Abs(w.box.x1-at.x1) < near && math.Abs(w.box.y0-at.y0) < near &&
			math.Abs(w.box.y1-at.y1) < near && w.text == text {
			return true
		}
		i = w.before
	}
	return false
}
