package textlayer

import (
	"cmp"
	"math"
	"slices"
	"unicode"
)

// placedWord is a word in the frame of its line, where text runs along one axis and stands up along the other.
type placedWord struct {
	runes     []rune // as they stand from left to right
	angle     int32  // of the frame on the page as displayed, clockwise
	from, to  float64
	base, top float64
	// start and end are where it is, for from and to to be near them.
	start, end float64
	// usesRegularFace says that it is written in the even face, whatever its line is in.
	usesRegularFace bool
}

const (
	// maxRunes bounds a word; what is longer is no word.
	maxRunes = 1000
	// minCharWidth is how wide characters must be, in parts of the size of their font, to stand side by side: readers
	// take narrower ones for one that is printed twice to look bold.
	minCharWidth = 0.125
)

// placeWord puts a word into the frame of its line; nil if it has no text.
func placeWord(text []rune, box [4]float64, angle int32) *placedWord {
	runes := visualOrder(text)
	if len(runes) == 0 {
		return nil
	}
	w := &placedWord{runes: runes[:min(len(runes), maxRunes)]}
	w.setFrame(box, angle)
	if w.isNarrow() {
		w.setFrame(box, angle+90) // its characters stand one below the other
	}
	return w
}

// setFrame takes the word's box as displayed into a frame.
func (w *placedWord) setFrame(box [4]float64, angle int32) {
	w.angle = angle % 360
	switch w.angle {
	case 90:
		w.from, w.to, w.base, w.top = box[1], box[3], box[0], box[2]
	case 180:
		w.from, w.to, w.base, w.top = -box[2], -box[0], box[1], box[3]
	case 270:
		w.from, w.to, w.base, w.top = -box[3], -box[1], -box[2], -box[0]
	default:
		w.from, w.to, w.base, w.top = box[0], box[2], -box[3], -box[1]
	}
	w.start, w.end = w.from, w.to
}

// displayPoint returns a point of the word's frame as displayed.
func (w *placedWord) displayPoint(along, up float64) (x, y float64) {
	switch w.angle {
	case 90:
		return up, along
	case 180:
		return -along, up
	case 270:
		return -up, -along
	default:
		return along, -up
	}
}

// fontSize is that of the font in which the word is as high as its box.
func (w *placedWord) fontSize(f face) float64 {
	return (w.top - w.base) * unitsPerEm / float64(f.totalHeight())
}

// charPitch is the distance of two characters.
func (w *placedWord) charPitch() float64 { return (w.to - w.from) / float64(len(w.runes)) }

// isNarrow reports whether the characters are too narrow to stand side by side.
func (w *placedWord) isNarrow() bool {
	return len(w.runes) > 1 && w.charPitch() < minCharWidth*w.fontSize(regularFace)
}

// maxShiftPoints is by how many points an edge of a word may be moved for the sake of readers, who take letters for
// words by rules of their own. A word is in its place within two points.
const maxShiftPoints = 1.75

// adjustWords moves edges of the words of a line, as far as reach, so that readers find the same words, in the same
// line. It reports false where they do so only if the words are written in the small face.
func adjustWords(words []*placedWord, reach float64) bool {
	fine := true
	for len(words) > 1 { // those of one frame at a time, nearly always all of them
		var frame, others []*placedWord
		for _, w := range words {
			if w.angle == words[0].angle {
				frame = append(frame, w)
			} else {
				others = append(others, w)
			}
		}
		alignWords(frame, reach)
		before := make([]placedWord, len(frame))
		for i, w := range frame {
			before[i] = *w
		}
		if !separateWords(frame, reach, regularFace) {
			for i, w := range frame {
				*w = before[i]
			}
			separateWords(frame, reach, smallFace)
			fine = false
		}
		words = others
	}
	return fine
}

// alignWords gives the words of a line the same base line and the same height, as far as that goes. Recognised boxes
// are tight: that of a word with a g begins lower than its neighbour's, and readers that go by base lines and sizes
// of fonts see two lines.
func alignWords(words []*placedWord, reach float64) {
	bases, tops := make([]float64, len(words)), make([]float64, len(words))
	for i, w := range words {
		bases[i], tops[i] = w.base, w.top
	}
	base, top := densestValue(bases, reach), densestValue(tops, reach)
	for _, w := range words {
		levelled := *w
		levelled.base, levelled.top = clampWithin(base, w.base, reach), clampWithin(top, w.top, reach)
		if levelled.top-levelled.base >= minExtent && (w.isNarrow() || !levelled.isNarrow()) {
			*w = levelled
		}
	}
}

// densestValue returns the value that the most of the given ones are near, in the middle of them.
func densestValue(values []float64, reach float64) float64 {
	slices.Sort(values)
	first, last := 0, 0
	for i, j := 0, 0; j < len(values); j++ {
		for values[j]-values[i] > 2*reach {
			i++
		}
		if j-i > last-first {
			first, last = i, j
		}
	}
	return (values[first] + values[last]) / 2
}

// clampWithin returns what is nearest to the wanted value within reach of v.
func clampWithin(want, v, reach float64) float64 { return math.Max(v-reach, math.Min(want, v+reach)) }

const (
	// minWordGap is how far words are to be apart, in parts of the size of their font, for readers not to join them.
	// They go by distances, even where a blank is written in between.
	minWordGap = 0.16
	// minWordOverlap is how far words are to overlap for readers not to join them either: they take these for words of
	// two lines.
	minWordOverlap = 0.52
)

