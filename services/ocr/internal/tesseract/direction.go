package tesseract

import (
	"math"
	"slices"
)

// gapDPI is the resolution at which the gaps are looked at. Letters need not be told apart, only strokes.
const gapDPI = 150

// maxGapInches is the longest gap that counts: wider than from one line of double-spaced typescript to the next,
// narrower than most margins and gutters.
const maxGapInches = 0.35

// lineDirections is what the gaps between strokes tell about the way that lines of text run.
type lineDirections struct {
	along, across float64 // mean gaps along the rows and along the columns, in samples
	gaps          int     // how many there are of the rarer kind
}

// The ratio of the mean gap along the columns to that along the rows was 1.22 to 3.4 on all 51 upright English pages
// of the corpus, print, typescript, tables, slides and receipts, and 0.29 to 0.82 when they lay on a side.
const (
	maxSidewaysRatio = 0.9
	minUprightRatio  = 1.1
	minGaps          = 300 // some dozens of letters
)

// isSideways reports whether lines run along the columns: the page lies on its side.
func (d lineDirections) isSideways() bool {
	return d.gaps >= minGaps && d.across < maxSidewaysRatio*d.along
}

// isUpright reports whether lines run along the rows: the page stands upright or on its head.
func (d lineDirections) isUpright() bool {
	return d.gaps >= minGaps && d.across > minUprightRatio*d.along
}

// measureDirections tells which way the lines of text run, in some 3 ms for a page at 300 dpi. Along a line the
// strokes of the letters follow each other closely; across it there is a wide gap after every line. So the mean gap
// is shorter along the lines, for any face, script, spacing or skew.
func measureDirections(img greyImage, dpi float32, below byte) lineDirections {
	step := sampleStep(dpi)
	limit := int(dpi * maxGapInches / float32(step))
	width, height := img.width/step, img.height/step
	const never = -1 << 30
	above := make([]int, width) // the last ink in each column
	for x := range above {
		above[x] = never
	}
	var rowSum, rowGaps, columnSum, columnGaps int
	for y := range height {
		row := img.pix[y*step*img.width:][:img.width]
		left := never
		for x := range above {
			if row[x*step] >= below {
				continue
			}
			if gap := x - left - 1; gap > 0 && gap < limit {
				rowSum += gap
				rowGaps++
			}
			if gap := y - above[x] - 1; gap > 0 && gap < limit {
				columnSum += gap
				columnGaps++
			}
			left, above[x] = x, y
		}
	}
	return lineDirections{
		along:  float64(rowSum) / float64(max(rowGaps, 1)),
		across: float64(columnSum) / float64(max(columnGaps, 1)),
		gaps:   min(rowGaps, columnGaps),
	}
}

// sampleStep returns the distance of the pixels that are looked at.
func sampleStep(dpi float32) int { return max(1, int(dpi/gapDPI+0.5)) }

// densestSquares returns up to n squares of the given side, in pixels, that do not overlap, in which ink begins most
// often: where there is most text, or a screened picture. They are cut to the image.
func densestSquares(img greyImage, side int, dpi float32, below byte, n int) []box {
	if img.width <= side && img.height <= side {
		return []box{{0, 0, img.width, img.height}}
	}
	step := sampleStep(dpi)
	// Squares are tried at every half of their side, so each is the sum of two by two cells.
	cell := max(side/2, step)
	columns, rows := (img.width+cell-1)/cell, (img.height+cell-1)/cell
	edges := make([]int, (columns+1)*(rows+1)) // with an empty last row and column
	for y := 0; y < img.height; y += step {
		row := img.pix[y*img.width:][:img.width]
		counts := edges[y/cell*(columns+1):][:columns]
		ink := false
		for x := 0; x < len(row); x += step {
			if dark := row[x] < below; dark != ink {
				ink = dark
				counts[x/cell]++
			}
		}
	}
	var out []box
	for len(out) < n {
		most, at := 0, box{}
		for i := range columns * rows {
			c := i/columns*(columns+1) + i%columns
			x, y := max(0, min(i%columns*cell, img.width-side)), max(0, min(i/columns*cell, img.height-side))
			b := box{x, y, min(x+side, img.width), min(y+side, img.height)}
			if sum := edges[c] + edges[c+1] + edges[c+columns+1] + edges[c+columns+2]; sum > most && !b.overlapsAny(out) {
				most, at = sum, b
			}
		}
		if most == 0 {
			break
		}
		out = append(out, at)
	}
	return out
}

func (b box) overlapsAny(others []box) bool {
	return slices.ContainsFunc(others, func(o box) bool {
		return b[0] < o[2] && o[0] < b[2] && b[1] < o[3] &&
			o[1] < b[3]
	})
}

// hasDarkAreas reports whether there is room for light text on a dark ground: a stretch of ink as long as a short
// word and thicker than a ruling, along the rows or the columns. A page without one needs no second look at lines
// that read badly, whether they are light on dark. That second look takes up to a quarter of the CPU on bad scans,
// and half of it while a page is tried the wrong way up.
func hasDarkAreas(img greyImage, dpi float32, below byte) bool {
	const (
		longInches = 0.4
		thick      = 3 // samples: 1.4 points
		tolerance  = 8 // grey values, as Tesseract has a threshold of its own
	)
	step := sampleStep(dpi)
	limit := int(below) + tolerance
	long := max(2*thick, int(dpi*longInches/float32(step)))
	width, height := img.width/step, img.height/step
	down := make([]int, width)   // length of the ink above, in each column
	across := make([]int, width) // rows in which a long run of ink has crossed the column
	for y := range height {
		row := img.pix[y*step*img.width:][:img.width]
		run, tall := 0, 0
		for x := range width {
			if int(row[x*step]) >= limit {
				if run < long {
					clear(across[x-run : x])
				}
				down[x], across[x], run, tall = 0, 0, 0, 0
				continue
			}
			run++
			down[x]++
			across[x]++
			if tall++; down[x] < long {
				tall = 0
			}
			if tall == thick || run >= long && across[x] >= thick {
				return true
			}
		}
		if run < long {
			clear(across[width-run:])
		}
	}
	return false
}

// inkThreshold returns the grey value below which a pixel is ink: Otsu's threshold of a sample.
func inkThreshold(img greyImage) byte {
	histogram := img.sampleGreys()
	at, _, _ := otsuThreshold(histogram[:])
	return byte(at)
}

// sampleGreys counts the pixels of a sample by their grey.
func (g greyImage) sampleGreys() (histogram [256]int) {
	const enough = 64 << 10 // pixels
	step := max(1, int(math.Sqrt(float64(len(g.pix)/enough))))
	for y := 0; y < g.height; y += step {
		row := g.pix[y*g.width:][:g.width]
		for x := 0; x < len(row); x += step {
			histogram[row[x]]++
		}
	}
	return histogram
}

// otsuThreshold returns the value that parts a histogram into two classes farthest from each other, and the means of
// both; 0 if there is only one.
func otsuThreshold(histogram []int) (at int, dark, light float64) {
	var total, sum float64
	for v, n := range histogram {
		total += float64(n)
		sum += float64(v * n)
	}
	var low, lowSum, best float64
	for v, n := range histogram[:len(histogram)-1] {
		low += float64(n)
		lowSum += float64(v * n)
		if low == 0 || low == total {
			continue
		}
		gap := lowSum/low - (sum-lowSum)/(total-low)
		if between := low * (total - low) * gap * gap; between > best {
			best, at, dark, light = between, v+1, lowSum/low, (sum-lowSum)/(total-low)
		}
	}
	return at, dark, light
}
