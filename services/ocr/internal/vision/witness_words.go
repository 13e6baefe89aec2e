package vision

import (
	"slices"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// witnessWords are the words that the witness reads, as they stand on the upright page and in its order.
type witnessWords struct {
	all    []agree.Word
	lines  []int // the line of each
	angles []int32
}

// newWitnessWords puts the words of the witness's page upright.
func newWitnessWords(page *inkstreamv1.Page) witnessWords {
	var k witnessWords
	line := 0
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				box := turnBox(agree.Box(w.GetBbox()), page.GetWidth(), page.GetHeight(), page.GetUprightRotation())
				k.all = append(k.all, agree.Word{Text: w.GetText(), Box: box, Confidence: w.GetConfidence()})
				k.lines, k.angles = append(k.lines, line), append(k.angles, l.GetAngle())
			}
			line++
		}
	}
	return k
}

// insertLine takes up the words of a line that the witness is sure of, and reports whether there are any.
func (k *witnessWords) insertLine(l *inkstreamv1.Line, from crop) bool {
	line := 0
	for _, other := range k.lines {
		line = max(line, other+1)
	}
	at, found := -1, false
	for _, w := range l.GetWords() {
		box := w.GetBbox()
		if w.GetConfidence() < minUnreadConfidence || len(box) != 4 || agree.NormaliseWord(w.GetText()) == "" {
			continue
		}
		word := agree.Word{Text: w.GetText(), Confidence: w.GetConfidence(),
			Box: agree.Box{box[0] + from.x, box[1] + from.y, box[2] + from.x, box[3] + from.y}}
		if at < 0 {
			at = k.placeFor(word.Box)
		}
		k.all, k.lines = slices.Insert(k.all, at, word), slices.Insert(k.lines, at, line)
		k.angles = slices.Insert(k.angles, at, l.GetAngle())
		at, found = at+1, true
	}
	return found
}

// placeFor returns where among the words one in a box belongs: behind the one to its left on its line, or else behind the
// nearest line above.
func (k *witnessWords) placeFor(b agree.Box) int {
	left, above := -1, -1
	for i, w := range k.all {
		middle := (w.Box[1] + w.Box[3]) / 2
		switch {
		case middle > b[1] && middle < b[3] && w.Box[2] <= b[0]+1:
			if left < 0 || w.Box[2] > k.all[left].Box[2] {
				left = i
			}
		case w.Box[3] <= (b[1]+b[3])/2:
			if above < 0 || w.Box[3] >= k.all[above].Box[3] {
				above = i
			}
		}
	}
	if left >= 0 {
		return left + 1
	}
	return above + 1
}
