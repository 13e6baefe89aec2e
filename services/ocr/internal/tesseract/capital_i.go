package tesseract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// bar is what Tesseract reads in the place of the letter I of faces without serifs.
	bar = "|"
	// maxBars bounds what is looked at: a page with more has rulings.
	maxBars = 500
)

// useCapitalI writes the letter I for bars that are as high as the higher letters of their line and stand on it: a
// printed bar goes a fifth of their height below the line, and rulings go further.
func (r *reader) useCapitalI(got *reading) {
	if r.inColumns {
		return
	}
	var areas []box // looked for once there is a bar
	bars := 0
	for i := range got.blocks {
		for j := range got.blocks[i].lines {
			l := &got.blocks[i].lines[j]
			for k := range l.words {
				if l.angle != 0 || !isBarOfText(l.words, k) {
					continue
				}
				if bars++; bars > maxBars {
					return
				}
				if areas == nil {
					findAreas(r)
					areas = r.turnedAreas(got.turn)
				}
				if isCapitalI(l.words[k].box, areas, got.skew) {
					l.words[k].text = "I" + strings.TrimPrefix(l.words[k].text, bar)
				}
			}
		}
	}
}

// isBarOfText reports whether a word is a bar, or begins with one before an apostrophe or a mark, and stands beside a
// word of letters.
func isBarOfText(words []word, k int) bool {
	rest, found := strings.CutPrefix(words[k].text, bar)
	if first, _ := utf8.DecodeRuneInString(rest); !found || strings.Contains(rest, bar) ||
		rest != "" && !strings.ContainsRune("'’.,;:!?)", first) {
		return false
	}
	return slices.ContainsFunc(words[max(0, k-1):min(len(words), k+2)], func(w word) bool {
		return utf8.RuneCountInString(w.text) > 1 && strings.ContainsFunc(w.text, unicode.IsLower)
	})
}

// isCapitalI reports whether the ink of a bar is one upright stroke that stands on the line of the letters around it,
// some of which are as high as it.
func isCapitalI(at box, areas []box, skew float64) bool {
	const widest, offset, near = 0.4, 0.1, 7 // of its height
	high := float64(at[3] - at[1])
	var b box // the only stroke
	strokes := 0
	for _, o := range areas {
		if w, h := float64(o[2]-o[0]), float64(o[3]-o[1]); o.overlaps(at) && float64(o[0]-at[0]) <= high/2 && w <= widest*h && h >= high/2 && h <= 1.1*high {
			b, strokes = o, strokes+1
		}
	}
	if strokes != 1 {
		return false
	}
	high = float64(b[3] - b[1])
	smallHeight := high / 1.4
	place := box{b[0] - int(near*high), b[1] - int(high/2), b[2] + int(near*high), b[3] + int(high/2)}
	baseline, found := findBaseline(b, place, areas, smallHeight, skew)
	if off := float64(b[3]) - baseline; !found || max(off, -off) > max(1, offset*high) {
		return false
	}
	return slices.ContainsFunc(areas, func(o box) bool {
		taller := float64(o[3]-o[1]) - high
		return o != b && o[0] >= place[0] && o[2] <= place[2] && o.overlaps(box{place[0], b[1], place[2], b[3]}) &&
			max(taller, -taller) <= max(1, 1.5*offset*high)
	})
}
