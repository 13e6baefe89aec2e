package tesseract

import (
	"math"
	"slices"
	"strings"
)

// findRulings returns the lines along the rows and the columns of the page as it is once straightened, each where its middle is on the
// page as it was given.
func (r *reader) findRulings(skew float64) ([]box, error) {
	if skew == 0 {
		return keepLattices(r.img.findRulings(r.dpi, r.below), r.dpi), nil
	}
	straight, err := r.img.applySteps(imageSteps{angle: skew}, r.dpi, r.below)
	if err != nil {
		return nil, err
	}
	sin, cos := math.Sincos(skew * math.Pi / 180)
	rulings := keepLattices(straight.findRulings(r.dpi, r.below), r.dpi)
	for i, b := range rulings {
		x, y := float64(b[0]+b[2]-straight.width)/2, float64(b[1]+b[3]-straight.height)/2
		dx := int(math.Round(x*cos + y*sin - x + float64(r.img.width-straight.width)/2))
		dy := int(math.Round(y*cos - x*sin - y + float64(r.img.height-straight.height)/2))
		rulings[i] = box{b[0] + dx, b[1] + dy, b[2] + dx, b[3] + dy}
	}
	return rulings, nil
}

// keepLattices returns the lines that meet others so that there are two at least each way. Of lines that are dotted or faint some
// are found and others are not, and what some of a table's lines enclose is not the table.
func keepLattices(rulings []box, dpi float32) []box {
	slack := int(dpi / 18) // four points: corners may be open
	group := make([]int, len(rulings))
	for i := range group {
		group[i] = i
	}
	for i, a := range rulings {
		for j, b := range rulings[:i] {
			if a.isAcross() == b.isAcross() || a[0] > b[2]+slack || b[0] > a[2]+slack || a[1] > b[3]+slack || b[1] > a[3]+slack {
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

// dropReadRulings drops words that are rulings from the top of the page to its bottom, and such bars from the ends of words beside them.
func (r *reading) dropReadRulings(dpi float32) {
	down := slices.DeleteFunc(slices.Clone(r.rulings), func(b box) bool { return b.isAcross() })
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

// trimBars takes bars from the ends of a word where a ruling stands.
func (w *word) trimBars(stands func(x, y float64) bool) {
	const bar = "|"
	middle := float64(w.box[1]+w.box[3]) / 2
	if rest := strings.TrimLeft(w.text, bar); rest != w.text && rest != "" && stands(float64(w.box[0]), middle) {
		w.text = rest
	}
	if rest := strings.TrimRight(w.text, bar); rest != w.text && rest != "" && stands(float64(w.box[2]), middle) {
		w.text = rest
	}
}
