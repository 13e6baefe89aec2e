package tesseract

import (
	"math"
	"slices"
	"testing"
)

// drawBentLines draws lines of letters, some of which reach below the line, that run down at each place across by so
// many pixels.
func drawBentLines(down func(x int) float64) greyImage {
	img := greyImage{pix: make([]byte, 1200*1000), width: 1200, height: 1000}
	img.fillBox(box{0, 0, img.width, img.height}, 240)
	for line := range 20 {
		for i := range 40 {
			x := 100 + 25*i
			foot := 80 + 40*line + int(math.Round(down(x+8)))
			b := box{x, foot - 16, x + 16, foot}
			if i%5 == 0 {
				b[3] += 6
			}
			img.fillBox(b, 20)
		}
	}
	return img
}

func TestBentLinesAreFlattened(t *testing.T) {
	t.Parallel()
	arch := func(x int) float64 { return 12 * math.Sin(math.Pi*float64(x)/1200) }
	for name, tt := range map[string]struct {
		down func(x int) float64
		bent bool
	}{
		"level":            {func(int) float64 { return 0 }, false},
		"askew":            {func(x int) float64 { return 0.03 * float64(x) }, false},
		"arched":           {arch, true},
		"arched and askew": {func(x int) float64 { return arch(x) - 0.02*float64(x) }, true},
		"hardly arched":    {func(x int) float64 { return arch(x) / 20 }, false},
		"bent at one edge": {func(x int) float64 { return 24 * math.Pow(float64(x)/1200, 3) }, true},
	} {
		r := reader{img: drawBentLines(tt.down), below: 128, dpi: 200}
		r.areas, _ = r.img.findComponents(r.below)
		before := slices.Clone(r.areas)
		flattenLines(&r)
		if (r.bend != nil) != tt.bent {
			t.Errorf("%s: flattened: %v, want %v", name, r.bend != nil, tt.bent)
			continue
		}
		if !tt.bent {
			continue
		}
		if len(r.areas) != len(before) {
			t.Fatalf("%s: got %d letters, want %d", name, len(r.areas), len(before))
		}
		for _, b := range r.areas {
			back := r.bend.bendBack(b)
			near := func(o box) bool { return o[0] == back[0] && math.Abs(float64(o[3]-back[3])) <= 2 }
			if !slices.ContainsFunc(before, near) {
				t.Errorf("%s: a letter at %v is moved back to %v, where none was", name, b, back)
				break
			}
		}
		if off := farthestFromLine(100, 1100, func(x float64) float64 { return r.bend.downAt(x) - tt.down(int(x)) }); off > 2 {
			t.Errorf("%s: lines are still bent by %.1f pixels", name, off)
		}
	}
}

// farthestFromLine returns how far f is at most from the straight line that is nearest to it.
func farthestFromLine(from, to int, f func(x float64) float64) float64 {
	var mean, slope, squares, most float64
	middle, n := float64(from+to-1)/2, float64(to-from)
	for i := from; i < to; i++ {
		x := float64(i)
		mean, slope, squares = mean+f(x)/n, slope+f(x)*(x-middle), squares+(x-middle)*(x-middle)
	}
	for i := from; i < to; i++ {
		x := float64(i)
		most = max(most, math.Abs(f(x)-mean-slope/squares*(x-middle)))
	}
	return most
}

func TestFewLettersHaveNoBend(t *testing.T) {
	t.Parallel()
	letters := slices.Repeat([]box{{10, 10, 20, 20}}, minBendLetters-1)
	if _, gain := measureBend(letters, 10); gain != 0 {
		t.Errorf("got a gain of %.3f, want none", gain)
	}
	letters = slices.Repeat([]box{{10, 10, 20, 20}}, minBendLetters) // one above the other
	if b, _ := measureBend(letters, 10); math.IsNaN(b.lineDepth()) {
		t.Error("the depth is no number")
	}
}
