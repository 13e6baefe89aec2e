package pdfium

import "math"

const (
	// minDashes is how many dots or dashes make a line at least.
	minDashes = 6
	// widestDashGap is how far apart they are at most, and unevenDashes by how much that and their height may differ,
	// in points.
	widestDashGap, unevenDashes = 4, 0.8
)

// dashedLine is a run of dots or dashes that are painted one after the other along an axis, each a path of its own,
// as browsers paint dotted and dashed borders.
type dashedLine struct {
	bounds, last Rect
	count        int
	gap          float64 // between the last two
	down         bool    // the run goes down or up the page
}

// addDash adds a path that is no ruling to the run of dashes, or ends that. It reports whether the path is part of a
// line.
func (w *objectWalker) addDash(r Rect) bool {
	width, height := w.unit*(r.Right-r.Left), w.unit*(r.Top-r.Bottom)
	if math.Max(width, height) >= rulingLength || math.Min(width, height) > rulingThickness {
		w.endDashes()
		return false
	}
	d := &w.dashes
	if !d.goesOn(r, w.unit) {
		w.endDashes()
		*d = dashedLine{bounds: r, last: r, count: 1}
		return false
	}
	d.last, d.count = r, d.count+1
	b := &d.bounds
	b.Left, b.Bottom = math.Min(b.Left, r.Left), math.Min(b.Bottom, r.Bottom)
	b.Right, b.Top = math.Max(b.Right, r.Right), math.Max(b.Top, r.Top)
	return d.count >= minDashes
}

// goesOn reports whether a dash follows the run at the distance of the others, and takes that down.
func (d *dashedLine) goesOn(r Rect, unit float64) bool {
	if d.count == 0 {
		return false
	}
	last, slack := d.last, unevenDashes/unit
	across := math.Abs(r.Bottom-last.Bottom) < slack && math.Abs(r.Top-last.Top) < slack
	down := math.Abs(r.Left-last.Left) < slack && math.Abs(r.Right-last.Right) < slack
	gap := math.Max(r.Left-last.Right, last.Left-r.Right)
	if d.count == 1 {
		d.down = down && !across
	}
	if d.down {
		gap = math.Max(r.Bottom-last.Top, last.Bottom-r.Top)
	}
	if d.down && !down || !d.down && !across || gap <= 0 || gap > widestDashGap/unit ||
		d.count > 1 && math.Abs(gap-d.gap) > slack {
		return false
	}
	d.gap = gap
	return true
}

// endDashes adds the run of dashes to the rulings if it is long enough.
func (w *objectWalker) endDashes() {
	if w.dashes.count >= minDashes && w.isRuling(w.dashes.bounds) {
		w.addRuling(w.dashes.bounds)
	}
	w.dashes.count = 0
}
