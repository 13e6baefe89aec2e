package tesseract

import (
	"cmp"
	"math"
	"slices"
)

const (
	// bendWindows is in how many windows across the text the slope of its lines is measured, and bendWindowShare
	// how wide each of them is, as a share of the text.
	bendWindows, bendWindowShare = 11, 0.2
	// maxBendSlope is the steepest slope that is looked for, and maxBendRest the steepest that is looked for when
	// the lines have been straightened as far as is known: in pixels down for each pixel across, as are the
	// steps.
	maxBendSlope, bendSlopeStep = 0.088, 0.004
	maxBendRest, bendRestStep   = 0.010, 0.001
	// minBendLetters and maxBendLetters are how many letters a page must have, and may have: no print is so dense, and
	// specks would take their time. minBendDepth is how far its lines must be bent, in
	// heights of small letters, and minBendGain by how much better than along straight lines the letters must
	// stand side by side along the bent ones. Of 75 generated scans, the 44 that are not bent came to 0.10 and
	// 1.003 at most, and 22 of the others to 0.12 and 1.01 and more.
	minBendLetters            = 300
	maxBendLetters            = 60_000
	minBendDepth, minBendGain = 0.12, 1.01
	// bendTerms is the number of the coefficients of a bend.
	bendTerms = 4
)

// bend is how the lines of a page are bent: a polynomial of the place across says how far down they run
// there. Its coefficients are those of the first power and up, of a place that is -1 at the left edge of the
// text, 1 at the right one.
type bend struct {
	middle, half float64 // of the text, in pixels across
	coefficients [bendTerms]float64
}

// downAt returns how far down the lines run at a place across, in pixels. Beside the text it is as at its edge.
func (b bend) downAt(x float64) float64 {
	t, sum := min(1, max(-1, (x-b.middle)/b.half)), 0.0
	for _, c := range slices.Backward(b.coefficients[:]) {
		sum = (sum + c) * t
	}
	return sum
}

// slopeAt returns by how many pixels the lines fall for each pixel across, at a place from -1 to 1.
func (b bend) slopeAt(place float64) float64 {
	sum := 0.0
	for i, c := range slices.Backward(b.coefficients[:]) {
		sum = sum*place + float64(i+1)*c
	}
	return sum / b.half
}

// samples returns places across from -1 to 1, and how far down the lines run there.
func (b bend) samples() (places, down [65]float64) {
	for i := range places {
		places[i] = 2*float64(i)/float64(len(places)-1) - 1
		down[i] = b.downAt(b.middle + places[i]*b.half)
	}
	return places, down
}

// meanSlope returns by how many pixels the lines fall as a whole for each pixel across.
func (b bend) meanSlope() float64 {
	places, down := b.samples()
	squares, products := 0.0, 0.0
	for i, t := range places {
		squares, products = squares+t*t, products+t*down[i]
	}
	return products / squares / b.half
}

// withSlope returns the bend of lines that fall as a whole by so many pixels for each pixel across, and are bent as
// before.
func (b bend) withSlope(slope float64) bend {
	b.coefficients[0] += (slope - b.meanSlope()) * b.half
	return b
}

// lineDepth returns how far down the lowest place of a line is from the highest.
func (b bend) lineDepth() float64 {
	_, down := b.samples()
	return slices.Max(down[:]) - slices.Min(down[:])
}