// separateWords sets words apart that stand close to one another or overlap a little. It reports whether that is so
// of all. Those that overlap too much for it readers take for words of two lines, or are made to.
func separateWords(words []*placedWord, reach float64, f face) bool {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b *placedWord) int { return cmp.Compare(a.from, b.from) })
	fine := true
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		now := b.from - a.to
		lack := minWordGap*math.Max(a.fontSize(f), b.fontSize(f)) - now
		if lack <= 0 {
			continue
		}
		ofA, ofB := math.Min(reach-(a.end-a.to), a.maxTrim(f)), math.Min(reach-(b.from-b.start), b.maxTrim(f))
		left := math.Min(ofA, math.Max(lack/2, lack-ofB))
		right := math.Min(ofB, lack-left)
		joinable := isUnspacedScript(a.runes[len(a.runes)-1]) && isUnspacedScript(b.runes[0])
		if now+left+right > 0 {
			a.to -= left
			b.from += right
		} else if !joinable {
			extendOverlap(a, b, reach, f)
		}
		fine = fine && (left+right >= lack || joinable)
	}
	return fine
}

// extendOverlap moves the ends of two words that overlap further over each other, where reach is enough for readers
// to see words of two lines in them.
func extendOverlap(a, b *placedWord, reach float64, f face) {
	lack := minWordOverlap*math.Max(a.fontSize(f), b.fontSize(f)) - (a.to - b.from)
	// Neither is to reach beyond the other.
	ofA, ofB := math.Min(reach-(a.to-a.end), math.Max(0, b.to-a.to)), math.Min(reach-(b.start-b.from), b.from-a.from)
	if lack <= 0 || lack > ofA+ofB {
		return
	}
	left := math.Max(lack-ofA, math.Min(ofB, lack/2))
	b.from -= left
	a.to += lack - left
}

// maxWordGap is how far words may be apart, in parts of the size of their font, for readers to see one line in them.
const maxWordGap = 0.95

// closeGaps draws words of a line together that stand too far apart for the size of a face, where reach is enough for
// it.
func closeGaps(words []*placedWord, reach float64, f face) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b *placedWord) int {
		return cmp.Or(cmp.Compare(a.angle, b.angle), cmp.Compare(a.from, b.from))
	})
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		excess := b.from - a.to - maxWordGap*math.Min(a.fontSize(f), b.fontSize(f))
		if a.angle == b.angle && !a.usesRegularFace && !b.usesRegularFace && excess > 0 && excess <= 2*reach {
			a.to += excess / 2
			b.from -= excess / 2
		}
	}
}

// isUnspacedScript reports whether a character belongs to a script in which no blank parts words: joined, they read
// as they are meant to.
func isUnspacedScript(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// maxTrim is how much a word can be cut at one end, and at the other as well.
func (w *placedWord) maxTrim(f face) float64 {
	shortest := minExtent
	if n := len(w.runes); n > 1 {
		shortest = math.Max(minExtent, minCharWidth*w.fontSize(f)*float64(n))
	}
	return math.Max(0, (w.to-w.from-shortest)/2)
}

// visualOrder returns the characters of a word in the order in which they stand from left to right, as PDFs hold
// them: readers turn scripts that run from right to left around again. What takes up no room is left out, so the
// marks of direction that recognition puts into such lines.
func visualOrder(r []rune) []rune {
	r = slices.DeleteFunc(r, func(c rune) bool {
		return unicode.IsControl(c) || unicode.IsSpace(c) || unicode.Is(unicode.Bidi_Control, c)
	})
	if !slices.ContainsFunc(r, isRightToLeft) {
		return r
	}
	slices.Reverse(r)
	// Numbers and words of other scripts within it, and what parts them, keep their own direction.
	for i := 0; i < len(r); i++ {
		if !isLeftToRight(r[i]) {
			continue
		}
		end := i + 1
		for j := end; j < len(r) && !isRightToLeft(r[j]); j++ {
			if isLeftToRight(r[j]) {
				end = j + 1
			}
		}
		slices.Reverse(r[i:end])
		i = end
	}
	return r
}

func isRightToLeft(c rune) bool {
	return (c >= 0x590 && c < 0x900 && !unicode.IsDigit(c)) || (c >= 0xFB1D && c < 0xFE00) ||
		(c >= 0xFE70 && c < 0xFF00) ||
		(c >= 0x10800 && c < 0x11000) || (c >= 0x1E800 && c < 0x1F000)
}

func isLeftToRight(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !isRightToLeft(c)
}

// addDirectionMarks returns the characters of words that run together from left to right, in a line that runs from
// right to left: with marks where the first or the last word ends in what says nothing of its direction. Readers
// would take a number or a full stop together with the blank beyond it, and part brackets from what is in them.
func addDirectionMarks(r []rune, first, last bool) []rune {
	r = slices.Clone(r)
	if end := len(r) - 1; last && !slices.ContainsFunc(r, isRightToLeft) && !isLeftToRight(r[end]) {
		r[end] |= marksRight
	}
	if first && (!isRightToLeft(r[0]) || unicode.IsPunct(r[0])) {
		r[0] |= marksLeft
	}
	return r
}
