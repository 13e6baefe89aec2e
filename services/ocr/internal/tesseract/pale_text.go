package tesseract

const (
	// minPaleContrast is how far the greys of pale letters and of paper are apart at least; what shows through a sheet,
	// and the grain of paper, are closer.
	minPaleContrast = 28
	// minPaleLetters is how many pale letters in lines there are at least.
	minPaleLetters = 60
)

// darkenPaleText makes the letters dark of a page whose ink is pale and in which something else is dark, such as the
// edges of the scanner's lid or a stamp: one threshold for the whole page then parts these from letters and paper, and
// there are no letters. What is darker stays so.
func darkenPaleText(r *reader) {
	if findAreas(r) >= minSpeckles || letterHeight(r.areas) != 0 {
		return
	}
	histogram := r.img.sampleGreys()
	below, dark, light := otsuThreshold(lighterThan(histogram[:], int(r.below)))
	if light-dark < minPaleContrast {
		return
	}
	areas, found := r.img.findComponents(byte(below))
	height := letterHeight(areas)
	if _, letters := textLines(lettersOf(areas, height)); found >= minSpeckles || letters < minPaleLetters {
		return
	}
	r.img = r.img.stretchTones(dark, light)
	r.below, r.areas = inkThreshold(r.img), nil
	r.dpi = credibleDPI(r.dpi, height)
	r.toldDPI = float64(r.dpi)
}

// lighterThan returns a histogram without what is darker than a grey.
func lighterThan(histogram []int, grey int) []int {
	out := make([]int, len(histogram))
	copy(out[grey:], histogram[grey:])
	return out
}