// measureBend finds out how lines of letters are bent and askew, and by how much better the letters stand side by side
// along such lines than along straight ones. What counts are the feet of the letters, most of which stand on
// the line. Where there are too few letters, or too many, the gain is 0.
func measureBend(letters []box, height float64) (b bend, gain float64) {
	if len(letters) < minBendLetters || len(letters) > maxBendLetters {
		return bend{half: 1}, 0
	}
	letters = slices.Clone(letters)
	slices.SortFunc(letters, func(a, b box) int { return cmp.Compare(a[0]+a[2], b[0]+b[2]) })
	left, right := letters[len(letters)/50], letters[len(letters)*49/50] // without what stands in the margins
	b.middle = float64(left[0]+left[2]+right[0]+right[2]) / 4
	b.half = max(1, float64(right[0]+right[2]-left[0]-left[2])/4)
	profiles := b.profileSlopes(letters, height, maxBendSlope, bendSlopeStep)
	straight, bent := b.fitSlopes(profiles, 1, maxBendSlope/3), b.fitSlopes(profiles, bendTerms, maxBendSlope/3)
	for range 2 {
		profiles = bent.profileSlopes(letters, height, maxBendRest, bendRestStep)
		bent = bent.fitSlopes(profiles, bendTerms, maxBendRest/3)
	}
	profiles = straight.profileSlopes(letters, height, maxBendRest, bendRestStep)
	straight = straight.fitSlopes(profiles, 1, maxBendRest/3)
	return bent, bent.alignment(letters, height) / max(1, straight.alignment(letters, height))
}

// alignment returns how well letters stand side by side when the lines are straightened.
func (b bend) alignment(letters []box, height float64) float64 {
	sum := 0.0
	for _, p := range b.profileSlopes(letters, height, 0, 1) {
		sum += p.scores[0]
	}
	return sum
}

// slopeProfile says how well the letters in a window of the page stand side by side when they are looked at
// along a slope.
type slopeProfile struct {
	place    float64 // of the window's middle, from -1 to 1
	steepest float64 // the scores are for slopes from -steepest to steepest
	step     float64
	scores   []float64
}

// scoreAt returns the score of a slope; 0 of one that was not looked at.
func (p slopeProfile) scoreAt(slope float64) float64 {
	i := (slope + p.steepest) / p.step
	n := int(math.Floor(i))
	if n < 0 || n+1 >= len(p.scores) {
		return 0
	}
	return p.scores[n] + (i-float64(n))*(p.scores[n+1]-p.scores[n])
}

// profileSlopes looks at the letters in each window when the lines are straightened.
func (b bend) profileSlopes(letters []box, height, steepest, step float64) []slopeProfile {
	const fewest = 5
	var profiles []slopeProfile
	width := bendWindowShare * 2 * b.half
	for i := range bendWindows {
		place := (1 - bendWindowShare) * (2*float64(i)/(bendWindows-1) - 1)
		middle := b.middle + place*b.half
		var feet [][2]float64
		for _, l := range letters {
			if x := float64(l[0]+l[2]) / 2; math.Abs(x-middle) <= width/2 {
				feet = append(feet, [2]float64{x - middle, float64(l[3]) - b.downAt(x)})
			}
		}
		if len(feet) >= fewest {
			profiles = append(profiles, slopeProfile{place, steepest, step, scoreSlopes(feet, max(1, height/5), steepest, step)})
		}
	}
	return profiles
}

// scoreSlopes counts the feet of letters in rows of a height, along each slope. Rows are the fuller, the
// better the feet stand side by side.
func scoreSlopes(feet [][2]float64, row, steepest, step float64) []float64 {
	top, bottom, reach := math.Inf(1), math.Inf(-1), 0.0
	for _, f := range feet {
		top, bottom, reach = min(top, f[1]), max(bottom, f[1]), max(reach, math.Abs(f[0]))
	}
	margin := steepest*reach + row
	counts := make([]float64, int((bottom-top+2*margin)/row)+3)
	var scores []float64
	for slope := -steepest; slope <= steepest+step/2; slope += step {
		clear(counts)
		for _, f := range feet {
			counts[int((f[1]-slope*f[0]-top+margin)/row)]++
		}
		scores = append(scores, countNeighbours(counts))
	}
	return scores
}

// countNeighbours returns how many pairs of letters there are whose rows are the same or adjoin each other, about.
func countNeighbours(counts []float64) float64 {
	sum := 0.0
	for i, n := range counts[1:] {
		sum += (n + counts[i]) * (n + counts[i])
	}
	return sum
}

