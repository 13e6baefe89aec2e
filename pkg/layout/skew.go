package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// minArrangedSkew is the skew of a recognised page, in degrees, from which its words are arranged where they would
// stand on a straight one: across a page, half a degree is as much as half a line. More than maxArrangedSkew is no
// skew.
const minArrangedSkew, maxArrangedSkew = 0.15, 20

const (
	// nextWords is how many words on a line are looked at to tell how askew it runs.
	nextWords = 4
	// minSlopes is how many pairs of words tell the skew of a text layer.
	minSlopes = 20
)

// skewedPage knows where the words of a page stood before it was straightened.
type skewedPage struct {
	page             *inkstreamv1.Page
	words            map[*inkstreamv1.Word][]float32
	rulings          []*inkstreamv1.Ruling
	sin, cos         float64
	centerX, centerY float64
	bend             []float32
}

// straightenPage moves the words and rulings of a recognised page to where they would stand if it were straight; nil if
// it is.
func straightenPage(page *inkstreamv1.Page, lines []inputLine) *skewedPage {
	skew := math.Abs(float64(page.GetSkew()))
	isSkewed := skew >= minArrangedSkew && skew <= maxArrangedSkew
	if !isSkewed && len(page.GetBend()) == 0 || len(page.GetRegions()) > 0 {
		return nil
	}
	s := &skewedPage{page: page, words: map[*inkstreamv1.Word][]float32{}, rulings: page.GetRulings(),
		centerX: float64(page.GetWidth()) / 2, centerY: float64(page.GetHeight()) / 2, bend: page.GetBend(), cos: 1}
	if isSkewed {
		s.sin, s.cos = math.Sincos(float64(page.GetSkew()) * math.Pi / 180)
	}
	for _, line := range lines {
		for _, w := range line.words {
			s.words[w] = w.GetBbox()
			w.Bbox = s.straightenRect(rectFromBox(w.GetBbox())).toBox()
		}
	}
	page.Rulings = make([]*inkstreamv1.Ruling, 0, len(s.rulings))
	for _, r := range s.rulings {
		if isValidBox(r.GetBbox()) {
			box := rectFromBox(r.GetBbox())
			x, y := (box.x0+box.x1)/2, box.centerY()
			x, y = s.turnPoint(x, y-s.bendAt(x), -s.sin)
			page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rect{x - box.width()/2, y - box.height()/2,
				x + box.width()/2, y + box.height()/2}.toBox()})
		}
	}
	return s
}

// bendAt returns how far down the lines run at a place across the page.
func (s *skewedPage) bendAt(x float64) float64 {
	last := len(s.bend) - 1
	if last < 1 || s.centerX <= 0 {
		return 0
	}
	at := min(float64(last), max(0, x/(2*s.centerX)*float64(last)))
	i := min(last-1, int(at))
	return float64(s.bend[i]) + (at-float64(i))*float64(s.bend[i+1]-s.bend[i])
}

// layerSkew returns the skew of a page most of whose words have neither a size nor a confidence, as those of a text
// layer under a scan: their lines run as askew as the scan does. It is 0 for other pages, and for those that are
// straight. It is the median slope from a word to one of the next few (Theil and Sen), so that a line that goes on in
// another column does not count.
func layerSkew(lines []inputLine) float32 {
	type slope struct{ tangent, weight float64 }
	var slopes []slope
	all, words, unsized := 0.0, 0, 0
	for _, line := range lines {
		words += len(line.words)
		if line.angle != 0 || slices.ContainsFunc(line.words, func(w *inkstreamv1.Word) bool { return w.GetSize() > 0 || w.Confidence != nil }) {
			continue // stamped on the scan, or read in it
		}
		unsized += len(line.words)
		for i, w := range line.words {
			from := rectFromBox(w.GetBbox())
			for _, next := range line.words[i+1 : min(i+1+nextWords, len(line.words))] {
				to := rectFromBox(next.GetBbox())
				if dx := (to.x0 + to.x1 - from.x0 - from.x1) / 2; dx > from.height() {
					slopes = append(slopes, slope{(to.centerY() - from.centerY()) / dx, dx})
					all += dx
				}
			}
		}
	}
	if len(slopes) < minSlopes || 2*unsized <= words {
		return 0
	}
	slices.SortFunc(slopes, func(a, b slope) int { return cmp.Compare(a.tangent, b.tangent) })
	seen := 0.0
	for _, s := range slopes {
		if seen += s.weight; 2*seen >= all {
			if skew := -math.Atan(s.tangent) * 180 / math.Pi; math.Abs(skew) >= minArrangedSkew && math.Abs(skew) <= maxArrangedSkew {
				return float32(skew)
			}
			break
		}
	}
	return 0
}

// turnPoint turns a point about the middle of the page.
func (s *skewedPage) turnPoint(x, y, sin float64) (float64, float64) {
	x, y = x-s.centerX, y-s.centerY
	return x*s.cos + y*sin + s.centerX, y*s.cos - x*sin + s.centerY
}

// straightenRect returns the box of a word on the straight page, of which the one on the skewed page is drawn about
// the corners.
func (s *skewedPage) straightenRect(r rect) rect {
	x, y := (r.x0+r.x1)/2, r.centerY()
	x, y = s.turnPoint(x, y-s.bendAt(x), -s.sin)
	sin := math.Abs(s.sin)
	scale := s.cos*s.cos - sin*sin
	width := max(0.5*r.width(), (r.width()*s.cos-r.height()*sin)/scale)
	height := max(0.5*r.height(), (r.height()*s.cos-r.width()*sin)/scale)
	return rect{x - width/2, y - height/2, x + width/2, y + height/2}
}

// skewRect returns the box about the corners of a box of the straight page.
func (s *skewedPage) skewRect(r rect) rect {
	x, y := s.turnPoint((r.x0+r.x1)/2, r.centerY(), s.sin)
	y += s.bendAt(x)
	sin := math.Abs(s.sin)
	width, height := r.width()*s.cos+r.height()*sin, r.height()*s.cos+r.width()*sin
	return rect{x - width/2, y - height/2, x + width/2, y + height/2}
}

// restore moves everything back to where it stands on the page.
func (s *skewedPage) restore() {
	if s == nil {
		return
	}
	s.page.Rulings = s.rulings
	for w, box := range s.words {
		w.Bbox = box
	}
	for _, b := range s.page.GetBlocks() {
		if len(b.GetLines()) == 0 {
			continue // a figure
		}
		for _, line := range b.GetLines() {
			line.Bbox = boundingBox(line.GetWords()).toBox()
		}
		if b.GetTable() == nil {
			b.Bbox = newBlock(b.GetLines()).GetBbox()
			continue
		}
		b.Bbox = s.skewRect(rectFromBox(b.GetBbox())).toBox()
		for _, c := range b.GetTable().GetCells() {
			c.Bbox = s.skewRect(rectFromBox(c.GetBbox())).toBox()
		}
	}
}
