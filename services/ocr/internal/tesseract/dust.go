package tesseract

const (
	// maxDustShare is the width and height of dust at most, as a share of the height of small letters. Full stops and the
	// dots of letters are 0.17 to 0.3 high, in light type and bold.
	maxDustShare = 0.13
	// minDust is how many specks of dust there are at least for each hundred other areas of ink. Sound scans have single
	// ones, beside letters that a threshold broke.
	minDust = 2
)

// removeDust makes specks white that are smaller than any dot of the print. Tesseract takes them for full stops, commas
// and hyphens where they stand in a line.
func (r *reader) removeDust() {
	height := letterHeight(r.areas)
	if height == 0 || r.screened {
		return
	}
	largest := max(1, int(maxDustShare*height))
	isDust := func(b box) bool { return b[2]-b[0] <= largest && b[3]-b[1] <= largest }
	var kept, dust []box
	for _, b := range r.areas {
		if isDust(b) {
			dust = append(dust, b)
		} else {
			kept = append(kept, b)
		}
	}
	if 100*len(dust) < minDust*len(kept) {
		return
	}
	img := greyImage{pix: append([]byte(nil), r.img.pix...), width: r.img.width, height: r.img.height}
	paper := img.medianGrey()
	for _, b := range dust {
		img.fill(box{b[0] - 1, b[1] - 1, b[2] + 1, b[3] + 1}, paper)
	}
	r.img, r.areas = img, kept
}

// fill gives a box, as far as it lies on the image, one grey.
func (g greyImage) fill(b box, grey byte) {
	for y := max(0, b[1]); y < min(g.height, b[3]); y++ {
		for x := max(0, b[0]); x < min(g.width, b[2]); x++ {
			g.pix[y*g.width+x] = grey
		}
	}
}
