package tesseract

const (
	// minSpeckles is the number of connected areas of ink from which a page is smoothed before it is read. Pages of text
	// have up to 5,500, small print on a screened ground 18,000, and a hundredth of specks on a page at 300 dpi makes
	// 80,000.
	minSpeckles = 25_000
	// maxSpecklesPerInch is the number of them on a square inch from which a page that is speckled even when smoothed
	// is not read: it is noise or a screened picture, on which Tesseract's layout analysis takes minutes and finds
	// nothing. Six-point print has 150, noise from 550.
	maxSpecklesPerInch = 400
	// minScreenedAreas is the number of them from which a page is looked at for screens: greys made of dots, as a
	// printer or a scanner of black and white makes them.
	minScreenedAreas = 5_000
	// minTileDots is how many dots lie on a tenth of an inch each way where there is a screen, 35 lines an inch and
	// finer, and screened how many such dots a page has. The corpus's three pages with coloured letters or grounds that
	// were scanned black and white have 2,500 to 21,000, and the others up to 36.
	minTileDots   = 12
	minScreenDots = 1_000
	// screenBlurInches is the deviation of the blur that makes dots grey again, and leaves letters their strokes.
	screenBlurInches = 1. / 240
)

// despeckle smooths a speckled page, looks for screens, and reports whether the page can be read at all. It keeps the
// areas of ink of the page as it is then.
func (r *reader) despeckle() (bool, error) {
	if findAreas(r) < minSpeckles {
		r.screened = hasScreens(r)
		return true, nil
	}
	if err := r.cleanImage(imageSteps{median: true}); err != nil {
		return false, err
	}
	left := findAreas(r)
	inches := float64(len(r.img.pix)) / float64(r.dpi*r.dpi)
	if left >= minSpeckles {
		return float64(left) < maxSpecklesPerInch*inches, nil
	}
	if err := enlargeSmallPrint(r); err != nil {
		return false, err
	}
	findAreas(r)
	return true, nil
}

// hasScreens reports whether the page has greys that are made of dots.
func hasScreens(r *reader) bool {
	return findAreas(r) >= minScreenedAreas && r.img.countScreenDots(r.dpi, r.below, minTileDots) >= minScreenDots
}

// findAreas looks for the areas of ink of the image, unless that was done, and returns how many there are.
func findAreas(r *reader) int {
	if r.areas == nil {
		r.areas, r.found = r.img.findComponents(r.below)
	}
	return r.found
}
