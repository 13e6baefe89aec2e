package textlayer

import (
	"cmp"
	"math"
	"slices"
)

// alike is how large the smaller of two fonts is, in parts of the larger one, for readers that go by sizes to see one text in both.
const alike = 0.5

// sized is text of the page's own.
type sized struct {
	box  [4]float64
	size float64
}

// tower finds the words that stay in the even face though their line is in the small one: those so tall that the small face gives them about the
// size of text of the page's own that they lie on, which it is meant to tell them from, and the even one does not.
func (t *layer) tower(lines []*line, own []OwnText) {
	var texts []sized
	for _, o := range own {
		if box, ok := t.box(o.Box); ok && o.Size > 0 {
			texts = append(texts, sized{box, o.Size * t.scale()})
		}
	}
	slices.SortFunc(texts, func(a, b sized) int { return cmp.Compare(a.size, b.size) })
	for _, l := range lines {
		for i, w := range l.words {
			if l.face != small || i > 0 && !apart(l.words[i-1], w) || i+1 < len(l.words) && !apart(w, l.words[i+1]) {
				continue
			}
			// Base lines of one line are up to half a size apart.
			size := w.size(even)
			wide := placed{angle: w.angle, from: w.from - gap*size, to: w.to + gap*size, base: w.base - size/2, top: w.top}
			w.tall = w.among(texts, w.size(small)) && !wide.among(texts, size)
		}
	}
}

// among reports whether readers would take the word for a part of one of the texts, which are in the order of their sizes, if it had that size.
func (w *placed) among(texts []sized, size float64) bool {
	first, _ := slices.BinarySearchFunc(texts, alike*size, func(o sized, size float64) int { return cmp.Compare(o.size, size) })
	for _, o := range texts[first:] {
		if alike*o.size > size {
			break
		}
		var under placed
		under.frame(o.box, w.angle)
		if w.from < under.to && under.from < w.to && w.base < under.top && under.base < w.top {
			return true
		}
	}
	return false
}

// apart reports whether two words are told apart in the even face, as they stand beside each other or far over each other.
func apart(a, b *placed) bool {
	if a.angle != b.angle {
		return true
	}
	if a.from > b.from {
		a, b = b, a
	}
	size := math.Max(a.size(even), b.size(even))
	return b.from-a.to >= gap*size || a.to-b.from >= lap*size
}
