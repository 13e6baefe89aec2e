package tesseract

import (
	"cmp"
	"slices"
	"unicode"

	"inkstream.dev/pkg/layout"
)

const (
	// boldRatio is by how much the strokes of a bold word are thicker than those of most words: bold faces have 1.4 to
	// 1.8 times the strokes of their families, and what blurs both brings that down. On 75 generated scans text comes
	// to 0.85 to 1.05, and 68 of 72 headings in bold to 1.15 and more. Between bold words, boldWithin is enough.
	boldRatio, boldWithin = 1.18, 1.07
	// minStrokes is how often a row of pixels meets a stroke of a word at least where those tell how thick they are.
	minStrokes = 16
	// longestStroke is how long a run of ink is at most that is taken across a stroke, in heights of the type: longer
	// ones lie along it.
	longestStroke = 0.3
)

// weighedWord is a word with the thickness of its upright strokes and the size of its type, in pixels.
type weighedWord struct {
	*word
	thickness, size float64
	letters         int
}

// markBold says of words whose strokes are thicker than those of most words that they are bold. Where type is
// larger, its strokes are thicker by as much.
func markBold(r *reader, got *reading) {
	if r.inColumns {
		return
	}
	img := r.img.rotated(got.turn)
	var lines [][]weighedWord
	var all []weighedWord
	for _, l := range got.levelLines() {
		words := make([]weighedWord, len(l.words))
		for i := range l.words {
			words[i] = img.weighWord(&l.words[i], r.below)
			if words[i].letters > 1 && words[i].thickness > 0 {
				all = append(all, words[i])
			}
		}
		lines = append(lines, words)
	}
	if len(all) == 0 {
		return
	}
	usual := medianByLetters(all, func(w weighedWord) float64 { return w.thickness })
	size := medianByLetters(all, func(w weighedWord) float64 { return w.size })
	for _, words := range lines {
		markBoldWords(words, usual, size)
	}
}

// markBoldWords marks the bold words of a line on a page where most words have strokes of that thickness, and type
// of that size. A word that is too short to tell is as the word before it.
func markBoldWords(words []weighedWord, usual, size float64) {
	ratios := make([]float64, len(words))
	for i, w := range words {
		switch {
		case w.thickness > 0:
			ratios[i] = w.thickness / (usual * max(1, w.size/size))
		case i > 0:
			ratios[i] = ratios[i-1]
		}
	}
	isBold := func(i int) bool { return i < 0 || i >= len(ratios) || ratios[i] >= boldRatio }
	for i, w := range words {
		w.bold = isBold(i) || len(words) > 1 && ratios[i] >= boldWithin && isBold(i-1) && isBold(i+1)
	}
}

// weighWord measures the strokes of a word; their thickness is 0 where there are too few of them.
func (g greyImage) weighWord(w *word, below byte) weighedWord {
	out := weighedWord{word: w}
	for _, c := range w.text {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			out.letters++
		}
	}
	x0, y0, x1, y1 := max(w.box[0], 0), max(w.box[1], 0), min(w.box[2], g.width), min(w.box[3], g.height)
	if out.letters == 0 || x0 >= x1 || y0 >= y1 {
		return out
	}
	out.size = layout.RecognisedTypeSize(w.text, float64(y1-y0))
	longest := int(longestStroke*out.size) + 1
	strokes, ink := 0, 0
	for y := y0; y < y1; y++ {
		run := 0
		for _, v := range g.pix[y*g.width+x0 : y*g.width+x1] {
			if v < below {
				run++
				continue
			}
			if run > 0 && run <= longest {
				strokes, ink = strokes+1, ink+run
			}
			run = 0
		}
		if run > 0 && run <= longest {
			strokes, ink = strokes+1, ink+run
		}
	}
	if strokes >= minStrokes {
		out.thickness = float64(ink) / float64(strokes)
	}
	return out
}

// medianByLetters returns the value that half of the letters do not exceed.
func medianByLetters(words []weighedWord, value func(weighedWord) float64) float64 {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b weighedWord) int { return cmp.Compare(value(a), value(b)) })
	all, seen := 0, 0
	for _, w := range words {
		all += w.letters
	}
	for _, w := range words {
		if seen += w.letters; 2*seen >= all {
			return value(w)
		}
	}
	return 0
}