// fitSlopes returns the bend to which so many coefficients are added, each worth a slope of up to three times
// reach, that the slopes of the lines have the best scores.
func (b bend) fitSlopes(profiles []slopeProfile, terms int, reach float64) bend {
	const coarse, fine = 8, 500
	added := bend{half: b.half}
	score := -1.0
	try := func(c [bendTerms]float64) bool {
		sum, tried := 0.0, bend{half: b.half, coefficients: c}
		for _, p := range profiles {
			sum += p.scoreAt(tried.slopeAt(p.place))
		}
		if sum > score {
			added, score = tried, sum
			return true
		}
		return false
	}
	unit := reach / coarse * b.half
	for first := -3 * coarse; first <= 3*coarse; first++ {
		try([bendTerms]float64{float64(first) * unit})
		for second := -coarse; terms > 1 && second <= coarse; second++ {
			for third := -coarse; third <= coarse; third++ {
				try([bendTerms]float64{float64(first) * unit, float64(second) * unit / 2, float64(third) * unit / 3})
			}
		}
	}
	for step := reach / coarse / 2; step > reach/fine; step /= 2 {
		for moved := true; moved; {
			moved = false
			for i := range terms {
				for _, by := range [2]float64{-step, step} {
					c := added.coefficients
					c[i] += by * b.half / float64(i+1)
					moved = try(c) || moved
				}
			}
		}
	}
	for i, c := range added.coefficients {
		b.coefficients[i] += c
	}
	return b
}

// flattenLines straightens lines that are bent, as on the page of a book that does not lie flat. What is read stands
// on the image as it was, when bendBack has moved it.
func flattenLines(r *reader) {
	if !measureDirections(r.img, r.dpi, r.below).isUpright() {
		return // what would be moved are columns of the image, which lines across run through
	}
	areas := withoutSpecks(r.areas)
	height := letterHeight(areas)
	if height < minXHeight { // or unknown: whole pixels are too much for letters so small
		return
	}
	letters := lettersOf(areas, height)
	b, gain := measureBend(letters, height)
	if gain < minBendGain || b.withSlope(0).lineDepth() < minBendDepth*height {
		return
	}
	b = b.alignRows(letters, height)
	turned := turnedSlope(letters, height, b.meanSlope())
	if math.Abs(turned) < math.Tan(minSkew*math.Pi/180) { // the page is not turned back
		turned = 0
	}
	b = b.withSlope(b.meanSlope() - turned)
	r.bend = &b
	r.img = r.img.flattened(b)
	r.areas, _ = r.img.findComponents(r.below)
	r.leaders = nil // where they stood before
}

// bendBack moves a box of the image whose lines are straight to where it stands on the image as it was. b may be nil.
func (b *bend) bendBack(o box) box {
	if b == nil {
		return o
	}
	down := int(math.Round(b.downAt(float64(o[0]+o[2]) / 2)))
	return box{o[0], o[1] + down, o[2], o[3] + down}
}

// sampledAcross returns how far down the lines run, in points, from the left edge of the image to the right one.
// b may be nil.
func (b *bend) sampledAcross(width int, dpi float32) []float32 {
	if b == nil {
		return nil
	}
	const steps = 32
	out := make([]float32, steps+1)
	for i := range out {
		out[i] = float32(b.downAt(float64(width)*float64(i)/steps) * 72 / float64(dpi))
	}
	return out
}

// flattened returns the image with each column moved up by as many whole pixels as the lines run down there: grey
// values from between pixels would blur small print.
func (g greyImage) flattened(b bend) greyImage {
	out := greyImage{pix: make([]byte, len(g.pix)), width: g.width, height: g.height}
	paper := g.medianGrey()
	down := make([]int, g.width)
	for x := range down {
		down[x] = int(math.Round(b.downAt(float64(x) + 0.5)))
	}
	for y := range g.height {
		row := out.pix[y*g.width:][:g.width]
		for x, d := range down {
			if row[x] = paper; y+d >= 0 && y+d < g.height {
				row[x] = g.pix[(y+d)*g.width+x]
			}
		}
	}
	return out
}
