package host

import (
	"math"
	"slices"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
)

// nameFonts gives the fonts of a text whose glyphs are drawings the names and styles that the document tells of them.
// PDFium does not tell which is which: they are told apart by the advance widths of what they show, and those of which
// that leaves a doubt stay without a name. Browsers write such fonts for all that they cannot cut down otherwise, so
// that nothing else says which text is bold.
func nameFonts(text *pdfium.Text, drawn []structure.DrawnFont) {
	if len(text.UnnamedFonts) > maxUnnamedFonts {
		return
	}
	names := make([]*structure.DrawnFont, len(text.UnnamedFonts))
	fits := make([][]fontFit, len(text.UnnamedFonts))
	for i, font := range text.UnnamedFonts {
		fits[i] = findFittingFonts(font, drawn)
	}
	taken := make([]bool, len(drawn))
	for more := true; more; { // what is certain makes others so
		more = false
		for i := range fits {
			if names[i] != nil {
				continue
			}
			if at := chooseFont(fits[i], drawn, taken); at >= 0 {
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

// maxUnnamedFonts bounds the fonts of a page that are told apart: each is compared with all that the document tells of.
const maxUnnamedFonts = 200

// fontFit is a font that a font without a name may be, by its index, and how many of its widths that does not have.
type fontFit struct{ index, others int }

// findFittingFonts returns the fonts that have nearly all the widths. Of a few characters PDFium gives a wrong width,
// as of those of a ligature.
func findFittingFonts(font pdfium.UnnamedFont, drawn []structure.DrawnFont) []fontFit {
	const perMiss = 12
	var out []fontFit
	allowed := len(font.Widths) / perMiss
	for i, d := range drawn {
		if len(font.Widths) > 0 && len(d.Widths) >= len(font.Widths)-allowed && countMissing(font.Widths, d.Widths) <= allowed {
			out = append(out, fontFit{i, countMissing(d.Widths, font.Widths)})
		}
	}
	return out
}

// chooseFont returns the index of the font with the fewest other widths, those taken left out; -1 if there is none, or
// fonts of several styles fit.
func chooseFont(fits []fontFit, drawn []structure.DrawnFont, taken []bool) int {
	best, fewest := -1, math.MaxInt
	for _, fit := range fits {
		if taken[fit.index] {
			continue
		}
		if best >= 0 && !drawn[fit.index].HasStyleOf(drawn[best]) {
			return -1
		}
		if fit.others < fewest {
			best, fewest = fit.index, fit.others
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
