package tesseract

import "slices"

const (
	// minSpeckles is the number of connected areas of ink from which a page is smoothed before it is read. Pages of text
	// have up to 5,500, small print on a screened ground 18,000, and a hundredth of specks on a page at 300 dpi makes
	// 80,000.
	minSpeckles = 25_000
	// maxSpecklesPerInch is the number of them on a square inch from which a page that is speckled even when smoothed is
	// not read: it is noise or a screened picture, on which Tesseract's layout analysis takes minutes and finds nothing.
	// Six-point print has 150, noise from 550.
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
	var areas int
	if r.areas, areas = r.img.findComponents(r.below); areas < minSpeckles {
		r.screened = areas >= minScreenedAreas && r.img.countScreenDots(r.dpi, r.below, minTileDots) >= minScreenDots
		if !r.screened {
			r.eraseSpecks()
		}
		return true, nil
	}
	if err := r.cleanImage(imageSteps{median: true}); err != nil {
		return false, err
	}
	var left int
	r.areas, left = r.img.findComponents(r.below)
	inches := float64(len(r.img.pix)) / float64(r.dpi*r.dpi)
	return left < minSpeckles || float64(left) < maxSpecklesPerInch*inches, nil
}

const (
	// stopInk is how much ink a full stop is, in squares of the height of small letters, and speckShare how much of that a speck of
	// dust is at most.
	stopInk, speckShare = 0.057, 0.45
	// maxSpeckHeight is how large a speck is at most, in heights of small letters.
	maxSpeckHeight = 0.15
	// minSpecks is from how many specks on they are erased.
	minSpecks = 30
)

// eraseSpecks makes specks of dust white that are much less than a full stop, which Tesseract reads as one or as an accent, and takes
// them out of the areas of ink.
func (r *reader) eraseSpecks() {
	large := slices.DeleteFunc(slices.Clone(r.areas), func(b box) bool { return b[2]-b[0] < 3 && b[3]-b[1] < 3 })
	height := letterHeight(large)
	if height == 0 {
		return
	}
	side, paper := max(1, int(maxSpeckHeight*height)), r.img.medianGrey()
	ink := 2 * (float64(paper) - float64(r.below)) // how much darker ink is
	isSpeck := func(b box) bool {
		return b[2]-b[0] <= side && b[3]-b[1] <= side && r.img.darkness(b.grown(1, r.img), paper) <= speckShare*stopInk*height*height*ink
	}
	specks := map[box]bool{}
	for _, b := range r.areas {
		if isSpeck(b) {
			specks[b] = true
		}
	}
	if len(specks) < minSpecks {
		return
	}
	r.img.pix = slices.Clone(r.img.pix)
	r.areas = slices.DeleteFunc(r.areas, func(b box) bool { return specks[b] })
	for b := range specks {
		b = b.grown(1, r.img) // the rim of a speck is no ink, or it would be part of it
		for y := b[1]; y < b[3]; y++ {
			for x := b[0]; x < b[2]; x++ {
				r.img.pix[y*r.img.width+x] = max(r.img.pix[y*r.img.width+x], paper)
			}
		}
	}
}

// grown returns the box with so many pixels more on each side, within the image.
func (b box) grown(by int, img greyImage) box {
	return box{max(0, b[0]-by), max(0, b[1]-by), min(img.width, b[2]+by), min(img.height, b[3]+by)}
}

// darkness returns by how much the pixels of a box are darker than paper, together.
func (g greyImage) darkness(b box, paper byte) float64 {
	sum := 0
	for y := b[1]; y < b[3]; y++ {
		for _, v := range g.pix[y*g.width+b[0] : y*g.width+b[2]] {
			sum += max(0, int(paper)-int(v))
		}
	}
	return float64(sum)
}
