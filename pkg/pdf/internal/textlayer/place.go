package textlayer

import (
	"cmp"
	"math"
	"slices"
	"unicode"
)

// placed is a word in the frame of its line, where text runs along one axis and stands up along the other.
type placed struct {
	runes     []rune // as they stand from left to right
	angle     int32  // of the frame on the page as displayed, clockwise
	from, to  float64
	base, top float64
	// start and end are where it is, for from and to to be near them.
	start, end float64
	// tall says that it is written in the even face, whatever its line is in.
	tall bool
}

const (
	// maxRunes bounds a word; what is longer is no word.
	maxRunes = 1000
	// narrowest is how wide characters must be, in parts of the size of their font, to stand side by side: readers take narrower ones for one
	// that is printed twice to look bold.
	narrowest = 0.125
)

// place puts a word into the frame of its line; nil if it has no text.
func place(text []rune, box [4]float64, angle int32) *placed {
	runes := visual(text)
	if len(runes) == 0 {
		return nil
	}
	w := &placed{runes: runes[:min(len(runes), maxRunes)]}
	w.frame(box, angle)
	if w.narrow() {
		w.frame(box, angle+90) // its characters stand one below the other
	}
	return w
}

// frame takes the word's box as displayed into a frame.
func (w *placed) frame(box [4]float64, angle int32) {
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

// point returns a point of the word's frame as displayed.
func (w *placed) point(along, up float64) (x, y float64) {
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

// size is that of the font in which the word is as high as its box.
func (w *placed) size(f face) float64 { return (w.top - w.base) * unitsPerEm / float64(f.height()) }

// pitch is the distance of two characters.
func (w *placed) pitch() float64 { return (w.to - w.from) / float64(len(w.runes)) }

// narrow reports whether the characters are too narrow to stand side by side.
func (w *placed) narrow() bool { return len(w.runes) > 1 && w.pitch() < narrowest*w.size(even) }

// slack is by how many points an edge of a word may be moved for the sake of readers, who take letters for words by rules of their own. A word
// is in its place within two points.
const slack = 1.75

// adjust moves edges of the words of a line, as far as reach, so that readers find the same words, in the same line. It reports false where
// they do so only if the words are written in the small face.
func adjust(words []*placed, reach float64) bool {
	fine := true
	for len(words) > 1 { // those of one frame at a time, nearly always all of them
		var frame, others []*placed
		for _, w := range words {
			if w.angle == words[0].angle {
				frame = append(frame, w)
			} else {
				others = append(others, w)
			}
		}
		level(frame, reach)
		before := make([]placed, len(frame))
		for i, w := range frame {
			before[i] = *w
		}
		if !part(frame, reach, even) {
			for i, w := range frame {
				*w = before[i]
			}
			part(frame, reach, small)
			fine = false
		}
		words = others
	}
	return fine
}

// level gives the words of a line the same base line and the same height, as far as that goes. Recognised boxes are tight: that of a word with
// a g begins lower than its neighbour's, and readers that go by base lines and sizes of fonts see two lines.
func level(words []*placed, reach float64) {
	bases, tops := make([]float64, len(words)), make([]float64, len(words))
	for i, w := range words {
		bases[i], tops[i] = w.base, w.top
	}
	base, top := shared(bases, reach), shared(tops, reach)
	for _, w := range words {
		levelled := *w
		levelled.base, levelled.top = near(base, w.base, reach), near(top, w.top, reach)
		if levelled.top-levelled.base >= least && (w.narrow() || !levelled.narrow()) {
			*w = levelled
		}
	}
}

// shared returns the value that the most of the given ones are near, in the middle of them.
func shared(values []float64, reach float64) float64 {
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

// near returns what is nearest to the wanted value within reach of v.
func near(want, v, reach float64) float64 { return math.Max(v-reach, math.Min(want, v+reach)) }

const (
	// gap is how far words are to be apart, in parts of the size of their font, for readers not to join them. They go by distances, even where a
	// blank is written in between.
	gap = 0.16
	// lap is how far words are to overlap for readers not to join them either: they take these for words of two lines.
	lap = 0.52
)

// part sets words apart that stand close to one another or overlap a little. It reports whether that is so of all. Those that overlap too much for it
// readers take for words of two lines, or are made to.
func part(words []*placed, reach float64, f face) bool {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b *placed) int { return cmp.Compare(a.from, b.from) })
	fine := true
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		now := b.from - a.to
		lack := gap*math.Max(a.size(f), b.size(f)) - now
		if lack <= 0 {
			continue
		}
		ofA, ofB := math.Min(reach-(a.end-a.to), a.spare(f)), math.Min(reach-(b.from-b.start), b.spare(f))
		left := math.Min(ofA, math.Max(lack/2, lack-ofB))
		right := math.Min(ofB, lack-left)
		joinable := unspaced(a.runes[len(a.runes)-1]) && unspaced(b.runes[0])
		if now+left+right > 0 {
			a.to -= left
			b.from += right
		} else if !joinable {
			overlap(a, b, reach, f)
		}
		fine = fine && (left+right >= lack || joinable)
	}
	return fine
}

