package tesseract

/*
#include <stdlib.h>
#include <tesseract/capi.h>
*/
import "C"

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// symbol is a character as it was read, and where it stands along its line, in pixels.
type symbol struct {
	text       string
	from, to   int
	confidence float32
}

const (
	// certainConfidence is the confidence from which a character is no echo, nor has one. Of those on the corpus's
	// pages in Chinese, Japanese and Korean three in a thousand are below it.
	certainConfidence = 0.96
	// minConfidenceGain is by how much another reading of a character must be surer than the first.
	minConfidenceGain = 0.02
	// minSquarePairs is how many pairs of neighbours tell how wide the squares of a line are.
	minSquarePairs = 6
)

// lineSymbols returns the characters of the line that the iterator is at the beginning of.
func lineSymbols(it *C.TessResultIterator) []symbol {
	walk := C.TessResultIteratorCopy(it)
	if walk == nil {
		return nil
	}
	defer C.TessResultIteratorDelete(walk)
	at := C.TessResultIteratorGetPageIterator(walk)
	var out []symbol
	for {
		text := C.TessResultIteratorGetUTF8Text(walk, C.RIL_SYMBOL)
		if text != nil {
			var x0, y0, x1, y1 C.int
			C.TessPageIteratorBoundingBox(at, C.RIL_SYMBOL, &x0, &y0, &x1, &y1)
			s := symbol{text: strings.ToValidUTF8(C.GoString(text), "\uFFFD"), from: int(x0), to: int(x1)}
			s.confidence = float32(C.TessResultIteratorConfidence(walk, C.RIL_SYMBOL)) / 100
			out = append(out, s)
			C.TessDeleteText(text)
		}
		if C.TessResultIteratorNext(walk, C.RIL_SYMBOL) == C.FALSE ||
			C.TessPageIteratorIsAtBeginningOf(at, C.RIL_TEXTLINE) != C.FALSE {
			return out
		}
	}
}

// findDuplicates tells which characters are echoes. The recogniser slides along a line, and may give two or three
// readings of one character one after the other where it wavers between them. Characters of Chinese, Japanese and
// Korean stand in squares of one width: of two whose middles are less than half a square apart there is room for one.
// Their places are but estimates, so that it has to be unsure of one of the two as well.
func findDuplicates(symbols []symbol) []bool {
	out := make([]bool, len(symbols))
	half := squareWidth(symbols) / 2
	kept := 0 // the reading to keep of the character in hand
	for i := 1; i < len(symbols); i++ {
		a, b := symbols[i-1], symbols[i]
		apart := b.centre() - a.centre()
		if !a.fillsSquare() || !b.fillsSquare() || apart < 0 || apart >= half ||
			min(a.confidence, b.confidence) >= certainConfidence {
			kept = i
			continue
		}
		if b.confidence > symbols[kept].confidence+minConfidenceGain {
			out[kept], kept = true, i
		} else {
			out[i] = true
		}
	}
	return out
}

// squareWidth returns the usual distance of neighbours; 0 where there are too few to tell.
func squareWidth(symbols []symbol) float64 {
	steps := make([]float64, 0, len(symbols))
	for i := 1; i < len(symbols); i++ {
		if a, b := symbols[i-1], symbols[i]; a.fillsSquare() && b.fillsSquare() {
			steps = append(steps, b.centre()-a.centre())
		}
	}
	if len(steps) < minSquarePairs {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

func (s symbol) centre() float64 { return float64(s.from+s.to) / 2 }

// fillsSquare reports whether a character fills a square.
func (s symbol) fillsSquare() bool {
	r, _ := utf8.DecodeRuneInString(s.text)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// dropDuplicates takes the echoes among the symbols of the line out of its words. Where the words are not made of
// those symbols, nothing is done.
func (l *line) dropDuplicates(symbols []symbol) {
	echo := findDuplicates(symbols)
	if !slices.Contains(echo, true) {
		return
	}
	texts := make([]string, len(l.words))
	next := 0
	for i, w := range l.words {
		for rest := w.text; rest != ""; next++ {
			if next == len(symbols) || symbols[next].text == "" || !strings.HasPrefix(rest, symbols[next].text) {
				return
			}
			if !echo[next] {
				texts[i] += symbols[next].text
			}
			rest = rest[len(symbols[next].text):]
		}
	}
	for i, text := range texts {
		l.words[i].text = text
	}
	l.words = slices.DeleteFunc(l.words, func(w word) bool { return w.text == "" })
}
