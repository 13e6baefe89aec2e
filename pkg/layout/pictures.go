package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pagePictures are where the figures of a page lie when its text stands upright, from top to bottom.
type pagePictures []rect

// collectPictures returns where the figures of a page lie when text of that angle stands upright, from top to bottom.
func collectPictures(page *inkstreamv1.Page, t rotation) pagePictures {
	var out pagePictures
	for _, img := range page.GetImages() {
		if len(out) < mostFigures && isFigure(page, img) && !isPageBackground(page, rectFromBox(img.GetBbox())) {
			out = append(out, t.rotateRect(rectFromBox(img.GetBbox())))
		}
	}
	slices.SortFunc(out, func(a, b rect) int { return cmp.Compare(a.y0, b.y0) })
	return out
}

// roomBetween returns how much room there is between two slabs. What pictures fill that stand in one column does not
// count.
func (p pagePictures) roomBetween(top, bottom float64, gutters []span) float64 {
	room, filled := 0.0, top
	for _, picture := range p {
		if picture.y1 <= top || picture.y0 >= bottom {
			continue
		}
		for _, g := range innerSpans(gutters) {
			if picture.x0 < (g.from+g.to)/2 && picture.x1 > (g.from+g.to)/2 {
				return bottom - top
			}
		}
		room, filled = max(room, picture.y0-filled), max(filled, picture.y1)
	}
	return max(room, bottom-filled)
}

// hasOneBeside reports whether a picture stands level with a slab, right of a gutter.
func (p pagePictures) hasOneBeside(slab pageBand, gutter span) bool {
	return slices.ContainsFunc(p, func(picture rect) bool {
		return picture.y0 < slab.y1 && picture.y1 > slab.y0 && picture.x0 >= (gutter.from+gutter.to)/2
	})
}

// haveOneIn reports whether a picture stands between two heights.
func (p pagePictures) haveOneIn(top, bottom float64) bool {
	return slices.ContainsFunc(p, func(picture rect) bool { return picture.centerY() > top && picture.centerY() < bottom })
}
