package layout

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minDropCapSize is how many times as large as the text next to it a capital is that begins a paragraph, and takes
	// the beginnings of two lines or more.
	minDropCapSize = 1.8
	// maxDropCapGap is how far, in ems, those lines are from it at most.
	maxDropCapGap = 1.2
	// maxDropCaps bounds the capitals of a page that are looked at.
	maxDropCaps = 64
)

// joinDropCaps puts the large capitals with which paragraphs begin to the words that they are the first letters of. It
// changes lines, and returns those that are left.
func joinDropCaps(lines []inputLine) []inputLine {
	em, seen := 0.0, 0
	for i := range lines {
		if !holdsCapitals(lines[i]) {
			continue
		}
		if em == 0 {
			em = medianTypeSize(lines, 0)
		}
		var left []*inkstreamv1.Word
		for _, w := range lines[i].words {
			target := -1
			if wordTypeSize(w, rectFromBox(w.GetBbox())) >= minDropCapSize*em && seen < maxDropCaps {
				seen++
				target = findDropCapLine(lines, i, w, em)
			}
			if target < 0 {
				left = append(left, w)
				continue
			}
			lines[target].words = joinDropCap(w, lines[target].words, lines)
		}
		lines[i].words = left
	}
	if seen == 0 {
		return lines
	}
	return slices.DeleteFunc(lines, func(l inputLine) bool { return len(l.words) == 0 })
}

// holdsCapitals reports whether a line is nothing but a capital, with an opening quotation mark perhaps, or several:
// those of paragraphs in columns side by side may have come as one line.
func holdsCapitals(line inputLine) bool {
	if len(line.words) == 0 || line.angle != 0 {
		return false
	}
	return !slices.ContainsFunc(line.words, func(w *inkstreamv1.Word) bool {
		text := strings.TrimLeft(w.GetText(), "\"'“„«‘‚")
		letter, size := utf8.DecodeRuneInString(text)
		return w.Confidence != nil || size == 0 || size < len(text) || !unicode.IsUpper(letter)
	})
}

// findDropCapLine returns the line that a large capital of line at begins: the first of two or more at its right; -1
// if there is none.
func findDropCapLine(lines []inputLine, at int, capital *inkstreamv1.Word, em float64) int {
	letter := rectFromBox(capital.GetBbox())
	best, top, beside := -1, math.Inf(1), 0
	for i := range lines {
		if i == at || len(lines[i].words) == 0 || lines[i].angle != 0 {
			continue
		}
		b := rectFromBox(lines[i].words[0].GetBbox())
		gap := b.x0 - letter.x1
		if gap < -0.3*em || gap > maxDropCapGap*em || b.centerY() < letter.y0-0.5*em || b.centerY() > letter.y1+0.2*em ||
			b.height()*minDropCapSize > max(letter.height(), float64(capital.GetSize())) {
			continue
		}
		beside++
		if b.y0 < top {
			best, top = i, b.y0
		}
	}
	if beside < 2 || math.Abs(top-letter.y0) > 0.8*em {
		return -1
	}
	return best
}

// joinDropCap returns the words of a line with the capital that it begins with: as the first letter of its first word,
// or as a word by itself where the page has the other letters elsewhere as a word of their own, and not the whole.
func joinDropCap(letter *inkstreamv1.Word, words []*inkstreamv1.Word, lines []inputLine) []*inkstreamv1.Word {
	first := words[0]
	box, at := rectFromBox(letter.GetBbox()), rectFromBox(first.GetBbox())
	whole, rest := wordKey(letter.GetText()+first.GetText()), wordKey(first.GetText())
	hasWhole, hasRest := false, false
	for _, line := range lines {
		for _, w := range line.words {
			key := wordKey(w.GetText())
			hasWhole, hasRest = hasWhole || key == whole, hasRest || w != first && key == rest
		}
	}
	isWord := strings.ContainsAny(letter.GetText(), "AÀEIOÓUY") && hasRest && !hasWhole
	if r := firstRune(first.GetText()); isWord || !unicode.IsLetter(r) && r != '\'' && r != '’' {
		letter.Bbox = rect{box.x0, at.y0, min(box.x1, at.x0), at.y1}.toBox()
		return append([]*inkstreamv1.Word{letter}, words...)
	}
	first.Text = letter.GetText() + first.GetText()
	first.Bbox = rect{box.x0, at.y0, at.x1, at.y1}.toBox()
	return words
}

// wordKey returns a word as it may stand in the middle of a sentence.
func wordKey(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
}
