package document

import (
	"unicode"

	"golang.org/x/text/width"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WordPartBox returns the box of the bytes [start, end) of a word's text. Only the word's own box is known: the part
// is where characters put it that are as wide as in Chinese and Japanese, in which words are long, or half as wide.
func WordPartBox(line *inkstreamv1.Line, word *inkstreamv1.Word, start, end int) []float32 {
	const longest = 4 << 10 // bytes; of longer ones, which are no text, the parts have the whole's box
	text, box := word.GetText(), word.GetBbox()
	if start == 0 && end == len(text) || len(box) != 4 || len(text) > longest {
		return box
	}
	total := textAdvance(text)
	if total == 0 {
		return box
	}
	from, to := textAdvance(text[:start])/total, textAdvance(text[:end])/total
	x0, y0, x1, y1 := box[0], box[1], box[2], box[3]
	w, h := x1-x0, y1-y0
	switch line.GetAngle() {
	case 90:
		return []float32{x0, y0 + from*h, x1, y0 + to*h}
	case 180:
		return []float32{x1 - to*w, y0, x1 - from*w, y1}
	case 270:
		return []float32{x0, y1 - to*h, x1, y1 - from*h}
	default:
		return []float32{x0 + from*w, y0, x0 + to*w, y1}
	}
}

// textAdvance returns how far a text goes, in the width of a Chinese character.
func textAdvance(text string) float32 {
	var n float32
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.Is(unicode.Mn, r):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n++
		default:
			n += 0.5
		}
	}
	return n
}
