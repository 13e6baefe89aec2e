package host

import (
	"math"
	"slices"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
)

// nameFonts gives the fonts of a text whose glyphs are drawings the names and styles that the document tells of them. PDFium
// does not tell which is which: they are told apart by the advance widths of what they show, and those of which that leaves
// a doubt stay without a name. Browsers write such fonts for all that they cannot cut down otherwise, so that nothing else
// says which text is bold.
func nameFonts(text *pdfium.Text, drawn []structure.DrawnFont) {
	names := make([]*structure.DrawnFont, len(text.UnnamedFonts))
	taken := make([]bool, len(drawn))
	for more := true; more; { // what is certain makes others so
		more = false
		for i, font := range text.UnnamedFonts {
			if names[i] != nil {
				continue
			}
			if at := findDrawnFont(font, drawn, taken); at >= 0 {
				names[i], taken[at], more = &drawn[at], true, true
			}
		}
	}
	for i := range text.Fonts {
		f := &text.Fonts[i]
		if f.Unnamed == 0 || names[f.Unnamed-1] == nil {
			continue
		}
		d := names[f.Unnamed-1]
		f.Name, f.Weight, f.Italic, f.Fixed = d.Name, d.Weight, d.Italic, d.Fixed
	}
}

// findDrawnFont returns the index of the font that has nearly all the widths, and else the fewest, those taken left out; -1 if none
// has, or fonts of several styles have. Of a few characters PDFium gives a wrong width, as of those of a ligature.
func findDrawnFont(font pdfium.UnnamedFont, drawn []structure.DrawnFont, taken []bool) int {
	const perMiss = 12
	best, fewest := -1, math.MaxInt
	for i := range drawn {
		if taken[i] || len(drawn[i].Widths) < len(font.Widths)-len(font.Widths)/perMiss || len(font.Widths) == 0 ||
			countMissing(font.Widths, drawn[i].Widths) > len(font.Widths)/perMiss {
			continue
		}
		if best >= 0 && !drawn[i].HasStyleOf(drawn[best]) {
			return -1
		}
		if others := countMissing(drawn[i].Widths, font.Widths); others < fewest {
			best, fewest = i, others
		}
	}
	return best
}

// countMissing counts those of the widths that are not among others.
func countMissing(widths, others []float64) int {
	const slack = 0.75 // they come rounded
	n := 0
	for _, w := range widths {
		if !slices.ContainsFunc(others, func(v float64) bool { return math.Abs(v-w) <= slack }) {
			n++
		}
	}
	return n
}
