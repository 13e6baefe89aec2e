package grey

import (
	"math"
	"slices"
)

// Histogram counts the pixels by value, of every step-th row.
func (m Image) Histogram(step int) [256]int {
	var h [4][256]int // four, so that equal neighbours do not wait for each other
	for y := 0; y < m.Height; y += step {
		row := m.PixelRow(y)
		for ; len(row) >= 4; row = row[4:] {
			h[0][row[0]]++
			h[1][row[1]]++
			h[2][row[2]]++
			h[3][row[3]]++
		}
		for _, v := range row {
			h[0][v]++
		}
	}
	for i := range h[0] {
		h[0][i] += h[1][i] + h[2][i] + h[3][i]
	}
	return h[0]
}

// otsuThreshold returns Otsu's threshold: values below it are ink. contrast is the distance between the means of both
// classes.
func otsuThreshold(h [256]int) (at int, contrast float64) {
	var total, sum float64
	for v, n := range h {
		total += float64(n)
		sum += float64(v * n)
	}
	var low, lowSum, best float64
	for v := range 255 {
		low += float64(h[v])
		lowSum += float64(v * h[v])
		if low == 0 || low == total {
			continue
		}
		m0, m1 := lowSum/low, (sum-lowSum)/(total-low)
		if between := low * (total - low) * (m1 - m0) * (m1 - m0); between > best {
			best, at, contrast = between, v+1, m1-m0
		}
	}
	if contrast < minContrast {
		// Both classes are paper. What little ink there may be is well below them.
		at = max(0, int(sum/max(1, total))-minInkContrast)
	}
	return at, contrast
}

const (
	// minContrast is the contrast of paper's grain, shading and bleed-through; the poorest scan of text in the corpus
	// has 50.
	minContrast = 28
	// minInkContrast is how much darker than the paper ink is at least.
	minInkContrast = 50
)

// TextSize is what MeasureText finds.
type TextSize struct {
	// XHeight is the height of small letters in pixels; 0 where too few letters were found to tell.
	XHeight float64
	// Letters counts the components of a letter's shape where they count, scaled to the whole image.
	Letters int
	// Ink is the share of dark pixels within a narrow margin.
	Ink float64
	// Contrast is the distance between ink and paper, 0 to 255.
	Contrast float64
}

// maxMeasuredPixels is how much of an image is looked at: enough to find hundreds of letters on a page of text, in
// some 5 ms.
const maxMeasuredPixels = 2 << 20

// MeasureText estimates the size of the text on an image from the connected components of strips of it. It works for
// text in any of the four directions, since small letters are about as wide as high. count says where Letters are
// counted, in shares of width and height; nil is everywhere.
func MeasureText(m Image, count func(x, y float64) bool) TextSize {
	const margin = 30
	inner := m.Crop(m.Width/margin, m.Height/margin, m.Width-m.Width/margin, m.Height-m.Height/margin)
	if inner.Width < 8 || inner.Height < 8 {
		return TextSize{}
	}
	at, contrast := otsuThreshold(inner.Histogram(4))
	out := measureStrips(m, inner, byte(at), count, maxMeasuredPixels)
	if out.XHeight == 0 && inner.Width*inner.Height > maxMeasuredPixels {
		// What little there is must not fall between the strips.
		out = measureStrips(m, inner, byte(at), count, math.MaxInt)
	}
	out.Contrast = contrast
	return out
}

func measureStrips(m, inner Image, below byte, count func(x, y float64) bool, most int) TextSize {
	n, strip := stripLayout(inner, most)
	var heights []int
	ink, letters := 0, 0
	for i := range n {
		y := (2*i + 1) * (inner.Height - strip) / (2 * n)
		var c components
		c.findAreas(inner.Crop(0, y, inner.Width, y+strip), below)
		ink += c.ink
		for _, a := range c.letterAreas() {
			heights = append(heights, a.y1-a.y0)
			x, y := a.x0+(m.Width-inner.Width)/2, a.y0+y+(m.Height-inner.Height)/2
			if count == nil || count(float64(x)/float64(m.Width), float64(y)/float64(m.Height)) {
				letters++
			}
		}
	}
	seen := n * strip * inner.Width
	var out TextSize
	out.Ink = float64(ink) / float64(seen)
	out.Letters = letters * (inner.Height * inner.Width / 1024) / max(1, seen/1024)
	out.XHeight = medianLetterHeight(heights)
	return out
}

