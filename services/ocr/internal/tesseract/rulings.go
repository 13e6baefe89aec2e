package tesseract

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// minLoneRulingInches is the length from which a line down the page is certain that meets no others, such as that of a
// margin.
const minLoneRulingInches = 1.5

// minFullWidth is the share of the text's width along which a line runs at least that parts what stands above it from
// what stands below.
const minFullWidth = 0.9

// findRulings returns the lines along the rows and the columns of the page as it is once straightened, each where its
// middle is on the page as it was given: those of lattices and those across all of the text, which is so many pixels
// wide, and all down the page that may have been read as bars.
func (r *reader) findRulings(skew, textWidth float64) (kept, down []box) {
	img, below := r.img, r.below
	if r.ruled != nil {
		img, below = *r.ruled, r.ruledBelow
	}
	all := img.findRulings(r.dpi, below, skew)
	lattices := keepLattices(all, r.dpi)
	kept = append(lattices, fullWidthRulings(all, textWidth, r.dpi)...)
	for _, b := range all {
		if !b.isAcross() && (float32(b[3]-b[1]) >= minLoneRulingInches*r.dpi || slices.Contains(lattices, b)) {
			down = append(down, b)
		}
	}
	img.straightenRulingsBack(kept, skew)
	img.straightenRulingsBack(down, skew)
	return kept, down
}

// textWidth returns how wide the text is that was read, in pixels of the upright page; 0 if it was turned by a
// quarter. A fiftieth of the words on either side counts as specks.
func (r *reading) textWidth() float64 {
	var left, right []int
	for w := range allWords(r.blocks) {
		left, right = append(left, w.box[0]), append(right, w.box[2])
	}
	if len(left) == 0 || r.turn%180 != 0 {
		return 0
	}
	slices.Sort(left)
	slices.Sort(right)
	specks := len(left) / 50
	return float64(right[len(right)-1-specks] - left[specks])
}

// fullWidthRulings returns the lines that run across all of the text and meet none down the page. A line that is
// broken counts as a whole.
func fullWidthRulings(rulings []box, textWidth float64, dpi float32) []box {
	var out []box
	for _, b := range joinBroken(rulings, dpi) {
		if textWidth > 0 && float64(b[2]-b[0]) >= minFullWidth*textWidth &&
			!slices.ContainsFunc(rulings, func(other box) bool { return !other.isAcross() && b.touchesBox(other, dpi) }) {
			out = append(out, b)
		}
	}
	return out
}

// joinBroken returns the lines across the page, each of pieces that follow one another at about the same height with
// small gaps.
func joinBroken(rulings []box, dpi float32) []box {
	gap, step := int(dpi/4), int(dpi/36) // a quarter of an inch, two points
	pieces := slices.DeleteFunc(slices.Clone(rulings), func(b box) bool { return !b.isAcross() })
	slices.SortFunc(pieces, func(a, b box) int { return cmp.Compare(a[0], b[0]) })
	var out, ends []box // lines, and the last piece of each
	for _, p := range pieces {
		at := slices.IndexFunc(ends, func(end box) bool {
			return p[0] >= end[2] && p[0]-end[2] <= gap && p[1] <= end[3]+step && end[1] <= p[3]+step
		})
		if at < 0 {
			out, ends = append(out, p), append(ends, p)
			continue
		}
		ends[at] = p
		out[at] = box{out[at][0], min(out[at][1], p[1]), p[2], max(out[at][3], p[3])}
	}
	return out
}

// touchesBox reports whether two lines touch, or nearly do: corners may be open.
func (b box) touchesBox(o box, dpi float32) bool {
	slack := int(dpi / 18) // four points
	return b[0] <= o[2]+slack && o[0] <= b[2]+slack && b[1] <= o[3]+slack && o[1] <= b[3]+slack
}

