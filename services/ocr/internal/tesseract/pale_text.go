package tesseract

const (
	// minPaleContrast is how far the greys of pale letters and of paper are apart at least; what shows through a sheet,
	// and the grain of paper, are closer.
	minPaleContrast = 28
	// minPaleLetters is how many pale letters in lines there are at least.
	minPaleLetters = 60
)

// palePrint is what was found of letters that are paler than something else on their page.
type palePrint struct {
	dark, light float64 // greys of letters and of paper
	height      float64 // of small letters, in pixels
}

// findPalePrint looks for pale letters where the areas that are dark tell no letters.
func findPalePrint(r *reader) (palePrint, bool) {
	if findAreas(r) >= minSpeckles || letterHeight(r.areas) != 0 {
		return palePrint{}, false
	}
	histogram := r.img.sampleGreys()
	below, dark, light := otsuThreshold(lighterThan(histogram[:], int(r.below)))
	if light-dark < minPaleContrast {
		return palePrint{}, false
	}
	areas, found := r.img.findComponents(byte(below))
	height := letterHeight(areas)
	_, letters := textLines(lettersOf(areas, height))
	return palePrint{dark: dark, light: light, height: height}, found < minSpeckles && letters >= minPaleLetters
}

// darkenPaleText makes the letters dark of a page whose ink is pale and in which something else is dark, such as the
// edges of the scanner's lid or a stamp: one threshold for the whole page then parts these from letters and paper, and
// there are no letters. What is darker stays so. Strokes of small print are pale because they are thinner than a pixel:
// such a page is enlarged first.
func darkenPaleText(r *reader) error {
	p, found := findPalePrint(r)
	if found && !r.enlarged && p.height < minXHeight {
		if err := enlarge(r, p.height); err != nil {
			return err
		}
		p, found = findPalePrint(r)
	}
	if found {
		r.img = r.img.stretchTones(p.dark, p.light)
		r.below, r.areas = inkThreshold(r.img), nil
		if !r.enlarged { // else the resolution is that of the print
			r.dpi = credibleDPI(r.dpi, p.height)
			r.toldDPI = float64(r.dpi)
		}
	}
	return nil
}

// lighterThan returns a histogram without what is darker than a grey.
func lighterThan(histogram []int, grey int) []int {
	out := make([]int, len(histogram))
	copy(out[grey:], histogram[grey:])
	return out
}
