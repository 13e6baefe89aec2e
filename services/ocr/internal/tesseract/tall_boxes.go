package tesseract

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

const (
	// minTallness is by how much the box of a word is higher than the ink in it from which it is not believed.
	minTallness = 1.5
	// minWordLetters is how many areas of ink a word has at least that tell how high it is: fewer may be its
	// neighbours'.
	minWordLetters = 2
)

// trimTallBoxes makes boxes of words as high as the ink in them where they are much higher. On tinted rows of a table
// Tesseract takes the edges of the tint for parts of the letters, and rows are told by how words stand beside each
// other.
func (r *reader) trimTallBoxes(got *reading) {
	height := letterHeight(r.areas)
	if height == 0 || got.skew != 0 || r.inColumns {
		return
	}
	letters := lettersOf(r.turnedAreas(got.turn), height)
	for _, l := range got.levelLines() {
		for i := range l.words {
			if b := l.words[i].box; float64(b[3]-b[1]) > minTallness*height {
				l.words[i].box = trimToLetters(b, letters, utf8.RuneCountInString(l.words[i].text))
			}
		}
	}
}

// trimToLetters returns a word's box, as high as the letters in it, which are sorted from top to bottom, if those are
// much lower and there are as many as the word may have.
func trimToLetters(word box, letters []box, count int) box {
	from, _ := slices.BinarySearchFunc(letters, word[1], func(b box, y int) int { return cmp.Compare(b[1], y) })
	top, bottom, found := word[3], word[1], 0
	for _, b := range letters[from:] {
		if b[1] >= word[3] {
			break
		}
		middle := (b[0] + b[2]) / 2
		if b[3] > word[3] || middle < word[0] || middle >= word[2] || b[2]-b[0] > word[2]-word[0] {
			continue
		}
		top, bottom, found = min(top, b[1]), max(bottom, b[3]), found+1
	}
	if found < minWordLetters || 2*found < count || float64(word[3]-word[1]) < minTallness*float64(bottom-top) {
		return word
	}
	return box{word[0], top, word[2], bottom}
}
