package layout

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A recogniser's boxes are as tight as the ink, so that their heights and lower edges say as much of the letters as
// of the type: "gap" is twice as high as "a". What letters reach above and below the baseline is much the same in
// all faces of a script, and with that the box of a word tells the size of its type and its baseline.
const (
	// The heights of letters in ems, as means of common faces.
	capitalHeight, smallHeight, dottedHeight = 0.71, 0.51, 0.66
	// accentHeight is how much a mark adds above a small letter, and above a capital.
	accentHeight = 0.21
	// descent is how far letters as g and p reach below the baseline, tailDescent signs as the comma.
	descent, tailDescent = 0.22, 0.14
	// usualSpan is the height of words in ems where their letters are not known.
	usualSpan = 0.83
)

const (
	// tallSmallLetters rise as high as capitals, dottedSmallLetters and the like a little less.
	tallSmallLetters, dottedSmallLetters = "bdfhklßþðđłħβδζθλξφψϑбфђћ", "ijtїіј"
	// lowLetters reach below the baseline.
	lowLetters = "gjpqyþŋμβγζηξρςφχψϕQрфуџј"
	// lowSigns do too, and rise as high as capitals.
	lowSigns = "()[]{}|/\\§†‡$"
)

// letterSpan is how far the letters of a word reach above and below its baseline, in ems.
type letterSpan struct{ above, below float64 }

func (s letterSpan) height() float64 { return s.above + s.below }

// measureLetterSpan returns how far the letters of a word reach; false if it has letters of scripts of which that
// is not known, or none at all.
func measureLetterSpan(word string) (letterSpan, bool) {
	var span letterSpan
	last := 0.0 // the height of the letter that a mark stands on
	for _, r := range decompose(word) {
		switch {
		case r == ',' || r == ';':
			span.below = max(span.below, tailDescent)
		case strings.ContainsRune(lowSigns, r):
			span.above, span.below = max(span.above, capitalHeight), max(span.below, descent)
		case unicode.Is(unicode.Mn, r):
			span = span.withMark(r, last)
		case unicode.IsDigit(r) && r < 0x80:
			last = capitalHeight
		case !unicode.IsLetter(r):
			last = 0
		case !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			return letterSpan{}, false
		default:
			if last = heightOfLetter(r); strings.ContainsRune(lowLetters, r) {
				span.below = max(span.below, descent)
			}
		}
		span.above = max(span.above, last)
	}
	return span, span.above > 0
}

// withMark returns the span of letters the last of which, of that height, has a mark.
func (s letterSpan) withMark(mark rune, letter float64) letterSpan {
	const cedilla, ogonek = 0x327, 0x328
	switch {
	case letter == 0:
	case mark == cedilla || mark == ogonek || mark == 0x323 || mark == 0x326:
		s.below = max(s.below, descent)
	default:
		s.above = max(s.above, letter+accentHeight)
	}
	return s
}

// heightOfLetter returns how high a letter rises, in ems.
func heightOfLetter(r rune) float64 {
	switch {
	case unicode.IsUpper(r) || strings.ContainsRune(tallSmallLetters, r):
		return capitalHeight
	case strings.ContainsRune(dottedSmallLetters, r):
		return dottedHeight
	}
	return smallHeight
}

// decompose parts letters from their marks; plain text is returned as it is.
func decompose(word string) string {
	if isASCII(word) {
		return word
	}
	return norm.NFD.String(word)
}

// RecognisedTypeSize returns the size of the type of a recognised word, whose box is that high, by what its letters
// reach.
func RecognisedTypeSize(word string, height float64) float64 {
	if span, known := measureLetterSpan(word); known {
		return height / span.height()
	}
	return height / usualSpan
}

// medianLetterSize returns the size of most of the text as the letters of recognised words tell it. It is that of
// paragraphs; columns and tables are told by what the height of boxes alone says of the size.
func medianLetterSize(lines []inputLine, t rotation) float64 {
	return medianSize(lines, t, func(w *inkstreamv1.Word, box rect) float64 {
		if w.Confidence != nil && w.GetSize() == 0 {
			return RecognisedTypeSize(w.GetText(), box.height())
		}
		return wordTypeSize(w, box)
	})
}

// levelRecognised returns the baseline of a recognised word, whose box is turned level, and how high it would be
// with the usual letters.
func levelRecognised(w *inkstreamv1.Word, box rect) (baseline, height float64) {
	span, known := measureLetterSpan(w.GetText())
	if !known {
		return box.y1, box.height()
	}
	size := box.height() / span.height()
	return box.y1 - size*span.below, size * usualSpan
}