// straightenRulingsBack moves lines of the image turned clockwise by skew degrees to where their middles are on it as
// it is.
func (g greyImage) straightenRulingsBack(rulings []box, skew float64) {
	sin, cos := math.Sincos(skew * math.Pi / 180)
	for i, b := range rulings {
		x, y := float64(b[0]+b[2]-g.width)/2, float64(b[1]+b[3]-g.height)/2
		dx, dy := int(math.Round(x*cos+y*sin-x)), int(math.Round(y*cos-x*sin-y))
		rulings[i] = box{b[0] + dx, b[1] + dy, b[2] + dx, b[3] + dy}
	}
}

// keepLattices returns the lines that meet others so that there are two at least each way. Of lines that are dotted or
// faint some are found and others are not, and what some of a table's lines enclose is not the table.
func keepLattices(rulings []box, dpi float32) []box {
	group := make([]int, len(rulings))
	for i := range group {
		group[i] = i
	}
	for i, a := range rulings {
		for j, b := range rulings[:i] {
			if a.isAcross() == b.isAcross() || !a.touchesBox(b, dpi) {
				continue
			}
			if from, to := group[i], group[j]; from != to {
				for k := range group {
					if group[k] == from {
						group[k] = to
					}
				}
			}
		}
	}
	across, down := map[int]int{}, map[int]int{}
	for i, b := range rulings {
		if b.isAcross() {
			across[group[i]]++
		} else {
			down[group[i]]++
		}
	}
	var out []box
	for i, b := range rulings {
		if across[group[i]] > 1 && down[group[i]] > 1 {
			out = append(out, b)
		}
	}
	return out
}

// isAcross reports whether a line runs along the rows.
func (b box) isAcross() bool { return b[2]-b[0] > b[3]-b[1] }

// bars are the characters that lines between the columns of a table are read as.
const bars = "|¦[]"

// dropReadRulings drops words that are lines drawn down the page, and such bars from the ends of words beside them.
func (r *reading) dropReadRulings(down []box, dpi float32) {
	if len(down) == 0 || r.turn != 0 {
		return
	}
	slack := float64(dpi) / 36 // two points
	sin, cos := math.Sincos(r.skew * math.Pi / 180)
	// stands reports whether a ruling runs through a place.
	stands := func(x, y float64) bool {
		return slices.ContainsFunc(down, func(b box) bool {
			dx, dy := x-float64(b[0]+b[2])/2, y-float64(b[1]+b[3])/2
			dx, dy = dx*cos-dy*sin, dy*cos+dx*sin
			return math.Abs(dx) < float64(b[2]-b[0])/2+slack && math.Abs(dy) < float64(b[3]-b[1])/2
		})
	}
	for i := range r.blocks {
		for j := range r.blocks[i].lines {
			l := &r.blocks[i].lines[j]
			if l.spacedText != "" || l.angle != 0 {
				continue
			}
			l.words = slices.DeleteFunc(l.words, func(w word) bool {
				return strings.Trim(w.text, bars) == "" && stands(float64(w.box[0]+w.box[2])/2, float64(w.box[1]+w.box[3])/2)
			})
			for k := range l.words {
				l.words[k].trimBars(stands)
			}
		}
		r.blocks[i].lines = slices.DeleteFunc(r.blocks[i].lines, func(l line) bool { return len(l.words) == 0 })
	}
}

// trimBars takes bars from the ends of a word where a ruling stands; brackets too, if no other closes them.
func (w *word) trimBars(stands func(x, y float64) bool) {
	left, right := "|¦", "|¦"
	if !strings.ContainsAny(w.text, "]") {
		left += "["
	}
	if !strings.ContainsAny(w.text, "[") {
		right += "]"
	}
	// The word's box may end before the ruling, by as much as letters stand apart.
	middle, beyond := float64(w.box[1]+w.box[3])/2, float64(w.box[3]-w.box[1])/2
	standsAt := func(edge int, beyond float64) bool {
		return stands(float64(edge), middle) || stands(float64(edge)+beyond, middle)
	}
	if rest := strings.TrimLeft(w.text, left); rest != w.text && rest != "" && standsAt(w.box[0], -beyond) {
		w.text = rest
	}
	if rest := strings.TrimRight(w.text, right); rest != w.text && rest != "" && standsAt(w.box[2], beyond) {
		w.text = rest
	}
}
