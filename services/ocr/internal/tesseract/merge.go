package tesseract

import (
	"slices"
	"unicode/utf8"
)

const (
	// minLayoutGain is by how much one reading must be better than another to be taken for the layout of the page.
	minLayoutGain = 1.5
	// minLineGain is by how much a line must be surer to be taken from the other reading.
	minLineGain = 0.02
	// minSharedBox is the share of the smaller box that two boxes of one line have in common at least, along and
	// across.
	minSharedBox = 0.6
	// minNewLineConfidence is the least confidence of a line that only the other reading has.
	minNewLineConfidence = 0.6
)

// mergeReadings makes one reading of two of the same image: the layout of the one that found more, and each line from
// the one that was surer of it.
func mergeReadings(a, b reading) reading {
	if b.legibilityScore() > minLayoutGain*a.legibilityScore() {
		a, b = b, a
	}
	others := b.placedLines()
	taken := make([]bool, len(others))
	for _, l := range a.placedLines() {
		match, count := -1, 0
		for i, o := range others {
			if l.bounds.overlaps(o.bounds) {
				taken[i] = true
				if l.bounds.nearlyEquals(o.bounds) {
					match = i
				}
				count++
			}
		}
		if count == 1 && match >= 0 && others[match].line.angle == l.line.angle &&
			others[match].meanConfidence() > l.meanConfidence()+minLineGain {
			l.line.words = others[match].line.words
		}
	}
	for i, o := range others {
		if !taken[i] && o.meanConfidence() >= minNewLineConfidence && o.characterCount() > 2 {
			a.insertLines(o)
		}
	}
	a.confidence = a.meanConfidence()
	return a
}

// placedLine is a line and the box around its words.
type placedLine struct {
	line   *line
	bounds box
}

// placedLines returns the lines with words.
func (r *reading) placedLines() []placedLine {
	var out []placedLine
	for i := range r.blocks {
		for j := range r.blocks[i].lines {
			if l := &r.blocks[i].lines[j]; len(l.words) > 0 {
				p := placedLine{l, l.words[0].box}
				for _, w := range l.words[1:] {
					p.bounds = p.bounds.union(w.box)
				}
				out = append(out, p)
			}
		}
	}
	return out
}

func (p placedLine) characterCount() int {
	n := 0
	for _, w := range p.line.words {
		n += utf8.RuneCountInString(w.text)
	}
	return n
}

func (p placedLine) meanConfidence() float64 {
	sum := 0.0
	for _, w := range p.line.words {
		sum += float64(w.confidence) * float64(utf8.RuneCountInString(w.text))
	}
	return sum / float64(max(1, p.characterCount()))
}

// insertLines adds lines as a block of their own, before the first block that begins below the first of them.
func (r *reading) insertLines(lines ...placedLine) {
	at := slices.IndexFunc(r.blocks, func(b block) bool {
		for _, l := range b.lines {
			if len(l.words) > 0 {
				return l.words[0].box[1] > lines[0].bounds[1]
			}
		}
		return false
	})
	if at < 0 {
		at = len(r.blocks)
	}
	var added block
	for _, p := range lines {
		added.lines = append(added.lines, *p.line)
	}
	r.blocks = slices.Insert(r.blocks, at, added)
}

func (b box) union(o box) box {
	return box{min(b[0], o[0]), min(b[1], o[1]), max(b[2], o[2]), max(b[3], o[3])}
}

// overlaps reports whether two lines touch by more than the tips of their letters.
func (b box) overlaps(o box) bool {
	across := min(b[2], o[2]) - max(b[0], o[0])
	down := min(b[3], o[3]) - max(b[1], o[1])
	return across > 0 && down*3 > min(b[3]-b[1], o[3]-o[1])
}

// nearlyEquals reports whether two boxes are nearly one.
func (b box) nearlyEquals(o box) bool {
	across := min(b[2], o[2]) - max(b[0], o[0])
	down := min(b[3], o[3]) - max(b[1], o[1])
	return float64(across) >= minSharedBox*float64(max(b[2]-b[0], o[2]-o[0])) &&
		float64(down) >= minSharedBox*float64(min(b[3]-b[1], o[3]-o[1]))
}
