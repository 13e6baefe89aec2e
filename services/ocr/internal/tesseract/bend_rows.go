package tesseract

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxRowShift is how far, in heights of small letters, each coefficient of a bend may be off when the slopes of its
	// lines are known, and rowShiftSteps in how many steps each way that is looked at.
	maxRowShift, rowShiftSteps = 0.9, 3
	// rowWeight is what letters that stand side by side from one edge of the text to the other count for, against
	// those in windows: where columns have lines of their own, they do so by chance.
	rowWeight = 0.1
	// maxRowLetters is about how many letters are looked at, evenly taken, where there are twice as many or more: some
	// 0.2 to 0.4 s on one core.
	maxRowLetters = 6000
	// rowShiftCost is by what share letters must stand side by side better where an edge of the text moves by the
	// height of a small letter, and four times as much where by two: they stand well beside those of the next line too.
	rowShiftCost = 0.003
	// marginStep is the step by which leaning margins are looked at, and minMarginGain by how much better the ends of
	// lines must stand above each other along such margins than along those of a page that was turned. Of 46
	// generated pages, those on which it makes half a degree came to 1.2 and more.
	marginStep, minMarginGain = 0.002, 1.2
)

// alignRows returns the bend by which letters also stand side by side from one edge of the text to the other. Slopes in
// windows say little of how far down the lines run beyond a gap, such as that before the page numbers of a table of
// contents.
func (b bend) alignRows(letters []box, height float64) bend {
	const fine = 0.01 // heights of small letters
	rows, weight := newRowCounter(b, letters, height), rowWeight
	if every := len(letters) / maxRowLetters; every > 1 {
		rows = newRowCounter(b, takeEvery(letters, every), height)
		weight *= float64(every * every) // so many times as many pairs
	}
	profiles := b.profileSlopes(letters, height, maxBendRest, bendRestStep)
	added, best := bend{half: b.half}, -1.0
	try := func(c [bendTerms]float64) bool {
		sum, tried := weight*rows.countPairs(c), bend{half: b.half, coefficients: c}
		for _, p := range profiles {
			sum += p.scoreAt(tried.slopeAt(p.place))
		}
		shift := max(math.Abs(tried.downAt(-b.half)), math.Abs(tried.downAt(b.half))) / height
		if sum *= 1 - rowShiftCost*shift*shift; sum > best {
			added, best = tried, sum
			return true
		}
		return false
	}
	unit := maxRowShift * height / rowShiftSteps
	const tries = 2*rowShiftSteps + 1
	for i := range tries * tries * tries * tries {
		var c [bendTerms]float64
		for k := range c {
			c[k] = float64(i%tries-rowShiftSteps) * unit
			i /= tries
		}
		try(c)
	}
	for step := unit / 2; step > fine*height; step /= 2 {
		for moved := true; moved; {
			moved = false
			for i := range bendTerms {
				for _, by := range [2]float64{-step, step} {
					c := added.coefficients
					c[i] += by
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

// takeEvery returns every nth of the letters.
func takeEvery(letters []box, n int) []box {
	out := make([]box, 0, len(letters)/n+1)
	for i := 0; i < len(letters); i += n {
		out = append(out, letters[i])
	}
	return out
}

// rowCounter counts the letters that stand side by side when lines are straightened a little more.
type rowCounter struct {
	places []float64 // of the letters, from -1 to 1
	feet   []float64 // how far down they stand, in rows
	row    float64   // height in pixels
	counts []float64
}

// newRowCounter returns a counter for letters whose lines are straightened by a bend.
func newRowCounter(b bend, letters []box, height float64) *rowCounter {
	r := &rowCounter{row: max(1, height/5)}
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, l := range letters {
		x := float64(l[0]+l[2]) / 2
		foot := (float64(l[3]) - b.downAt(x)) / r.row
		r.places, r.feet = append(r.places, min(1, max(-1, (x-b.middle)/b.half))), append(r.feet, foot)
		top, bottom = min(top, foot), max(bottom, foot)
	}
	margin := 2 * bendTerms * maxRowShift * height / r.row
	for i := range r.feet {
		r.feet[i] += margin - top
	}
	r.counts = make([]float64, int(bottom-top+2*margin)+2)
	return r
}

// countPairs returns how many pairs of letters stand side by side, about, when the lines run farther down by a bend
// with the coefficients.
func (r *rowCounter) countPairs(c [bendTerms]float64) float64 {
	clear(r.counts)
	for i, t := range r.places {
		y := r.feet[i] - t*(c[0]+t*(c[1]+t*(c[2]+t*c[3])))/r.row
		r.counts[min(len(r.counts)-1, max(0, int(y)))]++
	}
	return countNeighbours(r.counts)
}

// turnedSlope returns how much of the slope of lines comes from the page having been turned: as much as its margins
// lean. Those of a page that does not lie flat are upright however its lines run.
func turnedSlope(letters []box, height, slope float64) float64 {
	starts, ends := lineEnds(letters, height)
	if len(starts) == 0 || len(ends) == 0 {
		return slope
	}
	steepest := math.Abs(slope) + 5*marginStep
	row := max(1, height/5)
	scores := scoreSlopes(starts, row, steepest, marginStep)
	for i, score := range scoreSlopes(ends, row, steepest, marginStep) {
		scores[i] += score
	}
	best := 0
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	if turned := scores[int(math.Round((steepest-slope)/marginStep))]; scores[best] < minMarginGain*turned {
		return slope
	}
	return steepest - float64(best)*marginStep // margins lean to the left where lines fall to the right
}

// lineEnds returns where lines of letters begin and where they end, as places down and across.
func lineEnds(letters []box, height float64) (starts, ends [][2]float64) {
	const nearest, widest = 2, 8 // heights of small letters: of gaps within a line, and of letters that touch
	letters = slices.Clone(letters)
	slices.SortFunc(letters, func(a, b box) int { return cmp.Compare(a[0], b[0]) })
	hasNext := make([]bool, len(letters))
	for i, l := range letters {
		isStart := true
		for j := i - 1; j >= 0 && float64(l[0]-letters[j][0]) < widest*height; j-- {
			before := letters[j]
			if float64(l[0]-before[2]) < nearest*height && min(l[3], before[3]) > max(l[1], before[1]) {
				isStart, hasNext[j] = false, true
			}
		}
		if isStart {
			starts = append(starts, [2]float64{float64(l[1]+l[3]) / 2, float64(l[0])})
		}
	}
	for i, l := range letters {
		if !hasNext[i] {
			ends = append(ends, [2]float64{float64(l[1]+l[3]) / 2, float64(l[2])})
		}
	}
	return starts, ends
}
