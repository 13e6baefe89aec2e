package tesseract

import (
	"math"
	"slices"
)

const (
	// maxDustShare is the width and height of dust at most, as a share of the height of small letters. Full stops and
	// the dots of letters are 0.12 to 0.3 high, in light type and bold.
	maxDustShare = 0.13
	// minDust is how many specks of one size stand among the letters at least, by how many lie elsewhere. With more
	// than maxDots times as many, most are dots of the print.
	minDust, maxDots = 20, 2
	// dustTiles is into how many parts the page is parted each way to tell how close dust lies. It lies everywhere;
	// what is at the edges of a sheet, or in a picture, tells nothing of the rest.
	dustTiles = 8
	// maxDustInk is how many times the ink of specks away from the print those among it may have.
	maxDustInk = 1.15
)

// removeDust makes specks white that are smaller than the dots of the print. Tesseract takes them for full stops,
// commas and hyphens where they stand in a line.
func (r *reader) removeDust() {
	height := letterHeight(withoutSpecks(r.areas))
	if height == 0 || r.screened {
		return
	}
	largest := max(1, int(maxDustShare*height))
	specks := make([][]box, largest+1) // by size
	printed := newCoverage(r.img.width, r.img.height, max(2, int(height/2)))
	for _, b := range r.areas {
		if size := max(b[2]-b[0], b[3]-b[1]); size <= largest {
			specks[size] = append(specks[size], b)
		} else {
			printed.mark(b.widenedBy(int(height / 2)))
		}
	}
	isDust, found := make([]bool, largest+1), false
	for size, sized := range specks {
		isDust[size] = printed.explainsAsDust(sized)
		found = found || isDust[size]
	}
	if !found {
		return
	}
	img := greyImage{pix: slices.Clone(r.img.pix), width: r.img.width, height: r.img.height}
	paper := img.medianGrey()
	darkest := make([]int, largest+1) // ink of dust, by size
	for size, sized := range specks {
		if isDust[size] {
			darkest[size] = r.img.darkestDust(sized, printed, paper)
		}
	}
	r.areas = slices.DeleteFunc(slices.Clone(r.areas), func(b box) bool {
		size := max(b[2]-b[0], b[3]-b[1])
		if size > largest || !isDust[size] || printed.covers(b) && r.img.inkAround(b, paper) > darkest[size] {
			return false
		}
		img.fillBox(b.widenedBy(1), paper)
		return true
	})
	r.img = img
}

// darkestDust returns how much ink nearly all specks away from the print have at most, with a margin.
func (g greyImage) darkestDust(specks []box, printed coverage, paper byte) int {
	var inks []int
	for _, b := range specks {
		if !printed.covers(b) {
			inks = append(inks, g.inkAround(b, paper))
		}
	}
	if len(inks) == 0 {
		return math.MaxInt
	}
	slices.Sort(inks)
	return int(maxDustInk * float64(inks[len(inks)*9/10]))
}

// inkAround returns how much darker than paper the pixels of a box and those next to it are, in all. A dot of the
// print, which is round, has grey pixels around those that are dark.
func (g greyImage) inkAround(b box, paper byte) int {
	ink := 0
	b = b.widenedBy(1)
	for y := max(0, b[1]); y < min(g.height, b[3]); y++ {
		for x := max(0, b[0]); x < min(g.width, b[2]); x++ {
			ink += max(0, int(paper)-int(g.pix[y*g.width+x]))
		}
	}
	return ink
}

// withoutSpecks returns the areas of ink without those of a pixel or two, of which a dusty page may have more than
// letters.
func withoutSpecks(areas []box) []box {
	const largest = 2
	return slices.DeleteFunc(slices.Clone(areas), func(b box) bool { return max(b[2]-b[0], b[3]-b[1]) <= largest })
}

// explainsAsDust reports whether specks lie as close to each other away from the print, where they are dust, as among
// it.
func (c coverage) explainsAsDust(specks []box) bool {
	type tile struct{ free, specks int }
	var tiles [dustTiles][dustTiles]tile
	tileOf := func(column, row int) *tile { return &tiles[row*dustTiles/c.rows][column*dustTiles/c.columns] }
	printed := 0
	for i, marked := range c.marked {
		if marked {
			printed++
		} else {
			tileOf(i%c.columns, i/c.columns).free++
		}
	}
	among := 0
	for _, b := range specks {
		if c.covers(b) {
			among++
		} else {
			tileOf((b[0]+b[2])/2/c.cell, (b[1]+b[3])/2/c.cell).specks++
		}
	}
	var densities []float64 // specks a cell
	enough := len(c.marked) / (dustTiles * dustTiles * 4)
	for _, row := range tiles {
		for _, t := range row {
			if t.free > enough {
				densities = append(densities, float64(t.specks)/float64(t.free))
			}
		}
	}
	if len(densities) < dustTiles {
		return false
	}
	slices.Sort(densities)
	expected := densities[len(densities)/2] * float64(printed)
	return expected >= minDust && float64(among) <= maxDots*expected
}

// widenedBy returns the box with so many pixels more on each side.
func (b box) widenedBy(by int) box { return box{b[0] - by, b[1] - by, b[2] + by, b[3] + by} }

// scaledBy returns the box on an image so many times as large.
func (b box) scaledBy(scale float64) box {
	for i, at := range b {
		b[i] = int(math.Round(float64(at) * scale))
	}
	return b
}

// fillBox gives a box, as far as it lies on the image, one grey.
func (g greyImage) fillBox(b box, grey byte) {
	for y := max(0, b[1]); y < min(g.height, b[3]); y++ {
		for x := max(0, b[0]); x < min(g.width, b[2]); x++ {
			g.pix[y*g.width+x] = grey
		}
	}
}