// overlap moves the ends of two words that overlap further over each other, where reach is enough for readers to see words of two lines in them.
func overlap(a, b *placed, reach float64, f face) {
	lack := lap*math.Max(a.size(f), b.size(f)) - (a.to - b.from)
	// Neither is to reach beyond the other.
	ofA, ofB := math.Min(reach-(a.to-a.end), math.Max(0, b.to-a.to)), math.Min(reach-(b.start-b.from), b.from-a.from)
	if lack <= 0 || lack > ofA+ofB {
		return
	}
	left := math.Max(lack-ofA, math.Min(ofB, lack/2))
	b.from -= left
	a.to += lack - left
}

// widest is how far words may be apart, in parts of the size of their font, for readers to see one line in them.
const widest = 0.95

// draw draws words of a line together that stand too far apart for the size of a face, where reach is enough for it.
func draw(words []*placed, reach float64, f face) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b *placed) int { return cmp.Or(cmp.Compare(a.angle, b.angle), cmp.Compare(a.from, b.from)) })
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		excess := b.from - a.to - widest*math.Min(a.size(f), b.size(f))
		if a.angle == b.angle && !a.tall && !b.tall && excess > 0 && excess <= 2*reach {
			a.to += excess / 2
			b.from -= excess / 2
		}
	}
}

// unspaced reports whether a character belongs to a script in which no blank parts words: joined, they read as they are meant to.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// spare is how much a word can be cut at one end, and at the other as well.
func (w *placed) spare(f face) float64 {
	shortest := least
	if n := len(w.runes); n > 1 {
		shortest = math.Max(least, narrowest*w.size(f)*float64(n))
	}
	return math.Max(0, (w.to-w.from-shortest)/2)
}

// visual returns the characters of a word in the order in which they stand from left to right, as PDFs hold them: readers turn scripts that
// run from right to left around again. What takes up no room is left out, so the marks of direction that recognition puts into such lines.
func visual(r []rune) []rune {
	r = slices.DeleteFunc(r, func(c rune) bool {
		return unicode.IsControl(c) || unicode.IsSpace(c) || unicode.Is(unicode.Bidi_Control, c)
	})
	if !slices.ContainsFunc(r, rightToLeft) {
		return r
	}
	slices.Reverse(r)
	// Numbers and words of other scripts within it, and what parts them, keep their own direction.
	for i := 0; i < len(r); i++ {
		if !leftToRight(r[i]) {
			continue
		}
		end := i + 1
		for j := end; j < len(r) && !rightToLeft(r[j]); j++ {
			if leftToRight(r[j]) {
				end = j + 1
			}
		}
		slices.Reverse(r[i:end])
		i = end
	}
	return r
}

func rightToLeft(c rune) bool {
	return (c >= 0x590 && c < 0x900 && !unicode.IsDigit(c)) || (c >= 0xFB1D && c < 0xFE00) || (c >= 0xFE70 && c < 0xFF00) ||
		(c >= 0x10800 && c < 0x11000) || (c >= 0x1E800 && c < 0x1F000)
}

func leftToRight(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !rightToLeft(c)
}

// directed returns the characters of words that run together from left to right, in a line that runs from right to left: with marks where the first
// or the last word ends in what says nothing of its direction. Readers would take a number or a full stop together with the blank beyond it, and
// part brackets from what is in them.
func directed(r []rune, first, last bool) []rune {
	r = slices.Clone(r)
	if end := len(r) - 1; last && !slices.ContainsFunc(r, rightToLeft) && !leftToRight(r[end]) {
		r[end] |= marksRight
	}
	if first && (!rightToLeft(r[0]) || unicode.IsPunct(r[0])) {
		r[0] |= marksLeft
	}
	return r
}
