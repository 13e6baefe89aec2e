package textlayer

import (
	"cmp"
	"math"
	"slices"
)

// sizeRatio is how large the smaller of two fonts is, in parts of the larger one, for readers that go by sizes to see
// one text in both.
const sizeRatio = 0.5

// sizedText is text of the page's own.
type sizedText struct {
	box  [4]float64
	size float64
}

// keepTallWords finds the words that stay in the even face though their line is in the small one: those so tall that
// the small face gives them about the size of text of the page's own that they lie on, which it is meant to tell them
// from, and the even one does not.
func (t *textLayer) keepTallWords(lines []*textLine, own []OwnText) {
	var texts []sizedText
	for _, o := range own {
		if box, ok := t.toPageBox(o.Box); ok && o.Size > 0 {
			texts = append(texts, sizedText{box, o.Size * t.unitsPerPoint()})
		}
	}
	slices.SortFunc(texts, func(a, b sizedText) int { return cmp.Compare(a.size, b.size) })
	for _, l := range lines {
		for i, w := range l.words {
			if l.face != smallFace || i > 0 && !areSeparate(l.words[i-1], w) || i+1 < len(l.words) &&
				!areSeparate(w, l.words[i+1]) {
				continue
			}
			// Base lines of one line are up to half a size apart.
			size := w.fontSize(regularFace)
			wide := placedWord{angle: w.angle, from: w.from - minWordGap*size, to: w.to + minWordGap*size,
				base: w.base - size/2, top: w.top}
			w.usesRegularFace = w.mergesWith(texts, w.fontSize(smallFace)) && !wide.mergesWith(texts, size)
		}
	}
}

// mergesWith reports whether readers would take the word for a part of one of the texts, which are in the order of
// their sizes, if it had that size.
func (w *placedWord) mergesWith(texts []sizedText, size float64) bool {
	first, _ := slices.BinarySearchFunc(texts, sizeRatio*size,
		func(o sizedText, size float64) int { return cmp.Compare(o.size, size) })
	for _, o := range texts[first:] {
		if sizeRatio*o.size > size {
			break
		}
		var under placedWord
		under.setFrame(o.box, w.angle)
		if w.from < under.to && under.from < w.to && w.base < under.top && under.base < w.top {
			return true
		}
	}
	return false
}

// areSeparate reports whether two words are told apart in the even face, as they stand beside each other or far over
// each other.
func areSeparate(a, b *placedWord) bool {
	if a.angle != b.angle {
		return true
	}
	if a.from > b.from {
		a, b = b, a
	}
	size := math.Max(a.fontSize(regularFace), b.fontSize(regularFace))
	return b.from-a.to >= minWordGap*size || a.to-b.from >= minWordOverlap*size
}
