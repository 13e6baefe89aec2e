package tesseract

import "slices"

const (
	// reachOfInk is how far from ink, in pixels, a pale pixel may be the edge of a stroke.
	reachOfInk = 4
	// minBleedShare is the number of pale pixels away from ink, for each pixel of ink, from which the other side of the
	// sheet shows through, and maxBleedInches the mean length of their runs: longer ones are tinted grounds and pictures.
	minBleedShare, maxBleedInches = 0.2, 0.03
	// minBleedXHeight is the height of small letters, in pixels, from which a page is looked at: hairlines of smaller print
	// are as pale as what shows through. An Arabic page of 10 pixels was read worse, English ones of 19 far better.
	minBleedXHeight = 13
	// bleedGreyShare is the share of the paper's grey below which the mean of a pixel and those around it is no paper.
	bleedGreyShare = 0.9
	// leastWhite is the least share of the way from the threshold of ink to the paper's grey that becomes white.
	leastWhite = 0.3
)

// whitenBleed returns the image without the print of the sheet's other side, where that shows through: pale strokes
// among which the dark ones stand. Tesseract takes pieces of them for quotes, commas and accents. false if none shows.
func (g greyImage) whitenBleed(dpi float32, below, paper byte) (greyImage, bool) {
	if paper <= below {
		return g, false
	}
	darkest, found := g.findBleed(dpi, below, paper)
	if !found {
		return g, false
	}
	white := max(float64(darkest), float64(below)+leastWhite*float64(int(paper)-int(below)))
	return g.stretchTones(0, white), true
}

// findBleed looks for pale strokes away from ink, and returns the grey that is darker than nearly all of them.
func (g greyImage) findBleed(dpi float32, below, paper byte) (darkest byte, found bool) {
	const every = 3 // rows
	pale := int(9 * bleedGreyShare * float64(paper))
	var greys []byte // of the pale pixels, as means of those around them
	ink, runs := 0, 0
	for y := reachOfInk; y+reachOfInk < g.height; y += every {
		before := false
		for x := reachOfInk; x+reachOfInk < g.width; x++ {
			at := y*g.width + x
			if g.pix[at] < below {
				ink, before = ink+1, false
				continue
			}
			sum := 0
			for _, row := range [3]int{at - g.width, at, at + g.width} {
				sum += int(g.pix[row-1]) + int(g.pix[row]) + int(g.pix[row+1])
			}
			if sum >= pale || g.isNearInk(at, below) {
				before = false
				continue
			}
			greys = append(greys, byte(sum/9))
			if !before {
				runs++
			}
			before = true
		}
	}
	count := float64(len(greys))
	if ink == 0 || count < minBleedShare*float64(ink) || count > float64(runs)*float64(dpi)*maxBleedInches {
		return 0, false
	}
	slices.Sort(greys)
	return greys[len(greys)/10], true
}

// isNearInk reports whether ink stands within reach of a pixel, along its row or its column.
func (g greyImage) isNearInk(at int, below byte) bool {
	for _, d := range [2]int{reachOfInk / 2, reachOfInk} {
		if g.pix[at-d] < below || g.pix[at+d] < below || g.pix[at-d*g.width] < below || g.pix[at+d*g.width] < below {
			return true
		}
	}
	return false
}
