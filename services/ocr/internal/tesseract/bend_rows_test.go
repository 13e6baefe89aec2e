package tesseract

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	testLetter = 16 // pixels
	testPitch  = 2.5 * testLetter
)

// bentLetters returns the letters of lines of text, of which every fifth reaches below the line, where they run down
// by so many pixels at each place across. The margins lean by a slope.
func bentLetters(down func(x float64) float64, lean float64) []box {
	var out []box
	for line := range 30 {
		y := 100 + testPitch*float64(line)
		for i := range 44 {
			x := 100 + 24*float64(i) - lean*y
			foot := int(math.Round(y + down(x+testLetter/2)))
			b := box{int(math.Round(x)), foot - testLetter, int(math.Round(x)) + testLetter, foot}
			if i%5 == 0 {
				b[3] += 6
			}
			out = append(out, b)
		}
	}
	return out
}

func TestRowsAlignBeyondAGap(t *testing.T) {
	t.Parallel()
	down := func(x float64) float64 { return 24 * math.Sin(math.Pi*(x/1200+0.3)) }
	letters := bentLetters(down, 0)
	b, _ := measureBend(letters, testLetter)
	isInGap := func(l box) bool { return l[0] > 400 && l[0] < 1090 } // before the numbers that end the lines
	letters = slices.DeleteFunc(letters, isInGap)
	offset := func(b bend) float64 {
		return math.Abs(b.downAt(1130) - b.downAt(260) - down(1130) + down(260))
	}
	// The slope of the lines is unknown between the text and the numbers.
	b.coefficients[1] += 0.3 * testLetter
	b.coefficients[2] += 0.3 * testLetter
	if before := offset(b); before < testLetter/3 {
		t.Fatalf("the numbers are off their lines by only %.1f pixels, which tests nothing", before)
	}
	if after := offset(b.alignRows(letters, testLetter)); after > testLetter/8 {
		t.Errorf("the numbers are still off their lines by %.1f pixels", after)
	}
}

// TestRowsOfDensePage compares the bend of a page by a part of its letters with that by the same lines' letters on a
// page that has few.
func TestRowsOfDensePage(t *testing.T) {
	t.Parallel()
	down := func(x float64) float64 { return 24 * math.Sin(math.Pi*(x/1200+0.3)) }
	letters := bentLetters(down, 0)
	b, _ := measureBend(letters, testLetter)
	b.coefficients[1] += 0.2 * testLetter
	few := b.alignRows(letters, testLetter)
	var dense []box
	for i := range 11 { // pages below each other
		for _, l := range letters {
			dense = append(dense, box{l[0], l[1] + 1300*i, l[2], l[3] + 1300*i})
		}
	}
	if len(dense) < 2*maxRowLetters {
		t.Fatalf("%d letters are no dense page", len(dense))
	}
	many := b.alignRows(dense, testLetter)
	for x := 150.0; x < 1150; x += 50 {
		if off := math.Abs(many.downAt(x) - few.downAt(x) - many.downAt(650) + few.downAt(650)); off > testLetter/8 {
			t.Errorf("at %.0f: %.1f pixels off", x, off)
		}
	}
}

func TestMarginsTellTurnFromBend(t *testing.T) {
	t.Parallel()
	const slope = 0.03
	down := func(x float64) float64 { return slope*x + 12*math.Sin(math.Pi*x/1200) }
	for name, lean := range map[string]float64{"upright": 0, "turned": slope, "half turned": slope / 2} {
		if got := turnedSlope(bentLetters(down, lean), testLetter, slope); math.Abs(got-lean) > marginStep {
			t.Errorf("%s: got a slope of %.3f, want %.3f", name, got, lean)
		}
	}
	// No margins: letters stand anywhere.
	var ragged []box
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		x, y := random.IntN(1100), random.IntN(1200)
		ragged = append(ragged, box{x, y, x + testLetter, y + testLetter})
	}
	if got := turnedSlope(ragged, testLetter, slope); got != slope {
		t.Errorf("without margins: got a slope of %.3f, want that of the lines, %.3f", got, slope)
	}
}

func TestLineEnds(t *testing.T) {
	t.Parallel()
	letters := []box{{40, 12, 50, 22}, {10, 10, 20, 20}, {25, 5, 35, 20}, {90, 10, 100, 20}, {10, 40, 20, 50}}
	starts, ends := lineEnds(letters, 10)
	if want := [][2]float64{{15, 10}, {45, 10}, {15, 90}}; !sameEnds(starts, want) {
		t.Errorf("lines begin at %v, want %v", starts, want)
	}
	if want := [][2]float64{{45, 20}, {17, 50}, {15, 100}}; !sameEnds(ends, want) {
		t.Errorf("lines end at %v, want %v", ends, want)
	}
}

func sameEnds(a, b [][2]float64) bool {
	seen := map[[2]float64]int{}
	for _, p := range a {
		seen[p]++
	}
	for _, p := range b {
		seen[p]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}
