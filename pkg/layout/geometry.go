package layout

import (
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// rect is a box on the page or, once a turn is applied, on the page turned so that its text stands upright.
type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) width() float64   { return r.x1 - r.x0 }
func (r rect) height() float64  { return r.y1 - r.y0 }
func (r rect) centerY() float64 { return (r.y0 + r.y1) / 2 }

func (r rect) union(o rect) rect {
	return rect{min(r.x0, o.x0), min(r.y0, o.y0), max(r.x1, o.x1), max(r.y1, o.y1)}
}

// spanDistance returns how far two spans lie apart; negative if they overlap.
func spanDistance(a0, a1, b0, b1 float64) float64 { return max(b0-a1, a0-b1) }

// maxCoordinate bounds coordinates: a page is 14,400 points at most, and anything beyond this is an error of the
// document that must not become an overflow here.
const maxCoordinate = 1e6

// isValidBox reports whether a box has four numbers that can be reckoned with.
func isValidBox(bbox []float32) bool {
	if len(bbox) < 4 {
		return false
	}
	for _, v := range bbox[:4] {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// rectFromBox returns a valid bbox as a rect: its corners in order, and its numbers within bounds.
func rectFromBox(bbox []float32) rect {
	bound := func(v float32) float64 { return min(max(float64(v), -maxCoordinate), maxCoordinate) }
	x0, y0, x1, y1 := bound(bbox[0]), bound(bbox[1]), bound(bbox[2]), bound(bbox[3])
	return rect{min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)}
}

func (r rect) toBox() []float32 {
	return []float32{float32(r.x0), float32(r.y0), float32(r.x1), float32(r.y1)}
}

// rotation maps boxes of the page to where they lie when text of that angle stands upright.
type rotation int32

func (t rotation) rotateRect(r rect) rect {
	switch (t%360 + 360) % 360 {
	case 90: // reads downwards: what is down is right
		return rect{r.y0, -r.x1, r.y1, -r.x0}
	case 180:
		return rect{-r.x1, -r.y1, -r.x0, -r.y0}
	case 270: // reads upwards
		return rect{-r.y1, r.x0, -r.y0, r.x1}
	default:
		return r
	}
}

// unrotateRect maps a box back to where it lies on the page.
func (t rotation) unrotateRect(r rect) rect { return (360 - (t%360+360)%360).rotateRect(r) }

// boundingBox returns the box around the boxes of the words, which must be valid.
func boundingBox(words []*inkstreamv1.Word) rect {
	if len(words) == 0 {
		return rect{}
	}
	r := rectFromBox(words[0].GetBbox())
	for _, w := range words[1:] {
		r = r.union(rectFromBox(w.GetBbox()))
	}
	return r
}
