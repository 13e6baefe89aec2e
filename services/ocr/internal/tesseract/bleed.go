package tesseract

const (
	// reachOfInk is how far from ink, in pixels, a pale pixel may be the edge of a stroke.
	reachOfInk = 4
	// minBleedShare is the number of pale pixels away from ink, for each pixel of ink, from which the other side of
	// the sheet shows through, and maxBleedInches the mean length of their runs: longer ones are tinted grounds and
	// pictures.
	minBleedShare, maxBleedInches = 0.22, 0.03
	// maxStrokeInches is how long a run of ink counts as strokes of letters; the rest of it is a picture or a ruling.
	maxStrokeInches = 0.05
	// bleedTiles is into how many parts the page is parted each way, so that pictures and tinted grounds hide nothing
	// of the rest.
	bleedTiles = 8
	// minBleedXHeight is the height of small letters, in pixels, from which a page is looked at: hairlines of smaller
	// print are as pale as what shows through. An Arabic page of 10 pixels was read worse, English ones of 19 far
	// better.
	minBleedXHeight = 11
	// paleDepth is how far the mean of a pale pixel and those around it is from the paper's grey, as a share of the
	// distance from there to the threshold of ink.
	paleDepth = 0.25
	// maxBleedDepth is that share for nearly all pale strokes at most: those of thin or faded letters are pale and
	// dark alike. Pages through which the other side shows have 0.46 to 0.81, faded and thin print from 0.84.
	maxBleedDepth = 0.82
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
	if !found || float64(int(paper)-int(darkest)) > maxBleedDepth*float64(paper-below) {
		return g, false
	}
	white := max(float64(darkest), float64(below)+leastWhite*float64(int(paper)-int(below)))
	return g.stretchTones(0, white), true
}

// bleedTile counts the pixels of ink in a part of the page, and the pale ones away from it.
type bleedTile struct {
	ink, pale, runs int
	greys           [256]int // of the pale pixels, as means of those around them
}

// isTinted reports whether the pale pixels of a part are a tinted ground or a picture.
func (t *bleedTile) isTinted(dpi float32) bool {
	return float64(t.pale) > float64(t.runs)*float64(dpi)*maxBleedInches
}

// findBleed looks for pale strokes away from ink, and returns the grey that is darker than nearly all of them.
func (g greyImage) findBleed(dpi float32, below, paper byte) (darkest byte, found bool) {
	const every = 3 // rows
	pale := int(9 * (float64(paper) - paleDepth*float64(paper-below)))
	longest := int(maxStrokeInches * dpi)
	var tiles [bleedTiles][bleedTiles]bleedTile
	for y := reachOfInk; y+reachOfInk < g.height; y += every {
		row := &tiles[y*bleedTiles/g.height]
		before, inkRun := false, 0
		for x := reachOfInk; x+reachOfInk < g.width; x++ {
			at := y*g.width + x
			if g.pix[at] < below {
				if inkRun++; inkRun <= longest {
					row[x*bleedTiles/g.width].ink++
				}
				before = false
				continue
			}
			inkRun = 0
			sum := 0
			for _, row := range [3]int{at - g.width, at, at + g.width} {
				sum += int(g.pix[row-1]) + int(g.pix[row]) + int(g.pix[row+1])
			}
			if sum >= pale || g.isNearInk(at, below) {
				before = false
				continue
			}
			t := &row[x*bleedTiles/g.width]
			t.greys[sum/9]++
			t.pale++
			if !before {
				t.runs++
			}
			before = true
		}
	}
	return darkestBleed(&tiles, dpi)
}

// darkestBleed returns the grey that is darker than nearly all pale strokes, if those are many enough to be the print
// of the other side.
func darkestBleed(tiles *[bleedTiles][bleedTiles]bleedTile, dpi float32) (grey byte, found bool) {
	var sum bleedTile
	for i := range tiles {
		for j := range tiles[i] {
			t := &tiles[i][j]
			if t.isTinted(dpi) {
				continue
			}
			sum.ink, sum.pale = sum.ink+t.ink, sum.pale+t.pale
			for v, n := range t.greys {
				sum.greys[v] += n
			}
		}
	}
	if sum.ink == 0 || float64(sum.pale) < minBleedShare*float64(sum.ink) {
		return 0, false
	}
	left := sum.pale / 10
	for v, n := range sum.greys {
		if left -= n; left < 0 {
			return byte(v), true
		}
	}
	return 0, false
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

// readUnwhitened reads a page once more as it was where the other side of its sheet was taken to show through and
// what is left reads badly, and keeps what reads better: it may have been the page's own print that has faded.
func readUnwhitened(r *reader, first reading) (reading, error) {
	if r.ruled == nil || first.proseConfidence() >= minConfidence {
		return first, nil
	}
	whitened := *r
	r.img, r.below, r.ruled = *r.ruled, r.ruledBelow, nil
	darkenThinStrokes(r)
	second, err := r.readImage(r.img, imageSteps{turn: first.turn, angle: first.skew}, wholePage)
	if err != nil {
		return reading{}, err
	}
	if second.proseConfidence() <= first.proseConfidence() || second.legibilityScore() <= first.legibilityScore() {
		*r = whitened
		return first, nil
	}
	return second, nil
}