// stripLayout returns how many strips of full width to look at, and how high they are.
func stripLayout(m Image, most int) (count, height int) {
	height = min(m.Height, max(200, m.Height/16))
	if m.Width*m.Height <= most {
		return 1, m.Height
	}
	return max(1, min(m.Height/height, most/(m.Width*height))), height
}

// medianLetterHeight returns the median height of letters. Most letters of any text are small ones, so it is the
// x-height, or little more.
func medianLetterHeight(heights []int) float64 {
	const enough = 40
	if len(heights) < enough {
		return 0
	}
	slices.Sort(heights)
	// Dust, dots and commas are less than half as high as the larger letters.
	large := heights[len(heights)*4/5]
	from, _ := slices.BinarySearch(heights, large*45/100)
	heights = heights[from:]
	return float64(heights[len(heights)/2])
}

// components finds connected dark areas row by row: the runs of a row are joined to the runs above that they touch.
type components struct {
	areas    []area
	parent   []int
	ink      int
	lastLine int
	width    int
}

type area struct{ x0, y0, x1, y1, pixels int }

type pixelRun struct{ from, to, label int }

func (c *components) findAreas(m Image, below byte) {
	c.width, c.lastLine = m.Width, m.Height-1
	var above, here []pixelRun
	for y := range m.Height {
		here = here[:0]
		row := m.PixelRow(y)
		k := 0
		for x := 0; x < len(row); {
			if row[x] >= below {
				x++
				continue
			}
			from := x
			for x < len(row) && row[x] < below {
				x++
			}
			c.ink += x - from
			label := -1
			for ; k < len(above) && above[k].to < from; k++ {
			}
			for j := k; j < len(above) && above[j].from <= x; j++ {
				label = c.joinAreas(label, above[j].label)
			}
			here = append(here, pixelRun{from, x, c.addRun(label, from, x, y)})
		}
		above, here = here, above
	}
}

func (c *components) rootArea(i int) int {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

func (c *components) joinAreas(a, b int) int {
	b = c.rootArea(b)
	if a < 0 || a == b {
		return b
	}
	c.parent[b] = a
	x, y := &c.areas[a], &c.areas[b]
	x.x0, x.y0 = min(x.x0, y.x0), min(x.y0, y.y0)
	x.x1, x.y1 = max(x.x1, y.x1), max(x.y1, y.y1)
	x.pixels += y.pixels
	return a
}

func (c *components) addRun(label, from, to, y int) int {
	if label < 0 {
		label = len(c.areas)
		c.areas = append(c.areas, area{from, y, to, y + 1, to - from})
		c.parent = append(c.parent, label)
		return label
	}
	a := &c.areas[label]
	a.x0, a.x1 = min(a.x0, from), max(a.x1, to)
	a.y1 = y + 1
	a.pixels += to - from
	return label
}

// letterAreas returns the components that have a letter's shape. What a strip's edge cuts is left out.
func (c *components) letterAreas() []area {
	const smallest, largest = 5, 160
	var out []area
	for i, a := range c.areas {
		w, h := a.x1-a.x0, a.y1-a.y0
		if c.parent[i] != i || a.y0 == 0 || a.y1 > c.lastLine || a.x0 == 0 || a.x1 == c.width {
			continue
		}
		if w < smallest || h < smallest || h > largest || w > 3*h || h > 3*w {
			continue
		}
		// Letters fill a fifth to nine tenths of their box; frames less, bars and blots more.
		if share := a.pixels * 100 / (w * h); share < 15 || share > 92 {
			continue
		}
		out = append(out, a)
	}
	return out
}
